#include "jobtracker/store/sql/group_catalog.h"

#include <algorithm>
#include <optional>
#include <set>

#include "jobtracker/store/names.h"
#include "jobtracker/store/sql/embedded_schema.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kSelectGroups =
    "SELECT group_id, name, table_name, served, created_us FROM lts_node_group ORDER BY group_id";
constexpr std::string_view kSelectGroup =
    "SELECT group_id, name, table_name, served, created_us FROM lts_node_group WHERE name_lower = "
    "?";
constexpr std::string_view kInsertGroup =
    "INSERT INTO lts_node_group (group_id, name, name_lower, table_name, served, created_us) "
    "VALUES";
constexpr int kMakeTries = 5;

Group group_of(const sql::Row& row) {
  return {.id = GroupId{static_cast<std::int32_t>(row.integer(0))},
          .name = std::string{row.bytes(1)},
          .table = std::string{row.bytes(2)},
          .served = row.integer(3) != 0,
          .created_at = wall_time(row.integer(4))};
}

}  // namespace

Result<std::vector<Group>> GroupCatalog::read_all(sql::Connection& db) {
  std::vector<Group> groups;
  CARILLON_TRY(
      db.query(kSelectGroups, {}, [&](const sql::Row& row) { groups.push_back(group_of(row)); }));
  for (const Group& group : groups) {
    if (!is_group_table(group.table)) {
      return Error{ErrorCode::kCorrupt, "lts_node_group names table '" + group.table +
                                            "' for group '" + group.name +
                                            "', which is not the name of a group's table"};
    }
    tables_.emplace(group.id, group.table);
  }
  return groups;
}

Result<std::string_view> GroupCatalog::table_of(sql::Connection& db, GroupId group) {
  auto found = tables_.find(group);
  if (found == tables_.end()) {
    CARILLON_TRY(read_all(db));
    found = tables_.find(group);
  }
  if (found == tables_.end()) {
    return Error{ErrorCode::kNotFound, "group " + std::to_string(group.value) + " does not exist"};
  }
  return std::string_view{found->second};
}

Result<Group> GroupCatalog::find(sql::Connection& db, const std::string& name) {
  std::optional<Group> found;
  CARILLON_TRY(db.query(kSelectGroup, SqlValues{sql::Value::of_text(lower_ascii(name))},
                        [&](const sql::Row& row) { found = group_of(row); }));
  if (!found) return Error{ErrorCode::kNotFound, "there is no group '" + name + "'"};
  return *std::move(found);
}

Result<Group> GroupCatalog::make(sql::Connection& db, const std::string& name, WallTime now) {
  CARILLON_TRY(check_group_name(name));
  for (int tries = 1;; ++tries) {
    auto made = make_once(db, name, now);
    // Another job tracker may have created one with this name or number.
    const bool may_be_taken = !made.ok() && (made.error().code == ErrorCode::kInvalidArgument ||
                                             made.error().code == ErrorCode::kConflict);
    if (!may_be_taken || tries == kMakeTries) return made;
  }
}

Result<Group> GroupCatalog::make_once(sql::Connection& db, const std::string& name, WallTime now) {
  const auto lower = lower_ascii(name);
  const auto groups = CARILLON_TRY(read_all(db));
  std::set<std::string> tables;
  for (const Group& group : groups) {
    if (lower_ascii(group.name) == lower) return group;
    tables.insert(group.table);
  }
  if (groups.size() >= kGroupsMax) {
    return Error{ErrorCode::kLimit, "group '" + name + "' is one too many, at most " +
                                        std::to_string(kGroupsMax) + " groups can be created"};
  }
  const Group made{.id = GroupId{groups.empty() ? 1 : groups.back().id.value + 1},
                   .name = name,
                   .table = new_group_table(
                       name, [&](const std::string& table) { return tables.contains(table); }),
                   .created_at = now};

  CARILLON_TRY(db.run_script(for_group_table(group_table_script(db.dialect()), made.table)));
  const SqlValues values{value_of(made.id),          sql::Value::of_text(made.name),
                         sql::Value::of_text(lower), sql::Value::of_text(made.table),
                         value_of(made.served),      value_of(made.created_at)};
  CARILLON_TRY(db.insert_rows(kInsertGroup, static_cast<int>(values.size()), values));
  tables_.emplace(made.id, made.table);
  return made;
}

}  // namespace carillon::jobtracker
