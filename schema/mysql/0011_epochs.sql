-- How often a partition was taken: who hears several owners at a time believes the newest.
ALTER TABLE lts_partition ADD COLUMN /*M! IF NOT EXISTS */ epoch BIGINT NOT NULL DEFAULT 0;
