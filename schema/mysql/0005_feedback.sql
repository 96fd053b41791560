-- How jobs have ended, for the clients that are to be told and have not said that they know.
CREATE TABLE IF NOT EXISTS lts_feedback_queue (
  client_group    VARCHAR(64)  NOT NULL,
  feedback_id     BIGINT       NOT NULL,
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
  PRIMARY KEY (client_group, feedback_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
