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

inline constexpr WallTime kNever{};  // "none" in a row
inline constexpr Duration kTick{1};  // of the clock: what is one before a fire is after all others

// Of what is skipped for a run before it, which may not have begun either.
inline constexpr const char* kMissedForGood = "missed while no job tracker ran; not run later";
inline constexpr const char* kRunBefore = "the previous run was still waiting or running";

// One regular occurrence at a time: the next is made with the end of the last.
bool is_single(const ActiveDefinition& definition);
// It has a count, and as many of its fires have come to a run, or will.
bool is_exhausted(const ActiveDefinition& definition, std::int64_t fired);

// What a change of a definition consists of: its new row, the occurrences that come and go with it,
// and the rows of the log for fires that come to none. A plan changes nothing; Changes does.
//
// Two things hold in each: generated_through is the latest fire that has, or had, an occurrence,
// and each fire up to it has exactly one outcome, sooner or later. Whoever steps over fires writes
// one row for all of them.
//
// Thread: the loop.
class Plans {
 public:
  Plans(Catalog& catalog, ExecutingTable& executing, FeedbackSink& feedback, IdSource& ids,
        SchedulingClock& clock, const DownTime& down_time, const Promotion& promotion);

  // Nothing yet: the row is as it is.
  ChangeDefinition change_of(const ActiveDefinition& definition) const;

  // What follows the end of the single regular run, at `after`. `ran`: it counts as a run.
  ChangeDefinition next_cycle(ActiveDefinition& definition, WallTime after, bool ran);
  // What follows a run which never was one: another takes its place.
  ChangeDefinition uncounted(ActiveDefinition& definition);
  // The fires since the latest that was made, up to `until`, come to no occurrence: they get a row.
  void pass_over(ActiveDefinition& definition, ChangeDefinition& operation, WallTime until,
                 LogState state, std::string message);
  // The next regular occurrence of a single definition.
  void add_regular(const ActiveDefinition& definition, ChangeDefinition& operation, WallTime fire);

  // `state`: suspended, or in quarantine. Nothing of it fires, and the fires that wait go; in
  // quarantine what was triggered goes, too.
  ChangeDefinition suspension(ActiveDefinition& definition, DefinitionState state,
                              std::string message);
  // It fires again from now on; what has fired is not repeated, also where clocks were set.
  ChangeDefinition resumption(ActiveDefinition& definition);
  // It goes, with what waits. With nothing due the row of the log is of `fire`.
  ChangeDefinition removal(ActiveDefinition& definition, WallTime fire, std::string message);
  // The first fire that does not come if it goes; with none to come, now.
  WallTime first_called_off(ActiveDefinition& definition) const;

  WaitingJob occurrence(const Definition& row, int priority, WallTime trigger);
  WaitingJob occurrence(JobId id, const Definition& row, int priority, WallTime trigger) const;
  // Off the grid, due now, ahead of everything in its group.
  WaitingJob triggered(const ActiveDefinition& definition, std::string spec, bool forced);
  // A row for so many fires without an occurrence, or for the one whose `first` it is.
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
