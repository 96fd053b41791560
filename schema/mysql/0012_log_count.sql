-- How much of the log there was, for reports of days whose rows are purged.
CREATE TABLE IF NOT EXISTS lts_log_count (
  group_id INT     NOT NULL,
  slot_us  BIGINT  NOT NULL,
  state    TINYINT NOT NULL,
  final    TINYINT NOT NULL,
  ends     BIGINT  NOT NULL,
  PRIMARY KEY (group_id, slot_us, state, final),
  KEY lts_log_count_slot (slot_us)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
