-- Who looks after which node groups: those whose number has the same remainder by 64.
CREATE TABLE IF NOT EXISTS lts_partition (
  partition_id    INT    NOT NULL,
  owner           BIGINT NOT NULL,
  alive_before_us BIGINT NOT NULL,
  PRIMARY KEY (partition_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
ALTER TABLE lts_tracker ADD COLUMN /*M! IF NOT EXISTS */ number INT NOT NULL DEFAULT 0;
ALTER TABLE lts_tracker ADD COLUMN /*M! IF NOT EXISTS */ address VARCHAR(255) NOT NULL DEFAULT '';
-- Children that another job tracker is to trigger.
CREATE TABLE IF NOT EXISTS lts_inbox (
  inbox_id BIGINT       NOT NULL,
  group_id INT          NOT NULL,
  task_id  VARCHAR(200) NOT NULL,
  PRIMARY KEY (inbox_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
