#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "jobtracker/store/rows.h"
#include "shared/metrics/histogram.h"

namespace carillon::jobtracker {

inline constexpr int kScheduleKinds = 6;

// What happened in a node group, or in one partition of it.
struct GroupCounts {
  std::array<std::int64_t, kScheduleKinds> submitted{};  // by ScheduleKind
  std::int64_t started = 0;                              // attempts that were handed out
  std::array<std::int64_t, kLogStates> ended{};          // attempts, by LogState
  TimeHistogram queue_wait{};                            // from due to handed out
  TimeHistogram lateness{};                              // from due to started
  TimeHistogram run_time{};

  void add(const GroupCounts& other) {
    for (std::size_t i = 0; i < submitted.size(); ++i) submitted[i] += other.submitted[i];
    started += other.started;
    for (std::size_t i = 0; i < ended.size(); ++i) ended[i] += other.ended[i];
    queue_wait.add(other.queue_wait);
    lateness.add(other.lateness);
    run_time.add(other.run_time);
  }
};

// The same since the figures were last taken.
struct GroupMinute {
  std::int64_t submitted = 0;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::int64_t failed = 0;  // of `ended`: failed, timed out or lost
  QuantileTimes lateness{};

  bool is_empty() const { return submitted == 0 && started == 0 && ended == 0; }
};

// Counts jobs and attempts of each group. The counts outlive a session of the process.
//
// Thread: the loop.
class GroupMetrics {
 public:
  struct OfGroup {
    GroupId part{};
    GroupCounts counts{};
    GroupMinute minute{};
  };

  GroupMetrics() = default;
  GroupMetrics(GroupMetrics&&) = default;
  GroupMetrics& operator=(GroupMetrics&&) = default;

  void submitted(GroupId part, ScheduleKind kind) {
    OfGroup& group = of(part);
    ++group.counts.submitted[static_cast<std::size_t>(kind)];
    ++group.minute.submitted;
  }
  // `wait`: since it was due.
  void started(GroupId part, Duration wait) {
    OfGroup& group = of(part);
    ++group.counts.started;
    group.counts.queue_wait.record(std::max(wait, Duration{}));
    ++group.minute.started;
  }
  void ended(const WaitingJob& job, const LogEntry& end) {
    OfGroup& group = of(job.group);
    ++group.counts.ended[static_cast<std::size_t>(end.state)];
    ++group.minute.ended;
    const bool has_failed = end.state == LogState::kFailed || end.state == LogState::kTimedOut ||
                            end.state == LogState::kLost;
    if (has_failed) ++group.minute.failed;
    if (end.attempt == 0 || end.started_at == WallTime{}) return;
    const Duration late = std::max(end.started_at - due_time(job), Duration{});
    group.counts.lateness.record(late);
    group.minute.lateness.record(late);
    // When a lost run ended is not known.
    if (end.state != LogState::kLost)
      group.counts.run_time.record(std::max(end.ended_at - end.started_at, Duration{}));
  }

  // In the order of their first events, which does not change.
  const std::deque<OfGroup>& all() const { return all_; }
  // What happened since the last call, by partition.
  std::unordered_map<GroupId, GroupMinute> take_minute() {
    std::unordered_map<GroupId, GroupMinute> minutes;
    for (OfGroup& group : all_) {
      if (group.minute.is_empty()) continue;
      minutes.emplace(group.part, group.minute);
      group.minute = {};
    }
    return minutes;
  }

 private:
  OfGroup& of(GroupId part) {
    OfGroup*& group = by_part_[part];
    if (group == nullptr) group = &all_.emplace_back(OfGroup{.part = part});
    return *group;
  }

  std::deque<OfGroup> all_{};
  std::unordered_map<GroupId, OfGroup*> by_part_{};
};

}  // namespace carillon::jobtracker
