-- Who takes over some node groups reads their definitions, and not those of all others.
ALTER TABLE lts_cron_job_queue ADD KEY /*M! IF NOT EXISTS */ node_group (group_id);
ALTER TABLE lts_repeat_job_queue ADD KEY /*M! IF NOT EXISTS */ node_group (group_id);
-- And what waits to be tried again, of which there is little.
ALTER TABLE lts_delayed_job_queue ADD KEY /*M! IF NOT EXISTS */ tried (attempt);
