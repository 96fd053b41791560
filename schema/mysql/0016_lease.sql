-- Whoever takes over waits for the leases that task trackers may have, whatever its own.
ALTER TABLE lts_tracker ADD COLUMN /*M! IF NOT EXISTS */ lease_us BIGINT NOT NULL DEFAULT 0;
