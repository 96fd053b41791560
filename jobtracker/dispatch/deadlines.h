#pragma once

#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobtracker/state/admission_policy.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"
#include "shared/runtime/task_runner.h"

namespace carillon::jobtracker {

struct DeadlinesConfig {
  std::size_t capacity = 100'000;  // jobs in memory; more are ended in time and need more memory
  // Rows per read and pause between reads during a table scan: about 50 000 rows a second, so that
  // other work does not wait.
  std::int64_t rows = 1'000;
  Duration pause = std::chrono::milliseconds{20};
  std::int64_t bytes = 8 * 1024 * 1024;  // per read; fewer rows if their payloads are large
};

// Ends waiting jobs whose start deadline has passed, and missed ones, even when no thread is free
// for them.
//
// It sees each offered job, and scans each group's table once when the group is opened. It holds
// the earliest deadlines up to its capacity. If there are more, it holds none later than the
// earliest one that it dropped, and scans the tables again when few are left. Its data may be
// outdated: at its deadline a job is read again, and ends only if it still waits and was never
// tried.
//
// Thread: the loop.
class Deadlines {
 public:
  Deadlines(DeadlinesConfig config, Catalog& catalog, ExecutingTable& executing, Batcher& batcher,
            Questions& questions, SchedulingClock& clock, TaskRunner& task_runner,
            AdmissionPolicy& admission, const Logger& log);

  void open_group(GroupId group);
  // A row in its group's table.
  void offer(const WaitingJob& job, const wire::SpecGlance& glance);
  // Latest start of the job, wherever its row is. None: no limit.
  std::optional<WallTime> end_of(const WaitingJob& job, const wire::SpecGlance& glance) const;
  // The row is about to change or to be deleted.
  void forget(JobId id);
  // The clock was set.
  void clock_was_set();

  std::size_t size() const { return places_.size(); }
  Sizes sizes() const {
    return {{"order", order_.size()},
            {"places", places_.size()},
            {"looked_up", looked_up_.size()},
            {"groups", groups_.size()},
            {"to_go_through", to_go_through_.size()}};
  }

 private:
  struct Place {
    WallTime at{};
    GroupId group{};
  };

  void keep(JobId id, const Place& place);
  void drop(JobId id);
  void look_at_due();
  void take_found(JobId id, const Place& place, Result<ReadAnswer> answer);
  void go_through();
  bool take_page(const ListWaiting& question, const std::vector<WaitingJob>& jobs);
  void refill_if_low();
  void set_timer();

  DeadlinesConfig config_;
  Catalog& catalog_;
  ExecutingTable& executing_;
  Batcher& batcher_;
  Questions& questions_;
  SchedulingClock& clock_;
  TaskRunner& task_runner_;
  AdmissionPolicy& admission_;
  const Logger& log_;
  std::set<std::pair<WallTime, JobId>> order_;
  std::unordered_map<JobId, Place> places_;
  std::optional<WallTime> bound_{};  // later deadlines are only in the tables
  std::set<JobId> looked_up_;        // reads in progress
  TimerId timer_ = 0;
  WallTime timer_at_{};
  std::set<GroupId> groups_;
  std::deque<GroupId> to_go_through_;
  std::optional<HandOutKey> gone_through_;  // position in the first of them
  std::int64_t rows_at_once_ = 64;          // adapts to the size of the rows
  bool is_going_through_ = false;
};

}  // namespace carillon::jobtracker
