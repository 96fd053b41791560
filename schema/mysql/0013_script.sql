-- Versions of the scripts of definitions.
CREATE TABLE IF NOT EXISTS lts_script (
  definition_id INT          NOT NULL,
  version       BIGINT       NOT NULL,
  language      VARCHAR(32)  NOT NULL,
  remark        VARCHAR(512) NOT NULL,
  source        MEDIUMBLOB   NOT NULL,
  PRIMARY KEY (definition_id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
