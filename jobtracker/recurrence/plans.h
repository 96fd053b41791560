#pragma once

#include <optional>
#include <string>

#include "jobtracker/recurrence/down_time.h"
#include "jobtracker/recurrence/promotion.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/feedback_sink.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/scheduling_clock.h"

namespace carillon::jobtracker {

inline constexpr WallTime kNever{};  // stored instead of "none"
inline constexpr Duration kTick{1};  // the clock's resolution: the smallest step between two times

// Reason of a fire skipped because of a previous run, which may not have started.
inline constexpr const char* kMissedForGood = "missed while no job tracker ran; not run later";
inline constexpr const char* kRunBefore = "the previous run was still waiting or running";

// It has one regular occurrence at a time: the next is created at the end of the last.
bool is_single(const ActiveDefinition& definition);
// It has a count, and that many fires have run or will run.
bool is_exhausted(const ActiveDefinition& definition, std::int64_t fired);

// Plans changes of a definition: the new row, the added and removed occurrences, and log rows for
// fires without one. A plan changes nothing; Changes executes it.
//
// Invariants: generated_through is the latest fire that has, or had, an occurrence. Each fire up to
// it gets exactly one outcome. Passing over several fires writes one row for all of them.
//
// Thread: the loop.
class Plans {
 public:
  Plans(Catalog& catalog, ExecutingTable& executing, FeedbackSink& feedback, IdSource& ids,
        SchedulingClock& clock, const DownTime& down_time, const Promotion& promotion);

  // An empty change: the row stays unchanged.
  ChangeDefinition change_of(const ActiveDefinition& definition) const;

  // After the end of the single regular run, at `after`. `ran`: it counts as a run.
  ChangeDefinition next_cycle(ActiveDefinition& definition, WallTime after, bool ran);
  // After a run that never started: another takes its place.
  ChangeDefinition uncounted(ActiveDefinition& definition);
  // The fires after generated_through, up to `until`, get no occurrence but one log row.
  void pass_over(ActiveDefinition& definition, ChangeDefinition& operation, WallTime until,
                 LogState state, std::string message);
  // The next regular occurrence of a single definition.
  void add_regular(const ActiveDefinition& definition, ChangeDefinition& operation, WallTime fire);

  // `state`: suspended or quarantined. It does not fire, and waiting fires are removed; in
  // quarantine triggered runs are removed too.
  ChangeDefinition suspension(ActiveDefinition& definition, DefinitionState state,
                              std::string message);
  // It fires from now on. Fires do not repeat, even if the clock was set.
  ChangeDefinition resumption(ActiveDefinition& definition);
  // Removes it with its waiting runs. If none is due, the log row is for `fire`.
  ChangeDefinition removal(ActiveDefinition& definition, WallTime fire, std::string message);
  // The first fire that does not happen after a removal; now, if there is none.
  WallTime first_called_off(ActiveDefinition& definition) const;

  WaitingJob occurrence(const Definition& row, int priority, WallTime trigger);
  WaitingJob occurrence(JobId id, const Definition& row, int priority, WallTime trigger) const;
  // A run outside the schedule, due now, ahead of all jobs of its group.
  WaitingJob triggered(const ActiveDefinition& definition, std::string spec, bool forced);
  // A log row for `count` fires without an occurrence, the first at `first`.
  LogEntry passed_over(const Definition& row, LogState state, WallTime first, std::int64_t count,
                       std::string message);

 private:
  void call_off(ActiveDefinition& definition, ChangeDefinition& operation, LogEntry log);
  bool has_regular_run(const ActiveDefinition& definition) const;

  Catalog& catalog_;
  ExecutingTable& executing_;
  FeedbackSink& feedback_;
  IdSource& ids_;
  SchedulingClock& clock_;
  const DownTime& down_time_;
  const Promotion& promotion_;
};

}  // namespace carillon::jobtracker
