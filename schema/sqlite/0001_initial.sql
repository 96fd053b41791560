-- Schema 1. See schema/README.md for what each table and column means.
CREATE TABLE lts_schema (
  version    INTEGER PRIMARY KEY,
  applied_us INTEGER NOT NULL
);

CREATE TABLE lts_node_group (
  group_id   INTEGER PRIMARY KEY,
  name       TEXT    NOT NULL,
  name_lower TEXT    NOT NULL UNIQUE,
  table_name TEXT    NOT NULL UNIQUE,
  served     INTEGER NOT NULL,
  created_us INTEGER NOT NULL
);

CREATE TABLE lts_task_id (
  group_id      INTEGER NOT NULL,
  task_id       TEXT    NOT NULL,
  job_id        INTEGER NOT NULL,
  definition_id INTEGER NOT NULL,
  PRIMARY KEY (group_id, task_id)
) WITHOUT ROWID;

CREATE TABLE lts_delayed_job_queue (
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
  group_id        INTEGER NOT NULL,
  suspended       INTEGER NOT NULL
);
CREATE INDEX "lts_delayed_job_queue.time" ON lts_delayed_job_queue (suspended, trigger_time_us);
CREATE INDEX "lts_delayed_job_queue.definition" ON lts_delayed_job_queue (definition_id)
  WHERE definition_id IS NOT NULL;

CREATE TABLE lts_executing_job_queue (
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
  group_id        INTEGER NOT NULL,
  session_id      INTEGER NOT NULL,
  node            TEXT    NOT NULL,
  claimed_us      INTEGER NOT NULL,
  cancelled       INTEGER NOT NULL
);

CREATE TABLE lts_cron_job_queue (
  definition_id        INTEGER PRIMARY KEY,
  group_id             INTEGER NOT NULL,
  task_id              TEXT    NOT NULL,
  keyed                INTEGER NOT NULL,
  version              INTEGER NOT NULL,
  kind                 INTEGER NOT NULL,
  state                INTEGER NOT NULL,
  created_us           INTEGER NOT NULL,
  next_fire_us         INTEGER NOT NULL,
  last_fire_us         INTEGER NOT NULL,
  generated_through_us INTEGER NOT NULL,
  fired                INTEGER NOT NULL,
  bucket               INTEGER NOT NULL,
  schedule             TEXT    NOT NULL,
  tz                   TEXT    NOT NULL,
  spec                 BLOB    NOT NULL
);

CREATE TABLE lts_repeat_job_queue (
  definition_id        INTEGER PRIMARY KEY,
  group_id             INTEGER NOT NULL,
  task_id              TEXT    NOT NULL,
  keyed                INTEGER NOT NULL,
  version              INTEGER NOT NULL,
  kind                 INTEGER NOT NULL,
  state                INTEGER NOT NULL,
  created_us           INTEGER NOT NULL,
  next_fire_us         INTEGER NOT NULL,
  last_fire_us         INTEGER NOT NULL,
  generated_through_us INTEGER NOT NULL,
  fired                INTEGER NOT NULL,
  bucket               INTEGER NOT NULL,
  schedule             TEXT    NOT NULL,
  tz                   TEXT    NOT NULL,
  spec                 BLOB    NOT NULL
);

CREATE TABLE lts_job_log (
  log_id          INTEGER PRIMARY KEY,
  job_id          INTEGER NOT NULL,
  group_id        INTEGER NOT NULL,
  task_id         TEXT    NOT NULL,
  definition_id   INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  state           INTEGER NOT NULL,
  trigger_time_us INTEGER NOT NULL,
  started_us      INTEGER NOT NULL,
  ended_us        INTEGER NOT NULL,
  node            TEXT    NOT NULL,
  exit_code       INTEGER,
  message         TEXT    NOT NULL,
  fires           INTEGER NOT NULL,
  final           INTEGER NOT NULL,
  bucket          INTEGER NOT NULL
);

CREATE TABLE lts_job_output (
  job_id   INTEGER NOT NULL,
  attempt  INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  stream   INTEGER NOT NULL,
  at_us    INTEGER NOT NULL,
  bytes    BLOB    NOT NULL,
  PRIMARY KEY (job_id, attempt, sequence)
) WITHOUT ROWID;

CREATE TABLE lts_tracker (
  session_id      INTEGER NOT NULL,
  lane            INTEGER NOT NULL,
  name            TEXT    NOT NULL,
  batch           INTEGER NOT NULL,
  id_high         INTEGER NOT NULL,
  beat_us         INTEGER NOT NULL,
  alive_before_us INTEGER NOT NULL,
  ended           INTEGER NOT NULL,
  PRIMARY KEY (session_id, lane)
) WITHOUT ROWID;

CREATE TABLE lts_client (
  slot     INTEGER PRIMARY KEY,
  sequence INTEGER NOT NULL,
  answer   BLOB    NOT NULL,
  outcomes BLOB    NOT NULL,
  at_us    INTEGER NOT NULL
);
CREATE INDEX "lts_client.at" ON lts_client (at_us);

CREATE TABLE lts_node (
  session_id   INTEGER PRIMARY KEY,
  name         TEXT    NOT NULL,
  group_id     INTEGER NOT NULL,
  address      TEXT    NOT NULL,
  threads      INTEGER NOT NULL,
  started_us   INTEGER NOT NULL,
  last_seen_us INTEGER NOT NULL,
  alive        INTEGER NOT NULL
);
