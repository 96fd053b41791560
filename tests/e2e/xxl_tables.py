"""The tables of an xxl-job admin, as far as an import reads them, in the forms that they had.

Columns and types are those of its versions 2.2, 2.4 and 3.4; of 3.5 (not released) the names that
will be new. What no import reads is left out, but for what must not be read: passwords.
"""

VERSIONS = ("2.2", "2.4", "3.4", "3.5")


def create(version):
    """The statements that make them."""
    is_new = version >= "3.4"
    title = "name VARCHAR(64)" if version >= "3.5" else f"title VARCHAR({64 if is_new else 12})"
    name = "name" if version >= "3.5" else "job_desc"
    param = "TEXT" if is_new else "VARCHAR(512)"
    schedule = ("job_cron VARCHAR(128) NOT NULL" if version == "2.2" else
                "schedule_type VARCHAR(50) NOT NULL DEFAULT 'NONE', schedule_conf VARCHAR(128), "
                "misfire_strategy VARCHAR(50) NOT NULL DEFAULT 'DO_NOTHING'")
    return f"""
CREATE TABLE xxl_job_group (
  id INT(11) NOT NULL AUTO_INCREMENT PRIMARY KEY, app_name VARCHAR(64) NOT NULL, {title} NOT NULL,
  address_type TINYINT(4) NOT NULL DEFAULT 0, address_list TEXT, update_time DATETIME);
CREATE TABLE xxl_job_info (
  id INT(11) NOT NULL AUTO_INCREMENT PRIMARY KEY, job_group INT(11) NOT NULL,
  {name} VARCHAR(255) NOT NULL, add_time DATETIME, update_time DATETIME, author VARCHAR(64),
  alarm_email VARCHAR(255), {schedule}, executor_route_strategy VARCHAR(50),
  executor_handler VARCHAR(255), executor_param {param}, executor_block_strategy VARCHAR(50),
  executor_timeout INT(11) NOT NULL DEFAULT 0, executor_fail_retry_count INT(11) NOT NULL DEFAULT 0,
  glue_type VARCHAR(50) NOT NULL, glue_source MEDIUMTEXT, glue_remark VARCHAR(128),
  glue_updatetime DATETIME, child_jobid VARCHAR(255), trigger_status TINYINT(4) NOT NULL DEFAULT 0,
  trigger_last_time BIGINT(13) NOT NULL DEFAULT 0, trigger_next_time BIGINT(13) NOT NULL DEFAULT 0);
CREATE TABLE xxl_job_logglue (
  id INT(11) NOT NULL AUTO_INCREMENT PRIMARY KEY, job_id INT(11) NOT NULL, glue_type VARCHAR(50),
  glue_source MEDIUMTEXT, glue_remark VARCHAR(128) NOT NULL, add_time DATETIME,
  update_time DATETIME);
CREATE TABLE xxl_job_user (
  id INT(11) NOT NULL AUTO_INCREMENT PRIMARY KEY, username VARCHAR(50) NOT NULL UNIQUE,
  password VARCHAR(100) NOT NULL, role TINYINT(4) NOT NULL, permission VARCHAR(255));
"""


# What a job is unless it says otherwise; a name of the newest form, made older where it is.
JOB = {"name": "a job", "author": "ann", "alarm_email": "", "schedule_type": "CRON",
       "schedule_conf": "0 30 2 * * ?", "misfire_strategy": "DO_NOTHING",
       "executor_route_strategy": "ROUND", "executor_handler": "", "executor_param": "",
       "executor_block_strategy": "SERIAL_EXECUTION", "executor_timeout": 0,
       "executor_fail_retry_count": 0, "glue_type": "BEAN", "glue_source": "", "child_jobid": "",
       "trigger_status": 1, "trigger_next_time": 0}


def older(column, version):
    """The name of a column in that version; None where it has none."""
    if version < "3.5" and column == "name":
        return "job_desc"
    if version == "2.2":
        return {"schedule_type": None, "misfire_strategy": None,
                "schedule_conf": "job_cron"}.get(column, column)
    return column


def insert(table, **values):
    def quoted(value):
        if isinstance(value, str):
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "NULL" if value is None else str(value)
    return (f"INSERT INTO {table} ({', '.join(values)}) "
            f"VALUES ({', '.join(map(quoted, values.values()))});\n")


def insert_job(version, **values):
    columns = {older(column, version): value for column, value in {**JOB, **values}.items()}
    columns.pop(None, None)
    return insert("xxl_job_info", **columns)
