-- What was there before is older than all that has a time.
ALTER TABLE lts_outbox_entry ADD COLUMN added_us INTEGER NOT NULL DEFAULT 0;
