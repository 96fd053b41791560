-- Where an executor keeps what a run has written. 0: it was run by a task tracker.
ALTER TABLE lts_job_log ADD COLUMN executor_log_id INTEGER NOT NULL DEFAULT 0;
