-- Messages to people that were sent, or could not be delivered.
CREATE TABLE lts_alarm_history (
  alarm_id  INTEGER PRIMARY KEY,
  at_us     INTEGER NOT NULL,
  group_id  INTEGER NOT NULL,
  rule      TEXT    NOT NULL,
  recipient TEXT    NOT NULL,
  state     INTEGER NOT NULL,
  message   TEXT    NOT NULL
);
CREATE INDEX lts_alarm_history_by_group ON lts_alarm_history (group_id, alarm_id);

-- Node groups about which no messages are sent until a time.
CREATE TABLE lts_silence (
  group_id INTEGER PRIMARY KEY,
  until_us INTEGER NOT NULL
);
