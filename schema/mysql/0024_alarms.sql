-- Messages to people that were sent, or could not be delivered.
CREATE TABLE IF NOT EXISTS lts_alarm_history (
  alarm_id  BIGINT       NOT NULL,
  at_us     BIGINT       NOT NULL,
  group_id  INT          NOT NULL,
  rule      VARCHAR(200) NOT NULL,
  recipient VARCHAR(512) NOT NULL,
  state     TINYINT      NOT NULL,
  message   TEXT         NOT NULL,
  PRIMARY KEY (alarm_id),
  KEY by_group (group_id, alarm_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Node groups about which no messages are sent until a time.
CREATE TABLE IF NOT EXISTS lts_silence (
  group_id INT    NOT NULL,
  until_us BIGINT NOT NULL,
  PRIMARY KEY (group_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
