-- The trigger time of a job that is tried again: trigger_time_us says when that may be. A statement
-- with {table} is run for each node group's table.
ALTER TABLE {table} ADD COLUMN moved_from_us INTEGER;
ALTER TABLE lts_delayed_job_queue ADD COLUMN moved_from_us INTEGER;
ALTER TABLE lts_executing_job_queue ADD COLUMN moved_from_us INTEGER;
