#include <iterator>

#include "jobtracker/store/memory_batch.h"

namespace carillon::jobtracker {

const char* to_string(AlarmState state) {
  switch (state) {
    case AlarmState::kFiring:
      return "firing";
    case AlarmState::kOver:
      return "over";
    case AlarmState::kDelivered:
      return "delivered";
    case AlarmState::kFailed:
      return "failed";
  }
  return "unknown";
}

Result<Outcome> MemoryBatch::apply(const PutAlarmHistory& history) {
  put(tables_.alarm_history, history.row.id, history.row);
  return Outcome{};
}

Result<Outcome> MemoryBatch::apply(const PutSilence& silence) {
  const bool ends = silence.row.until == WallTime{};
  put(tables_.silences, silence.row.group, ends ? std::nullopt : std::optional{silence.row});
  return Outcome{};
}

// Returns the number of rows. Also deletes silences that are over.
std::int64_t MemoryBatch::purge_alarms(const Purge& purge) {
  std::int64_t rows = 0;
  auto& history = tables_.alarm_history;
  while (rows < purge.limit && !history.empty()) {
    const std::int64_t oldest = history.begin()->first;
    const bool is_too_many = purge.alarms_max > 0 && std::ssize(history) > purge.alarms_max;
    if (oldest >= purge.audit_before && !is_too_many) break;
    put(history, oldest, std::nullopt);
    ++rows;
  }
  std::vector<GroupId> over;
  for (const auto& [group, silence] : tables_.silences) {
    if (silence.until < batch_.now) over.push_back(group);
  }
  for (const GroupId group : over) put(tables_.silences, group, std::nullopt);
  return rows;
}

}  // namespace carillon::jobtracker
