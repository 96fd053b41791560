-- Node groups whose jobs xxl-job executors run, and these.
CREATE TABLE IF NOT EXISTS lts_executor_group (
  group_id INT          NOT NULL,
  token    VARCHAR(255) NOT NULL,
  PRIMARY KEY (group_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lts_executor (
  group_id      INT          NOT NULL,
  address       VARCHAR(255) NOT NULL,
  manual        TINYINT      NOT NULL,
  has_trigger   TINYINT      NOT NULL,
  registered_us BIGINT       NOT NULL,
  PRIMARY KEY (group_id, address)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
-- Calls whose result is still to come.
CREATE TABLE IF NOT EXISTS lts_push_run (
  log_id    BIGINT       NOT NULL,
  group_id  INT          NOT NULL,
  job_id    BIGINT       NOT NULL,
  attempt   INT          NOT NULL,
  shard     INT          NOT NULL,
  shards    INT          NOT NULL,
  address   VARCHAR(255) NOT NULL,
  failures  INT          NOT NULL,
  called_us BIGINT       NOT NULL,
  code      INT          NOT NULL,
  message   TEXT         NOT NULL,
  PRIMARY KEY (log_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
-- What routes remember.
CREATE TABLE IF NOT EXISTS lts_push_route (
  definition_id INT        NOT NULL,
  group_id      INT        NOT NULL,
  memory        MEDIUMTEXT NOT NULL,
  PRIMARY KEY (definition_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
-- Results for other job trackers.
CREATE TABLE IF NOT EXISTS lts_executor_result (
  result_id BIGINT NOT NULL,
  log_id    BIGINT NOT NULL,
  code      INT    NOT NULL,
  message   TEXT   NOT NULL,
  PRIMARY KEY (result_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
