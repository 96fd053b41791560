#include "jobtracker/store/sql/waiting_groups.h"

#include "jobtracker/store/sql/batch_writer.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectAll = "SELECT group_id FROM lts_waiting_group ORDER BY group_id";
constexpr std::string_view kSelectNext =
    "SELECT group_id FROM lts_waiting_group WHERE group_id > ? ORDER BY group_id LIMIT ?";
constexpr std::string_view kAdd = "lts_waiting_group (group_id) VALUES (?)";
constexpr std::string_view kRemove = "DELETE FROM lts_waiting_group WHERE group_id = ?";
constexpr Duration kBetweenLooks = std::chrono::seconds{1};
// A table that is not in the database's cache takes it up to two milliseconds.
constexpr std::int64_t kGroupsLookedAt = 4;

Result<std::vector<GroupId>> read_groups(sql::Connection& db, std::string_view sql,
                                         const SqlValues& values) {
  std::vector<GroupId> groups;
  CARILLON_TRY(db.query(sql, values, [&](const sql::Row& row) {
    groups.push_back(GroupId{static_cast<std::int32_t>(row.integer(0))});
  }));
  return groups;
}

Result<bool> is_empty(sql::Connection& db, std::string_view table) {
  bool has_rows = false;
  CARILLON_TRY(db.query(joined({"SELECT job_id FROM ", table, " LIMIT 1"}), {},
                        [&](const sql::Row&) { has_rows = true; }));
  return !has_rows;
}

}  // namespace

Result<std::vector<GroupId>> read_waiting_groups(sql::Connection& db) {
  return read_groups(db, kSelectAll, {});
}

Status WaitingGroups::add(sql::Connection& db, GroupId group) {
  busy_.insert(group);
  if (known_.contains(group) || !added_.insert(group).second) return {};
  CARILLON_TRY(db.execute(joined({insert_new(db), kAdd}), SqlValues{value_of(group)}));
  return {};
}

Status WaitingGroups::remove_empty(sql::Connection& db, GroupCatalog& groups, SteadyTime now) {
  if (now < next_look_) return {};
  next_look_ = now + kBetweenLooks;
  const auto next = CARILLON_TRY(
      read_groups(db, kSelectNext, SqlValues{value_of(last_), Value::of(kGroupsLookedAt)}));
  last_ = std::ssize(next) < kGroupsLookedAt ? GroupId{} : next.back();
  for (const GroupId group : next) {
    if (!has_group(owned_, group) || busy_.erase(group) > 0) continue;
    const std::string_view table = CARILLON_TRY(groups.table_of(db, group));
    if (!CARILLON_TRY(is_empty(db, table))) continue;
    known_.erase(group);
    CARILLON_TRY(db.execute(kRemove, SqlValues{value_of(group)}));
  }
  return {};
}

}  // namespace carillon::jobtracker
