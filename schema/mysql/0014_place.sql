-- Of an executor that is listed by hand, in the list.
ALTER TABLE lts_executor ADD COLUMN /*M! IF NOT EXISTS */ place INT NOT NULL DEFAULT 0;
