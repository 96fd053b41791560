-- Who looks after which node groups: those whose number has the same remainder by 64.
CREATE TABLE lts_partition (
  partition_id    INTEGER NOT NULL PRIMARY KEY,
  owner           INTEGER NOT NULL,
  alive_before_us INTEGER NOT NULL
);
ALTER TABLE lts_tracker ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lts_tracker ADD COLUMN address TEXT NOT NULL DEFAULT '';
-- Children that another job tracker is to trigger.
CREATE TABLE lts_inbox (
  inbox_id INTEGER NOT NULL PRIMARY KEY,
  group_id INTEGER NOT NULL,
  task_id  TEXT    NOT NULL
);
