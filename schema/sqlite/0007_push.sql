-- Node groups whose jobs xxl-job executors run, and these.
CREATE TABLE lts_executor_group (
  group_id INTEGER NOT NULL PRIMARY KEY,
  token    TEXT    NOT NULL
);
CREATE TABLE lts_executor (
  group_id      INTEGER NOT NULL,
  address       TEXT    NOT NULL,
  manual        INTEGER NOT NULL,
  has_trigger   INTEGER NOT NULL,
  registered_us INTEGER NOT NULL,
  PRIMARY KEY (group_id, address)
) WITHOUT ROWID;
-- Calls whose result is still to come.
CREATE TABLE lts_push_run (
  log_id    INTEGER NOT NULL PRIMARY KEY,
  group_id  INTEGER NOT NULL,
  job_id    INTEGER NOT NULL,
  attempt   INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  shards    INTEGER NOT NULL,
  address   TEXT    NOT NULL,
  failures  INTEGER NOT NULL,
  called_us INTEGER NOT NULL,
  code      INTEGER NOT NULL,
  message   TEXT    NOT NULL
);
-- What routes remember.
CREATE TABLE lts_push_route (
  definition_id INTEGER NOT NULL PRIMARY KEY,
  group_id      INTEGER NOT NULL,
  memory        TEXT    NOT NULL
);
-- Results for other job trackers.
CREATE TABLE lts_executor_result (
  result_id INTEGER NOT NULL PRIMARY KEY,
  log_id    INTEGER NOT NULL,
  code      INTEGER NOT NULL,
  message   TEXT    NOT NULL
);
