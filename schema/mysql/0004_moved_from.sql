-- The trigger time of a job that is tried again: trigger_time_us says when that may be. A statement
-- with {table} is run for each node group's table. MySQL knows no IF NOT EXISTS here, MariaDB does.
ALTER TABLE {table} ADD COLUMN /*M! IF NOT EXISTS */ moved_from_us BIGINT;
ALTER TABLE lts_delayed_job_queue ADD COLUMN /*M! IF NOT EXISTS */ moved_from_us BIGINT;
ALTER TABLE lts_executing_job_queue ADD COLUMN /*M! IF NOT EXISTS */ moved_from_us BIGINT;
