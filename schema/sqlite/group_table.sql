-- One node group's executable jobs; {table} is the name kept in lts_node_group.
CREATE TABLE IF NOT EXISTS {table} (
  job_id          INTEGER PRIMARY KEY,
  task_id         TEXT    NOT NULL,
  definition_id   INTEGER,
  version         INTEGER NOT NULL,
  kind            INTEGER NOT NULL,
  keyed           INTEGER NOT NULL,
  priority        INTEGER NOT NULL,
  trigger_time_us INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  lost            INTEGER NOT NULL,
  triggered       INTEGER NOT NULL,
  forced          INTEGER NOT NULL,
  bucket          INTEGER NOT NULL,
  spec            BLOB    NOT NULL,
  moved_from_us   INTEGER
);
-- SQLite ends every index with the job_id: this is the order of hand-out.
CREATE INDEX IF NOT EXISTS "{table}.order" ON {table} (priority, trigger_time_us);
CREATE INDEX IF NOT EXISTS "{table}.definition" ON {table} (definition_id, attempt)
  WHERE definition_id IS NOT NULL;
