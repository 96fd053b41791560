-- The highest definition id ever given out, so that none is given to another one again.
CREATE TABLE IF NOT EXISTS lts_definition_high (
  one           INT NOT NULL,
  definition_id INT NOT NULL,
  PRIMARY KEY (one)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO lts_definition_high
  SELECT 1, COALESCE(MAX(definition_id), 0) FROM (
    SELECT definition_id FROM lts_cron_job_queue
    UNION ALL SELECT definition_id FROM lts_repeat_job_queue
    UNION ALL SELECT definition_id FROM lts_executing_job_queue
    UNION ALL SELECT definition_id FROM lts_job_log) AS used;
