-- How much of the log there was, for reports of days whose rows are purged.
CREATE TABLE lts_log_count (
  group_id INTEGER NOT NULL,
  slot_us  INTEGER NOT NULL,
  state    INTEGER NOT NULL,
  final    INTEGER NOT NULL,
  ends     INTEGER NOT NULL,
  PRIMARY KEY (group_id, slot_us, state, final)
) WITHOUT ROWID;
CREATE INDEX lts_log_count_slot ON lts_log_count (slot_us);
