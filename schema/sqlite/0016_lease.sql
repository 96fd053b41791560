-- Whoever takes over waits for the leases that task trackers may have, whatever its own.
ALTER TABLE lts_tracker ADD COLUMN lease_us INTEGER NOT NULL DEFAULT 0;
