#include "jobtracker/store/sql/schema_migration.h"

#include "jobtracker/store/sql/embedded_schema.h"
#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kSqliteHasSchema =
    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'lts_schema'";
constexpr std::string_view kMysqlHasSchema =
    "SELECT COUNT(*) FROM information_schema.tables "
    "WHERE table_schema = DATABASE() AND table_name = 'lts_schema'";
constexpr std::string_view kSelectVersion = "SELECT MAX(version) FROM lts_schema";
constexpr std::string_view kInsertVersion =
    "INSERT INTO lts_schema (version, applied_us) VALUES (?, ?)";

Result<std::int64_t> read_number(sql::Connection& db, std::string_view sql) {
  std::int64_t number = 0;
  CARILLON_TRY(db.query(sql, {}, [&](const sql::Row& row) { number = row.integer(0); }));
  return number;
}

Result<int> read_version(sql::Connection& db) {
  const bool is_mysql = db.dialect() == sql::Dialect::kMysql;
  const auto tables = CARILLON_TRY(read_number(db, is_mysql ? kMysqlHasSchema : kSqliteHasSchema));
  if (tables == 0) return 0;
  return static_cast<int>(CARILLON_TRY(read_number(db, kSelectVersion)));
}

Status record(sql::Connection& db, int version, WallTime now) {
  CARILLON_TRY(db.execute(kInsertVersion, SqlValues{sql::Value::of(version), value_of(now)}));
  return {};
}

Status apply(sql::Connection& db, const Migration& migration, WallTime now) {
  if (db.dialect() == sql::Dialect::kMysql) {
    CARILLON_TRY(db.run_script(migration.script));
    return record(db, migration.version, now);
  }
  CARILLON_TRY(db.begin());
  CARILLON_TRY(db.run_script(migration.script));
  CARILLON_TRY(record(db, migration.version, now));
  return db.commit();
}

}  // namespace

Result<SchemaState> migrate_schema(sql::Connection& db, const std::string& name, WallTime now) {
  const auto known = migrations(db.dialect());
  const auto found = CARILLON_TRY(read_version(db));
  SchemaState state{.found = found, .now = known.back().version};
  if (state.found > state.now) {
    return Error{ErrorCode::kInvalidArgument,
                 "store " + name + " has schema " + std::to_string(state.found) +
                     ", this program knows up to " + std::to_string(state.now) +
                     ": install a newer carillon"};
  }
  for (const Migration& migration : known) {
    if (migration.version <= state.found) continue;
    auto status = apply(db, migration, now);
    if (!status.ok()) {
      return status.error().with_context("store " + name + ": schema " +
                                         std::to_string(migration.version));
    }
  }
  return state;
}

}  // namespace carillon::jobtracker
