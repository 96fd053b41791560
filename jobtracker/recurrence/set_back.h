#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "jobtracker/state/definitions.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"
#include "shared/runtime/executor.h"

namespace carillon::jobtracker {

// When the clock was set back, what waits for a time that was read off it, and not named by a
// person or a schedule, is not to wait for longer than it would have: jobs for now, triggered runs,
// children and retries in the groups' tables are moved back with the clock, a thousand at a time.
// `at` jobs and fires of schedules keep their times. It begins when what was on its way to the
// store by then is there; and what is given its time since stays.
//
// Thread: the loop.
class SetBack {
 public:
  SetBack(Catalog& catalog, ExecutingTable& executing, Batcher& batcher, JobSink& sink,
          SchedulingClock& clock, Executor& executor, const Logger& log);

  // It was set back by so much just now, or while no job tracker looked after the group; what is
  // later than `through` stands in no group's table.
  void begin(std::vector<GroupId> groups, Duration by, WallTime through);
  // Its time is read off the clock as it is by now.
  void keep(JobId id);
  // Somebody is changing it: it is looked at when that is done, or was not.
  TimeHold hold_time(JobId id);
  void release_time(const TimeHold& hold, bool was_changed);
  void stop() { is_stopped_ = true; }
  Sizes sizes() const;

 private:
  struct Look {
    std::vector<GroupId> groups{};  // that are left, the last one first
    Duration by{};
    WallTime to{};  // the time that it was set to
    WallTime through{};
    DueKey after{};
    bool has_begun = false;
    std::int64_t number = 0;
    std::set<JobId> kept{};
  };

  void look();
  void begin_when_all_is_there();
  void look_again(const Error& why);
  void move(std::vector<WaitingJob> jobs);
  void was_moved(std::vector<Operation>& moves, const std::vector<Outcome>& outcomes,
                 const Error* refused, bool are_looked_at_again);
  void go_on(std::optional<DueKey> last);
  void hold(const WaitingJob& job);

  Catalog& catalog_;
  ExecutingTable& executing_;
  Batcher& batcher_;
  JobSink& sink_;
  SchedulingClock& clock_;
  Executor& executor_;
  const Logger& log_;
  std::deque<Look> looks_;      // the first is under way
  std::int64_t last_look_ = 0;  // its number
  std::map<JobId, int> held_;   // how many are changing it
  std::size_t lines_left_ = 0;  // to the store, of those that are waited for
  bool is_under_way_ = false;
  bool is_stopped_ = false;
};

}  // namespace carillon::jobtracker
