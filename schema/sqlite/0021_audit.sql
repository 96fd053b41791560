-- Who changed what, and who tried.
CREATE TABLE lts_audit (
  audit_id    INTEGER PRIMARY KEY,
  at_us       INTEGER NOT NULL,
  by_name     TEXT    NOT NULL,
  by_kind     TEXT    NOT NULL,
  address     TEXT    NOT NULL,
  action      TEXT    NOT NULL,
  group_name  TEXT    NOT NULL,
  task_id     TEXT    NOT NULL,
  outcome     TEXT    NOT NULL,
  before_json BLOB    NOT NULL,
  after_json  BLOB    NOT NULL
);
CREATE INDEX lts_audit_by_task ON lts_audit (group_name, task_id, audit_id);
