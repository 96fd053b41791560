CREATE TABLE lts_outbox_entry (
  id INTEGER PRIMARY KEY,
  client INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  sent_us INTEGER NOT NULL,
  body BLOB NOT NULL
);

CREATE TABLE lts_outbox_refused (
  id INTEGER PRIMARY KEY,
  refused_us INTEGER NOT NULL,
  reason TEXT NOT NULL,
  body BLOB NOT NULL
);

CREATE TABLE lts_outbox_address (
  address TEXT PRIMARY KEY
) WITHOUT ROWID;
