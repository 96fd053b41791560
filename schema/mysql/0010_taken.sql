-- Whose word counts when an executor says that it is idle: 1 has called itself busy before.
ALTER TABLE lts_executor ADD COLUMN /*M! IF NOT EXISTS */ honest TINYINT NOT NULL DEFAULT 0;
-- 1: its executor took it, and has never called itself busy.
ALTER TABLE lts_push_run ADD COLUMN /*M! IF NOT EXISTS */ taken TINYINT NOT NULL DEFAULT 0;
