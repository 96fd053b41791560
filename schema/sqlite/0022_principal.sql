-- Who may do what: keys, tokens and users.
CREATE TABLE lts_principal (
  kind          TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  role          TEXT    NOT NULL,
  node_groups   TEXT    NOT NULL,
  secret        TEXT    NOT NULL,
  created_us    INTEGER NOT NULL,
  created_by    TEXT    NOT NULL,
  expires_us    INTEGER NOT NULL,
  language      TEXT    NOT NULL,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
