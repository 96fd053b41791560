-- An index of the log, filled behind it (schema/README.md).
ALTER TABLE lts_tracker ADD COLUMN log_settled INTEGER NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS lts_log_slice (
  slice     INTEGER PRIMARY KEY,
  first_id  INTEGER NOT NULL,
  last_id   INTEGER NOT NULL,
  log_rows  INTEGER NOT NULL,
  newest_us INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS lts_log_key (
  slice    INTEGER NOT NULL,
  key_hash INTEGER NOT NULL,
  log_id   INTEGER NOT NULL,
  state    INTEGER NOT NULL,
  PRIMARY KEY (slice, key_hash, log_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lts_log_piece (
  slice    INTEGER NOT NULL,
  state    INTEGER NOT NULL,
  group_id INTEGER NOT NULL,
  first_id INTEGER NOT NULL,
  last_id  INTEGER NOT NULL,
  PRIMARY KEY (slice, state, group_id, first_id)
) WITHOUT ROWID;
