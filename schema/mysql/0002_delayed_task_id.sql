-- Task ids of jobs that stand in the delayed table, out of the way of those that run now.
CREATE TABLE IF NOT EXISTS lts_delayed_task_id (
  group_id      INT            NOT NULL,
  task_id       VARBINARY(200) NOT NULL,
  job_id        BIGINT         NOT NULL,
  definition_id INT            NOT NULL,
  PRIMARY KEY (group_id, task_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO lts_delayed_task_id
  SELECT * FROM lts_task_id WHERE job_id IN (SELECT job_id FROM lts_delayed_job_queue);
DELETE FROM lts_task_id WHERE job_id IN (SELECT job_id FROM lts_delayed_job_queue);
