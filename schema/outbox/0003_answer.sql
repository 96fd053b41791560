-- What was answered to it, where something was; empty: nothing, or it was refused by an earlier version.
ALTER TABLE lts_outbox_refused ADD COLUMN answer BLOB NOT NULL DEFAULT '';
