-- The node groups whose tables may hold rows: the tables of the others need not be opened.
CREATE TABLE IF NOT EXISTS lts_waiting_group (
  group_id INT NOT NULL,
  PRIMARY KEY (group_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO lts_waiting_group
  SELECT group_id FROM lts_node_group
  WHERE table_name = '{table}' AND EXISTS (SELECT 1 FROM {table});
