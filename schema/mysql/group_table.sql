-- One node group's executable jobs; {table} is the name kept in lts_node_group.
CREATE TABLE IF NOT EXISTS {table} (
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
  moved_from_us   BIGINT,
  PRIMARY KEY (job_id),
  KEY hand_out (priority, trigger_time_us, job_id),
  KEY definition (definition_id, attempt)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
