-- Failures that somebody is still to be told of: the lines of messages, each as its last one ended.
CREATE TABLE lts_alarm (
  alarm_id        INTEGER NOT NULL,
  line            INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  recipient       TEXT    NOT NULL,
  log_id          INTEGER NOT NULL,
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
  PRIMARY KEY (alarm_id, line)
) WITHOUT ROWID;
