-- Where an executor keeps what a run has written. 0: it was run by a task tracker.
ALTER TABLE lts_job_log ADD COLUMN /*M! IF NOT EXISTS */ executor_log_id BIGINT NOT NULL DEFAULT 0;
