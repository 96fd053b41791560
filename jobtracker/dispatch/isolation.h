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
  // Runs of so many tasks that failed in a row; 0: none is isolated.
  std::int32_t after = 0;
  Duration rest = std::chrono::minutes{1};  // from the last failure to a trial
};

// Hands nothing to a task tracker on which everything fails, as a circuit breaker does. It is
// isolated when runs of so many different tasks have failed on it in a row, while another one of
// its group had a success: so it is neither one job that is broken, nor something that all of them
// need. After a rest it is tried with one job: a success makes it one like the others, a failure is
// another rest. The last of its group is never isolated.
//
// What is known of it goes with its session here: another job tracker, or the next session of this
// one, begins anew.
//
// Thread: the loop.
class Isolation {
 public:
  Isolation(IsolationConfig config, Workers& workers, const ExecutingTable& executing,
            SchedulingClock& clock, const Logger& log);

  void ran(const ExecutingJob& run, bool has_failed);
  // Whether it may be handed a job now.
  bool may_take(const Worker& worker) const;
  Sizes sizes() const {
    return {{"streaks", streaks_.size()}, {"succeeded_at", succeeded_at_.size()}};
  }

 private:
  struct Streak {
    std::set<std::string> tasks{};  // as many as it takes
    SteadyTime began_at{};
    SteadyTime failed_at{};
  };

  bool has_another(const Worker& worker) const;

  const IsolationConfig config_;
  Workers& workers_;
  const ExecutingTable& executing_;
  SchedulingClock& clock_;
  const Logger& log_;
  std::unordered_map<SessionId, Streak> streaks_;  // of failures, up to now
  std::map<GroupId, SteadyTime> succeeded_at_;     // the last run that did
};

}  // namespace carillon::jobtracker
