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
  // Runs of so many tasks that failed in a row; 0: never isolate.
  std::int32_t after = 0;
  Duration rest = std::chrono::minutes{1};  // from one trial to the next
};

// Hands nothing to a task tracker on which everything fails, as a circuit breaker does. It is
// isolated when runs of so many different tasks have failed on it in a row, while one that began
// after that succeeded on another one of its group: so it is neither one job that is broken, nor
// something that all of them need. After a rest it is tried with one job, whatever becomes of that;
// a success makes it one like the others. Where no other one takes jobs it is handed them all the
// same.
//
// A task tracker that is away for less than kKept is known when it comes again. What is known of it
// goes with the session here: another job tracker, or the next session of this one, begins anew.
//
// Thread: the loop.
class Isolation {
 public:
  Isolation(IsolationConfig config, Workers& workers, const ExecutingTable& executing,
            SchedulingClock& clock, const Logger& log);

  void ran(const ExecutingJob& run, bool has_failed);
  // Whether it may be handed a job now.
  bool may_take(const Worker& worker) const;
  void claimed_for(const Worker& worker);
  bool is_isolated(SessionId session) const;
  Sizes sizes() const {
    return {{"streaks", streaks_.size()}, {"succeeded_from", succeeded_from_.size()}};
  }

 private:
  struct Streak {
    std::set<std::string> tasks{};  // as many as it takes
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
  std::unordered_map<SessionId, Streak> streaks_;  // of failures, up to now
  std::map<GroupId, WallTime> succeeded_from_;     // when the newest run that did was claimed
};

}  // namespace carillon::jobtracker
