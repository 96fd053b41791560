-- How jobs have ended, for the clients that are to be told and have not said that they know.
CREATE TABLE lts_feedback_queue (
  client_group    TEXT    NOT NULL,
  feedback_id     INTEGER NOT NULL,
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
  PRIMARY KEY (client_group, feedback_id)
) WITHOUT ROWID;
