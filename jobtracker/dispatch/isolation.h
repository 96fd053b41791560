#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "jobtracker/state/executing.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

struct IsolationConfig {
  // Failed tasks in a row that isolate a task tracker; 0: never.
  std::int32_t after = 0;
  Duration rest = std::chrono::minutes{1};  // between two trials
};

// A circuit breaker for task trackers on which all runs fail. A task tracker is isolated after runs
// of this many different tasks failed on it in a row, and a run that started later succeeded on
// another one of its group. So the cause is neither one broken job nor something that all task
// trackers depend on. After a rest it gets one job as a trial; a success ends the isolation. It
// gets jobs as usual while no other task tracker takes jobs.
//
// A task tracker that is away for less than kKept keeps its state. The state belongs to this
// session: the next session or another job tracker starts from zero.
//
// Thread: the loop.
class Isolation {
 public:
  Isolation(IsolationConfig config, Workers& workers, const ExecutingTable& executing,
            SchedulingClock& clock, const Logger& log);

  void ran(const ExecutingJob& run, bool has_failed);
  // Whether it may get a job now.
  bool may_take(const Worker& worker) const;
  void claimed_for(const Worker& worker);
  bool is_isolated(SessionId session) const;
  // By an operator.
  void isolate(Worker& worker);
  void end(Worker& worker);
  Sizes sizes() const {
    return {{"streaks", streaks_.size()}, {"succeeded_from", succeeded_from_.size()}};
  }

 private:
  struct Streak {
    std::set<std::string> tasks{};  // stops at the limit
    WallTime began_at{};
    SteadyTime failed_at{};
    SteadyTime tried_at{};
    bool is_isolated = false;
  };

  static constexpr Duration kKept = std::chrono::minutes{10};

  bool takes_jobs(const Worker& worker) const;
  bool has_another(const Worker& worker) const;

  const IsolationConfig config_;
  Workers& workers_;
  const ExecutingTable& executing_;
  SchedulingClock& clock_;
  const Logger& log_;
  std::unordered_map<SessionId, Streak> streaks_;  // current failures in a row
  std::map<GroupId, WallTime> succeeded_from_;     // claim time of the newest successful run
};

}  // namespace carillon::jobtracker
