-- The highest definition id ever given out, so that none is given to another one again.
CREATE TABLE lts_definition_high (
  one           INTEGER PRIMARY KEY,
  definition_id INTEGER NOT NULL
);
INSERT INTO lts_definition_high
  SELECT 1, COALESCE(MAX(definition_id), 0) FROM (
    SELECT definition_id FROM lts_cron_job_queue
    UNION ALL SELECT definition_id FROM lts_repeat_job_queue
    UNION ALL SELECT definition_id FROM lts_executing_job_queue
    UNION ALL SELECT definition_id FROM lts_job_log) AS used;
