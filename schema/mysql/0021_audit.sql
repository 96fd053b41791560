-- Who changed what, and who tried.
CREATE TABLE IF NOT EXISTS lts_audit (
  audit_id    BIGINT       NOT NULL,
  at_us       BIGINT       NOT NULL,
  by_name     VARCHAR(128) NOT NULL,
  by_kind     VARCHAR(16)  NOT NULL,
  address     VARCHAR(64)  NOT NULL,
  action      VARCHAR(32)  NOT NULL,
  group_name  VARCHAR(64)  NOT NULL,
  task_id     VARCHAR(200) NOT NULL,
  outcome     VARCHAR(300) NOT NULL,
  before_json MEDIUMBLOB   NOT NULL,
  after_json  MEDIUMBLOB   NOT NULL,
  PRIMARY KEY (audit_id),
  KEY by_task (group_name, task_id, audit_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
