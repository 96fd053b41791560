#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "jobtracker/recurrence/changes.h"
#include "jobtracker/recurrence/occurrence_ids.h"
#include "jobtracker/recurrence/promotion.h"
#include "jobtracker/recurrence/recurrence_config.h"
#include "shared/runtime/task_runner.h"

namespace carillon::jobtracker {

// Definitions with several occurrences at a time have those of the next ten minutes in their
// group's table. A pass every nine minutes adds the next ones; a new or changed definition gets its
// occurrences immediately. next_fire is the first fire without an occurrence. A repeated generation
// conflicts with generated_through, and does nothing.
//
// Rows are written ten of a definition at a time. The definition whose rows end first is next, so
// that all definitions advance together.
//
// A pass also checks definitions with one occurrence at a time: if it is missing although it is
// due, the next one is created, so that no error ends a schedule. It also removes finished
// definitions.
//
// Thread: the loop.
class Generation {
 public:
  // More occurrences of it are in the table.
  using OnGenerated = std::function<void(ActiveDefinition&)>;

  Generation(RecurrenceConfig config, Plans& plans, Changes& changes, Promotion& promotion,
             Catalog& catalog, Batcher& batcher, IdSource& ids, SchedulingClock& clock,
             TaskRunner& task_runner, const Logger& log, OnGenerated on_generated);

  // Starts with definitions whose rows end soon. The first pass follows a second later.
  void start(const StartAnswer& found);
  void stop() { is_stopped_ = true; }
  // Generates up to the horizon of the new time immediately.
  void clock_was_set();
  // Later, when no change is in progress: generates its missing occurrences, or removes it if it is
  // finished.
  void generate_later(DefinitionId id);
  // An occurrence was stored ahead of its time. It counts until its time has come.
  void count_ahead(WallTime fire, std::int64_t rows = 1);
  // The same for all fires of a schedule after `after`, up to and including `through`.
  void count_ahead(CompiledSchedule& schedule, WallTime after, WallTime through);
  Sizes sizes() const;

 private:
  void generate_some();
  void generate(ActiveDefinition& definition);
  std::int64_t rows_ahead();
  void pass();
  void pass_within(Duration time);
  void pass_once();
  void pass_some(WallTime until, DefinitionId after);
  void make_up_for_lost(DefinitionId id, Duration age);

  const RecurrenceConfig config_;
  Plans& plans_;
  Changes& changes_;
  Promotion& promotion_;
  Catalog& catalog_;
  Batcher& batcher_;
  SchedulingClock& clock_;
  TaskRunner& task_runner_;
  const Logger& log_;
  const OnGenerated on_generated_;
  OccurrenceIds ids_;
  std::set<std::pair<WallTime, DefinitionId>> to_generate_;  // by the time when their rows end
  std::size_t rows_under_way_ = 0;                           // rows that are being stored
  bool generates_later_ = false;
  bool is_stopped_ = false;
  std::map<WallTime, std::int64_t> ahead_;  // number of rows, by the second in which they are due
  std::int64_t rows_ahead_ = 0;             // their sum; voided rows count until they are due
  TimerId pass_timer_ = 0;
  SteadyTime pass_at_{};
};

}  // namespace carillon::jobtracker
