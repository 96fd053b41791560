#include "jobtracker/store/sql/schema_migration.h"

#include <vector>

#include "jobtracker/store/names.h"
#include "jobtracker/store/sql/embedded_schema.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "shared/sql/sql_text.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kSqliteHasSchema =
    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'lts_schema'";
constexpr std::string_view kMysqlHasSchema =
    "SELECT COUNT(*) FROM information_schema.tables "
    "WHERE table_schema = DATABASE() AND table_name = 'lts_schema'";
// Tables that LTS creates at its start, and Carillon never.
constexpr std::string_view kSqliteHasLts =
    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' "
    "AND name IN ('lts_suspend_job_queue', 'lts_node_group_store', 'lts_job_log_po')";
constexpr std::string_view kMysqlHasLts =
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() "
    "AND table_name IN ('lts_suspend_job_queue', 'lts_node_group_store', 'lts_job_log_po')";
// Includes the table of a group that a crash kept from being recorded: it is used later.
constexpr std::string_view kSqliteTables = "SELECT name FROM sqlite_master WHERE type = 'table'";
constexpr std::string_view kMysqlTables =
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()";
constexpr int kMigrationTries = 10;
constexpr std::string_view kSelectVersion = "SELECT MAX(version) FROM lts_schema";
constexpr std::string_view kInsertVersion =
    "INSERT INTO lts_schema (version, applied_us) VALUES (?, ?)";

Result<std::int64_t> read_number(sql::Connection& db, std::string_view sql) {
  std::int64_t number = 0;
  CARILLON_TRY(db.query(sql, {}, [&](const sql::Row& row) { number = row.integer(0); }));
  return number;
}

Result<int> read_version(sql::Connection& db, const std::string& name) {
  const bool is_mysql = db.dialect() == sql::Dialect::kMysql;
  const auto tables = CARILLON_TRY(read_number(db, is_mysql ? kMysqlHasSchema : kSqliteHasSchema));
  if (tables > 0) return static_cast<int>(CARILLON_TRY(read_number(db, kSelectVersion)));
  // Some tables have the same names as ours, with other columns.
  const auto of_lts = CARILLON_TRY(read_number(db, is_mysql ? kMysqlHasLts : kSqliteHasLts));
  if (of_lts == 0) return 0;
  return Error{
      ErrorCode::kInvalidArgument,
      "store " + name +
          " is a database of LTS (light-task-scheduler) and was not changed (name a database for "
          "the job tracker alone, and import the jobs with 'jobclient import lts')"};
}

Result<std::vector<std::string>> read_group_tables(sql::Connection& db) {
  std::vector<std::string> tables;
  const bool is_mysql = db.dialect() == sql::Dialect::kMysql;
  CARILLON_TRY(db.query(is_mysql ? kMysqlTables : kSqliteTables, {}, [&](const sql::Row& row) {
    if (is_group_table(row.bytes(0))) tables.emplace_back(row.bytes(0));
  }));
  return tables;
}

bool says(const Error& error, std::string_view text) {
  return error.message.find(text) != std::string::npos;
}

// On MySQL each statement commits, and an interrupted script starts again: a column or a key may
// exist already.
Status run_once(sql::Connection& db, std::string_view statement) {
  Status done = db.run_script(statement);
  const bool is_there = !done.ok() && (says(done.error(), "Duplicate column name") ||
                                       says(done.error(), "Duplicate key name"));
  return is_there ? Status{} : done;
}

Status run(sql::Connection& db, std::string_view script) {
  const auto tables = CARILLON_TRY(read_group_tables(db));
  for (const std::string& statement : sql::split_script(script)) {
    if (!is_for_group_tables(statement)) {
      CARILLON_TRY(run_once(db, statement));
      continue;
    }
    for (const std::string& table : tables) {
      CARILLON_TRY(run_once(db, for_group_table(statement, table)));
    }
  }
  return {};
}

Status record(sql::Connection& db, int version, WallTime now) {
  CARILLON_TRY(db.execute(kInsertVersion, SqlValues{sql::Value::of(version), value_of(now)}));
  return {};
}

Status record_on_mysql(sql::Connection& db, int version, WallTime now) {
  Status done = record(db, version, now);
  // Another job tracker did the same on another node of a cluster.
  const bool is_there = !done.ok() && is_duplicate_key(done.error());
  return is_there ? Status{} : done;
}

// On nodes of a cluster several job trackers may migrate concurrently, and their statements
// conflict.
Status apply_on_mysql(sql::Connection& db, const Migration& migration, WallTime now) {
  for (int tries = 1;; ++tries) {
    Status done = run(db, migration.script);
    if (done.ok()) done = record_on_mysql(db, migration.version, now);
    if (done.ok() || tries == kMigrationTries) return done;
    if (done.error().code != ErrorCode::kConflict) return done;
  }
}

Status apply(sql::Connection& db, const Migration& migration, WallTime now) {
  if (db.dialect() == sql::Dialect::kMysql) return apply_on_mysql(db, migration, now);
  CARILLON_TRY(db.begin());
  CARILLON_TRY(run(db, migration.script));
  CARILLON_TRY(record(db, migration.version, now));
  return db.commit();
}

}  // namespace

int known_schema(const sql::Connection& db) { return migrations(db.dialect()).back().version; }

Result<int> read_schema(sql::Connection& db, const std::string& name) {
  const int found = CARILLON_TRY(read_version(db, name));
  const int known = known_schema(db);
  if (found <= known) return found;
  return Error{ErrorCode::kInvalidArgument,
               "store " + name + " has schema " + std::to_string(found) +
                   ", this program knows up to " + std::to_string(known) +
                   ": install a newer carillon"};
}

Result<int> migrate_schema(sql::Connection& db, int found, const std::string& name, WallTime now) {
  const auto known = migrations(db.dialect());
  for (const Migration& migration : known) {
    if (migration.version <= found) continue;
    auto status = apply(db, migration, now);
    if (!status.ok()) {
      return status.error().with_context("store " + name + ": schema " +
                                         std::to_string(migration.version));
    }
  }
  return known.back().version;
}

}  // namespace carillon::jobtracker
