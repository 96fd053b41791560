-- An index of the log, filled behind it (schema/README.md).
ALTER TABLE lts_tracker ADD COLUMN /*M! IF NOT EXISTS */ log_settled BIGINT NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS lts_log_slice (
  slice     INT    NOT NULL,
  first_id  BIGINT NOT NULL,
  last_id   BIGINT NOT NULL,
  log_rows  INT    NOT NULL,
  newest_us BIGINT NOT NULL,
  PRIMARY KEY (slice)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lts_log_key (
  slice    INT     NOT NULL,
  key_hash INT     NOT NULL,
  log_id   BIGINT  NOT NULL,
  state    TINYINT NOT NULL,
  PRIMARY KEY (slice, key_hash, log_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lts_log_piece (
  slice    INT     NOT NULL,
  state    TINYINT NOT NULL,
  group_id INT     NOT NULL,
  first_id BIGINT  NOT NULL,
  last_id  BIGINT  NOT NULL,
  PRIMARY KEY (slice, state, group_id, first_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
