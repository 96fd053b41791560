#pragma once

#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "jobtracker/store/rows.h"
#include "shared/sql/sql_connection.h"

// Scans one group's table in dispatch order, priority by priority, without stepping over future
// rows of a priority or rows that were read before.
namespace carillon::jobtracker {

inline constexpr int kLowestPriority = std::numeric_limits<std::int16_t>::min();

// Thread: the connection's.
class WaitingScan {
 public:
  WaitingScan(sql::Connection& db, std::string_view table, GroupId group)
      : db_(db), table_(table), group_(group) {}

  // Calls `visit` with each priority from `first` on that has rows, and with its earliest due time,
  // until it returns false.
  Status each_priority(int first,
                       const std::function<Result<bool>(int priority, WallTime earliest)>& visit);

  // Appends up to `limit` rows of a priority, by (due time, id), after this key, not later than
  // `through`.
  Status read(int priority, WallTime after_time, JobId after_id, WallTime through,
              std::int64_t limit, std::vector<WaitingJob>& jobs);

 private:
  Status select(std::string_view condition, std::span<const sql::Value> parameters,
                std::vector<WaitingJob>& jobs);

  sql::Connection& db_;
  std::string_view table_;  // a checked name
  GroupId group_;
};

}  // namespace carillon::jobtracker
