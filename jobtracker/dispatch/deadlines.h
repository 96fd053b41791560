#pragma once

#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/gate.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"
#include "shared/runtime/executor.h"

namespace carillon::jobtracker {

struct DeadlinesConfig {
  std::size_t capacity = 100'000;  // jobs in memory; more are kept on time and take more memory
  // Rows at a time, and the wait between, when a table is gone through: about 50 000 a second, so
  // that nothing else waits for it.
  std::int64_t rows = 1'000;
  Duration pause = std::chrono::milliseconds{20};
  std::int64_t bytes = 8 * 1024 * 1024;  // at a time; rows with large payloads are fewer
};

// Makes jobs end that wait beyond their start deadline, or were missed, although no thread comes
// free for them.
//
// Knows of every job that was offered, and goes once through each group's table when that is
// opened. Holds the soonest deadlines up to its capacity; if there were more, it holds none beyond
// the soonest of those that it let go, and the tables are gone through again when few are left.
// What it knows may be out of date: at its deadline a job is looked up, and ends if it still waits
// and was never tried.
//
// Thread: the loop.
class Deadlines {
 public:
  Deadlines(DeadlinesConfig config, Catalog& catalog, ExecutingTable& executing, Batcher& batcher,
            Questions& questions, SchedulingClock& clock, Executor& executor, Gate& gate,
            const Logger& log);

  void open_group(GroupId group);
  // A row that is in its group's table.
  void offer(const WaitingJob& job, const wire::SpecGlance& glance);
  // From when on it may not begin any more, wherever its row stands. Nothing: it always may.
  std::optional<WallTime> end_of(const WaitingJob& job, const wire::SpecGlance& glance) const;
  // The row is about to change or to leave the table.
  void forget(JobId id);
  // The time was set.
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
  Executor& executor_;
  Gate& gate_;
  const Logger& log_;
  std::set<std::pair<WallTime, JobId>> order_;
  std::unordered_map<JobId, Place> places_;
  std::optional<WallTime> bound_{};  // from there on only the tables know them all
  std::set<JobId> looked_up_;        // and not answered yet
  TimerId timer_ = 0;
  WallTime timer_at_{};
  std::set<GroupId> groups_;
  std::deque<GroupId> to_go_through_;
  std::optional<HandOutKey> gone_through_;  // of the first of them
  std::int64_t rows_at_once_ = 64;          // follows how large they turn out to be
  bool is_going_through_ = false;
};

}  // namespace carillon::jobtracker
