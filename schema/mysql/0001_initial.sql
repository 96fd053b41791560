-- Schema 1. See schema/README.md for what each table and column means.
CREATE TABLE IF NOT EXISTS lts_schema (
  version    INT    NOT NULL,
  applied_us BIGINT NOT NULL,
  PRIMARY KEY (version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_node_group (
  group_id   INT         NOT NULL,
  name       VARCHAR(64) NOT NULL,
  name_lower VARCHAR(64) NOT NULL,
  table_name VARCHAR(64) NOT NULL,
  served     TINYINT     NOT NULL,
  created_us BIGINT      NOT NULL,
  PRIMARY KEY (group_id),
  UNIQUE KEY name_lower (name_lower),
  UNIQUE KEY table_name (table_name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_task_id (
  group_id      INT            NOT NULL,
  task_id       VARBINARY(200) NOT NULL,
  job_id        BIGINT         NOT NULL,
  definition_id INT            NOT NULL,
  PRIMARY KEY (group_id, task_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_delayed_job_queue (
  job_id          BIGINT       NOT NULL,
  task_id         VARCHAR(200) NOT NULL,
  definition_id   INT,
  version         INT          NOT NULL,
  kind            TINYINT      NOT NULL,
  keyed           TINYINT      NOT NULL,
  priority        SMALLINT     NOT NULL,
  trigger_time_us BIGINT       NOT NULL,
  attempt         INT          NOT NULL,
  failures        INT          NOT NULL,
  lost            INT          NOT NULL,
  triggered       TINYINT      NOT NULL,
  forced          TINYINT      NOT NULL,
  bucket          TINYINT      NOT NULL,
  spec            LONGBLOB     NOT NULL,
  group_id        INT          NOT NULL,
  suspended       TINYINT      NOT NULL,
  PRIMARY KEY (job_id),
  KEY due (suspended, trigger_time_us, job_id),
  KEY definition (definition_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_executing_job_queue (
  job_id          BIGINT       NOT NULL,
  task_id         VARCHAR(200) NOT NULL,
  definition_id   INT,
  version         INT          NOT NULL,
  kind            TINYINT      NOT NULL,
  keyed           TINYINT      NOT NULL,
  priority        SMALLINT     NOT NULL,
  trigger_time_us BIGINT       NOT NULL,
  attempt         INT          NOT NULL,
  failures        INT          NOT NULL,
  lost            INT          NOT NULL,
  triggered       TINYINT      NOT NULL,
  forced          TINYINT      NOT NULL,
  bucket          TINYINT      NOT NULL,
  spec            LONGBLOB     NOT NULL,
  group_id        INT          NOT NULL,
  session_id      BIGINT       NOT NULL,
  node            VARCHAR(255) NOT NULL,
  claimed_us      BIGINT       NOT NULL,
  cancelled       TINYINT      NOT NULL,
  PRIMARY KEY (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_cron_job_queue (
  definition_id        INT          NOT NULL,
  group_id             INT          NOT NULL,
  task_id              VARCHAR(200) NOT NULL,
  keyed                TINYINT      NOT NULL,
  version              INT          NOT NULL,
  kind                 TINYINT      NOT NULL,
  state                TINYINT      NOT NULL,
  created_us           BIGINT       NOT NULL,
  next_fire_us         BIGINT       NOT NULL,
  last_fire_us         BIGINT       NOT NULL,
  generated_through_us BIGINT       NOT NULL,
  fired                BIGINT       NOT NULL,
  bucket               TINYINT      NOT NULL,
  schedule             TEXT         NOT NULL,
  tz                   VARCHAR(255) NOT NULL,
  spec                 LONGBLOB     NOT NULL,
  PRIMARY KEY (definition_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_repeat_job_queue (
  definition_id        INT          NOT NULL,
  group_id             INT          NOT NULL,
  task_id              VARCHAR(200) NOT NULL,
  keyed                TINYINT      NOT NULL,
  version              INT          NOT NULL,
  kind                 TINYINT      NOT NULL,
  state                TINYINT      NOT NULL,
  created_us           BIGINT       NOT NULL,
  next_fire_us         BIGINT       NOT NULL,
  last_fire_us         BIGINT       NOT NULL,
  generated_through_us BIGINT       NOT NULL,
  fired                BIGINT       NOT NULL,
  bucket               TINYINT      NOT NULL,
  schedule             TEXT         NOT NULL,
  tz                   VARCHAR(255) NOT NULL,
  spec                 LONGBLOB     NOT NULL,
  PRIMARY KEY (definition_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_job_log (
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
  fires           BIGINT       NOT NULL,
  final           TINYINT      NOT NULL,
  bucket          TINYINT      NOT NULL,
  PRIMARY KEY (log_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_job_output (
  job_id   BIGINT   NOT NULL,
  attempt  INT      NOT NULL,
  sequence BIGINT   NOT NULL,
  stream   TINYINT  NOT NULL,
  at_us    BIGINT   NOT NULL,
  bytes    LONGBLOB NOT NULL,
  PRIMARY KEY (job_id, attempt, sequence)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_tracker (
  session_id      BIGINT       NOT NULL,
  lane            INT          NOT NULL,
  name            VARCHAR(255) NOT NULL,
  batch           BIGINT       NOT NULL,
  id_high         BIGINT       NOT NULL,
  beat_us         BIGINT       NOT NULL,
  alive_before_us BIGINT       NOT NULL,
  ended           TINYINT      NOT NULL,
  PRIMARY KEY (session_id, lane)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_client (
  slot     BIGINT   NOT NULL,
  sequence BIGINT   NOT NULL,
  answer   LONGBLOB NOT NULL,
  outcomes LONGBLOB NOT NULL,
  at_us    BIGINT   NOT NULL,
  PRIMARY KEY (slot),
  KEY given (at_us)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lts_node (
  session_id   BIGINT       NOT NULL,
  name         VARCHAR(255) NOT NULL,
  group_id     INT          NOT NULL,
  address      VARCHAR(255) NOT NULL,
  threads      INT          NOT NULL,
  started_us   BIGINT       NOT NULL,
  last_seen_us BIGINT       NOT NULL,
  alive        TINYINT      NOT NULL,
  PRIMARY KEY (session_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
