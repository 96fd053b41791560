-- Task ids of jobs that stand in the delayed table, out of the way of those that run now.
CREATE TABLE lts_delayed_task_id (
  group_id      INTEGER NOT NULL,
  task_id       TEXT    NOT NULL,
  job_id        INTEGER NOT NULL,
  definition_id INTEGER NOT NULL,
  PRIMARY KEY (group_id, task_id)
) WITHOUT ROWID;
INSERT INTO lts_delayed_task_id
  SELECT * FROM lts_task_id WHERE job_id IN (SELECT job_id FROM lts_delayed_job_queue);
DELETE FROM lts_task_id WHERE job_id IN (SELECT job_id FROM lts_delayed_job_queue);
