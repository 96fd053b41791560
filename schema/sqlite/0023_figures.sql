-- Figures of each node group, a row for each minute.
CREATE TABLE lts_figures (
  minute_us       INTEGER NOT NULL,
  group_id        INTEGER NOT NULL,
  part_id         INTEGER NOT NULL,
  submitted       INTEGER NOT NULL,
  started         INTEGER NOT NULL,
  ended           INTEGER NOT NULL,
  failed          INTEGER NOT NULL,
  lateness_p50_ms INTEGER NOT NULL,
  lateness_p95_ms INTEGER NOT NULL,
  lateness_p99_ms INTEGER NOT NULL,
  backlog         INTEGER NOT NULL,
  workers         INTEGER NOT NULL,
  threads         INTEGER NOT NULL,
  PRIMARY KEY (minute_us, group_id, part_id)
) WITHOUT ROWID;
CREATE INDEX lts_figures_by_group ON lts_figures (group_id, minute_us, part_id);
