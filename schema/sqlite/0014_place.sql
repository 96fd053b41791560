-- Of an executor that is listed by hand, in the list.
ALTER TABLE lts_executor ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
