-- Versions of the scripts of definitions.
CREATE TABLE lts_script (
  definition_id INTEGER NOT NULL,
  version       INTEGER NOT NULL,
  language      TEXT    NOT NULL,
  remark        TEXT    NOT NULL,
  source        BLOB    NOT NULL,
  PRIMARY KEY (definition_id, version)
) WITHOUT ROWID;
