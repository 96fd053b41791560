-- A job tracker is about to let go of partitions: who may take some gets ready.
ALTER TABLE lts_tracker ADD COLUMN yields INTEGER NOT NULL DEFAULT 0;
-- Who begins finds what waits to be tried again without reading all that waits.
DROP INDEX IF EXISTS "{table}.definition";
CREATE INDEX "{table}.definition" ON {table} (definition_id, attempt) WHERE definition_id IS NOT NULL;
DROP INDEX IF EXISTS "lts_delayed_job_queue.definition";
CREATE INDEX "lts_delayed_job_queue.definition" ON lts_delayed_job_queue (definition_id, attempt)
  WHERE definition_id IS NOT NULL;
