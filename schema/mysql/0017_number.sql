-- On nodes of a cluster two job trackers may begin at a time: one number has one of them.
ALTER TABLE lts_tracker ADD UNIQUE KEY /*M! IF NOT EXISTS */ number (number, lane);
