#include <algorithm>
#include <optional>

#include "jobtracker/store/sql/batch_writer.h"

// Versions of scripts.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectDefinition =
    "SELECT 1 FROM lts_cron_job_queue WHERE definition_id = ? "
    "UNION ALL SELECT 1 FROM lts_repeat_job_queue WHERE definition_id = ?";
constexpr std::string_view kSelectNewest =
    "SELECT version, language, remark, source FROM lts_script WHERE definition_id = ? "
    "ORDER BY version DESC LIMIT 1";
constexpr std::string_view kSelectVersion =
    "SELECT 1 FROM lts_script WHERE definition_id = ? AND version = ?";
constexpr std::string_view kInsert =
    "INSERT INTO lts_script (definition_id, version, language, remark, source) "
    "VALUES (?, ?, ?, ?, ?)";
constexpr std::string_view kSelectLastKept =
    "SELECT version FROM lts_script WHERE definition_id = ? ORDER BY version DESC LIMIT 1 OFFSET ?";
constexpr std::string_view kDeleteOlder =
    "DELETE FROM lts_script WHERE definition_id = ? AND version < ?";

Result<bool> has_row(sql::Connection& db, std::string_view select, const SqlValues& values) {
  bool is_there = false;
  CARILLON_TRY(db.query(select, values, [&](const sql::Row&) { is_there = true; }));
  return is_there;
}

Result<std::optional<ScriptVersion>> newest_of(sql::Connection& db, DefinitionId id) {
  std::optional<ScriptVersion> newest;
  CARILLON_TRY(db.query(kSelectNewest, SqlValues{value_of(id)}, [&](const sql::Row& row) {
    newest = ScriptVersion{.version = row.integer(0),
                           .language = std::string{row.bytes(1)},
                           .source = std::string{row.bytes(3)},
                           .remark = std::string{row.bytes(2)}};
  }));
  return newest;
}

Status write_one(sql::Connection& db, const PutScript& put) {
  const Value id = value_of(put.definition);
  if (!CARILLON_TRY(has_row(db, kSelectDefinition, {id, id}))) return {};
  std::int64_t version = put.script.version;
  if (put.is_old) {
    if (CARILLON_TRY(has_row(db, kSelectVersion, {id, Value::of(version)}))) return {};
  } else if (const auto newest = CARILLON_TRY(newest_of(db, put.definition))) {
    if (is_no_new_version(put.script, *newest)) return {};
    version = std::max(version, newest->version + 1);
  }
  CARILLON_TRY(db.execute(
      kInsert, SqlValues{id, Value::of(version), Value::of_text(put.script.language),
                         Value::of_text(put.script.remark), Value::of_bytes(put.script.source)}));
  std::int64_t last_kept = 0;
  CARILLON_TRY(db.query(kSelectLastKept, SqlValues{id, Value::of(kScriptVersionsMax - 1)},
                        [&](const sql::Row& row) { last_kept = row.integer(0); }));
  CARILLON_TRY(db.execute(kDeleteOlder, SqlValues{id, Value::of(last_kept)}));
  return {};
}

}  // namespace

Status write_scripts(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    context.current = index;
    CARILLON_TRY(write_one(context.db, context.operation<PutScript>(index)));
  }
  return {};
}

}  // namespace carillon::jobtracker
