#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "jobtracker/recurrence/changes.h"
#include "jobtracker/recurrence/down_time.h"
#include "jobtracker/recurrence/promotion.h"
#include "shared/runtime/task_runner.h"

namespace carillon::jobtracker {

// Handles fires that were due while no job tracker ran. After a start, each definition that may
// have missed fires is checked: its occurrences are read, and further fires are counted along its
// schedule. Then one transaction schedules as many of the newest as the misfire policy allows, in
// order, and writes one log row per range of the others. The schedule continues after them.
//
// With one run at a time, the missed fires are known only when the run that was in progress has
// ended. Fires up to its end, by the clock of its task tracker, are passed over as usual; those
// after it were missed. If the job tracker starts again before that end is reported, only the last
// down time counts.
//
// Until then no run of the definition starts: due jobs are blocked. A crash leaves no trace: the
// next session does the same check.
//
// Thread: the loop.
class MissedFires {
 public:
  // The missed fires of a definition have outcomes.
  using OnKnown = std::function<void(ActiveDefinition&)>;

  MissedFires(const DownTime& down_time, Plans& plans, Changes& changes, Promotion& promotion,
              Catalog& catalog, Batcher& batcher, JobSink& sink, SchedulingClock& clock,
              TaskRunner& task_runner, const Logger& log, OnKnown on_known);

  // Before start(): adds a definition to check, if it may have missed fires.
  void add(ActiveDefinition& definition);
  void start();
  void stop();
  // For a definition with one run at a time, whose run has ended: whether fires after its end were
  // missed. If so, the definition is checked.
  bool are_after(ActiveDefinition& definition, WallTime ended) const;
  // If no fire after its end was missed: the time until which fires are passed over. `heard`: when
  // the end was reported. A fire in a down time that was not missed is late.
  WallTime passed_over_until(const ActiveDefinition& definition, WallTime heard,
                             WallTime ended) const;
  void look_after(ActiveDefinition& definition, WallTime ended);
  bool are_all_known() const { return recovering_.empty(); }
  Sizes sizes() const;

 private:
  struct Chosen;
  struct Missed;
  // Numbers for the next log line.
  struct Tally {
    std::int64_t jobs = 0;
    std::int64_t fires = 0;
    std::int64_t runs = 0;
  };

  void look_later_at(ActiveDefinition& definition);
  WallTime passed_over_until(const ActiveDefinition& definition, WallTime ended) const;
  void look_at_next();
  void read_rows(DefinitionId id, JobId before);
  bool may_be_missed(const ActiveDefinition& definition, const WaitingJob& job) const;
  void look_at(DefinitionId id, const std::vector<WaitingJob>& waiting);
  void leap_to_newest(ActiveDefinition& definition, Missed& missed);
  void count(const std::shared_ptr<Missed>& missed);
  void settle(ActiveDefinition& definition, Missed& missed);
  void say_soon(const Definition& row, std::int64_t fires, std::int64_t runs);
  void say();
  void go_on_after(ActiveDefinition& definition, ChangeDefinition& operation, bool has_regular,
                   WallTime until);
  void known(DefinitionId id, const std::set<JobId>& gone);
  void end(DefinitionId id);

  const DownTime& down_time_;
  Plans& plans_;
  Changes& changes_;
  Promotion& promotion_;
  Catalog& catalog_;
  Batcher& batcher_;
  JobSink& sink_;
  SchedulingClock& clock_;
  TaskRunner& task_runner_;
  const Logger& log_;
  const OnKnown on_known_;
  bool is_stopped_ = false;
  std::optional<Tally> to_say_{};
  std::vector<DefinitionId> to_look_at_;
  std::map<DefinitionId, WallTime> ended_;                // end of a run since the start
  std::set<DefinitionId> recovering_;                     // these, and those in progress
  std::map<DefinitionId, std::vector<WaitingJob>> rows_;  // rows that were read so far
};

}  // namespace carillon::jobtracker
