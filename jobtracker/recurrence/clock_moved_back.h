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
#include "shared/runtime/task_runner.h"

namespace carillon::jobtracker {

// Adjusts waiting jobs after the clock moved back. A job whose time came from the clock must not
// wait longer than before: immediate jobs, triggered runs, children and retries in the groups'
// tables move back with the clock, a thousand at a time. `at` jobs and fires of schedules keep
// their times. It starts when pending operations are stored; times that are assigned later stay.
//
// Thread: the loop.
class ClockMovedBack {
 public:
  ClockMovedBack(Catalog& catalog, ExecutingTable& executing, Batcher& batcher, JobSink& sink,
                 SchedulingClock& clock, TaskRunner& task_runner, const Logger& log);

  // The clock moved back by `by` just now, or while the group had no owner. Jobs later than
  // `through` are in no group's table.
  void begin(std::vector<GroupId> groups, Duration by, WallTime through);
  // The job's time already comes from the new clock.
  void keep(JobId id);
  // The job is being changed: it is checked after the change.
  TimeHold hold_time(JobId id);
  void release_time(const TimeHold& hold, bool was_changed);
  void stop() { is_stopped_ = true; }
  Sizes sizes() const;

 private:
  struct Look {
    std::vector<GroupId> groups{};  // remaining groups, last first
    Duration by{};
    WallTime to{};  // the new time
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
  TaskRunner& task_runner_;
  const Logger& log_;
  std::deque<Look> looks_;      // the first is in progress
  std::int64_t last_look_ = 0;  // number of the last look
  std::map<JobId, int> held_;   // number of changes in progress
  std::size_t lines_left_ = 0;  // operations to wait for
  bool is_under_way_ = false;
  bool is_stopped_ = false;
};

}  // namespace carillon::jobtracker
