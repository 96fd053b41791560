-- Who begins finds what waits to be tried again without reading all that waits.
ALTER TABLE {table} DROP KEY definition, ADD KEY definition (definition_id, attempt);
ALTER TABLE lts_delayed_job_queue DROP KEY definition, ADD KEY definition (definition_id, attempt);
-- A job tracker is about to let go of partitions: who may take some gets ready.
ALTER TABLE lts_tracker ADD COLUMN /*M! IF NOT EXISTS */ yields INT NOT NULL DEFAULT 0;
