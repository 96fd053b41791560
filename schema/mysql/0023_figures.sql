-- Figures of each node group, a row for each minute.
CREATE TABLE IF NOT EXISTS lts_figures (
  minute_us       BIGINT NOT NULL,
  group_id        INT    NOT NULL,
  part_id         INT    NOT NULL,
  submitted       BIGINT NOT NULL,
  started         BIGINT NOT NULL,
  ended           BIGINT NOT NULL,
  failed          BIGINT NOT NULL,
  lateness_p50_ms BIGINT NOT NULL,
  lateness_p95_ms BIGINT NOT NULL,
  lateness_p99_ms BIGINT NOT NULL,
  backlog         BIGINT NOT NULL,
  workers         BIGINT NOT NULL,
  threads         BIGINT NOT NULL,
  PRIMARY KEY (minute_us, group_id, part_id),
  KEY by_group (group_id, minute_us, part_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
