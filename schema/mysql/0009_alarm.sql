-- Failures that somebody is still to be told of: the lines of messages, each as its last one ended.
CREATE TABLE IF NOT EXISTS lts_alarm (
  alarm_id        BIGINT       NOT NULL,
  line            INT          NOT NULL,
  failures        BIGINT       NOT NULL,
  recipient       VARCHAR(512) NOT NULL,
  log_id          BIGINT       NOT NULL,
  job_id          BIGINT       NOT NULL,
  group_id        INT          NOT NULL,
  task_id         VARCHAR(200) NOT NULL,
  definition_id   INT          NOT NULL,
  attempt         INT          NOT NULL,
  state           TINYINT      NOT NULL,
  trigger_time_us BIGINT       NOT NULL,
  started_us      BIGINT       NOT NULL,
  ended_us        BIGINT       NOT NULL,
  node            VARCHAR(255) NOT NULL,
  exit_code       INT,
  message         TEXT         NOT NULL,
  PRIMARY KEY (alarm_id, line)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
