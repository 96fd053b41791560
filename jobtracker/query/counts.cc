// Daily counts of ended jobs.
#include <array>
#include <map>
#include <utility>

#include "jobtracker/query/query.h"

namespace carillon::jobtracker {
namespace {

constexpr std::array kCountNames = {"succeeded", "failed",  "retried",  "skipped",
                                    "missed",    "expired", "cancelled"};

// The column that an end counts in.
std::size_t count_of(const LogCount& ends) {
  switch (ends.state) {
    case LogState::kSucceeded:
      return 0;
    case LogState::kFailed:
    case LogState::kTimedOut:
    case LogState::kKilled:
    case LogState::kLost:
      return ends.final ? 1 : 2;
    case LogState::kLater:
      return 2;
    case LogState::kDiscarded:
    case LogState::kSkipped:
      return 3;
    case LogState::kMissed:
      return 4;
    case LogState::kExpired:
      return 5;
    case LogState::kCancelled:
      return 6;
  }
  return 6;
}

}  // namespace

void QueryDesk::counts(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, wire::ErrorReply{group.error()});
  const CountLog question{.from = WallTime{Duration{message.since_us}},
                          .until = WallTime{Duration{message.until_us}},
                          .groups = parts_of(group.value())};
  read(asker, question, [this, asker](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, wire::ErrorReply{answer.error()});
    std::map<GroupId, std::array<std::int64_t, kCountNames.size()>> groups;
    for (const LogCount& one : std::get<LogCountAnswer>(answer.value()).counts)
      groups[whole(one.group)][count_of(one)] += one.ends;
    wire::Rows reply;
    for (const auto& [id, counts] : groups) {
      wire::Row row{{"group", group_name(id)}};
      for (std::size_t i = 0; i < counts.size(); ++i) row.emplace_back(kCountNames[i], counts[i]);
      reply.rows.push_back(std::move(row));
    }
    clients_.answer(asker, std::move(reply));
  });
}

}  // namespace carillon::jobtracker
