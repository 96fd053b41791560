-- Who may do what: keys, tokens and users.
CREATE TABLE IF NOT EXISTS lts_principal (
  kind          VARCHAR(16)  NOT NULL,
  name          VARCHAR(64)  NOT NULL,
  role          VARCHAR(16)  NOT NULL,
  node_groups   TEXT         NOT NULL,
  secret        VARCHAR(200) NOT NULL,
  created_us    BIGINT       NOT NULL,
  created_by    VARCHAR(128) NOT NULL,
  expires_us    BIGINT       NOT NULL,
  language      VARCHAR(16)  NOT NULL,
  PRIMARY KEY (kind, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
