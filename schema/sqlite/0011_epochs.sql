-- How often a partition was taken: who hears several owners at a time believes the newest.
ALTER TABLE lts_partition ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
