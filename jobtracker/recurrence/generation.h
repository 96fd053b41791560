#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "jobtracker/recurrence/changes.h"
#include "jobtracker/recurrence/occurrence_ids.h"
#include "jobtracker/recurrence/promotion.h"
#include "jobtracker/recurrence/recurrence_config.h"
#include "shared/runtime/executor.h"

namespace carillon::jobtracker {

// Definitions with several occurrences at a time have those of the next ten minutes in their
// group's table: a pass each nine minutes adds the next stretch, and a new or changed definition
// gets its own at once. next_fire is the first fire that has no occurrence yet; a repeat of a
// generation conflicts with generated_through, and does nothing.
//
// Rows are written ten of a definition at a time, and the definition whose rows end first comes
// first, so that none has much ahead while another has nothing.
//
// A pass also looks after those that have one occurrence at a time: where it should have run by
// now and there is none, the next is made, so that no accident ends a schedule; and what is over is
// removed.
//
// Thread: the loop.
class Generation {
 public:
  // More of it stands in the table.
  using OnGenerated = std::function<void(ActiveDefinition&)>;

  Generation(RecurrenceConfig config, Plans& plans, Changes& changes, Promotion& promotion,
             Catalog& catalog, Batcher& batcher, IdSource& ids, SchedulingClock& clock,
             Executor& executor, const Logger& log, OnGenerated on_generated);

  // Those whose rows end soon; the first pass follows a second later.
  void start(const StartAnswer& found);
  void stop() { is_stopped_ = true; }
  // Up to the horizon of the new time at once.
  void clock_was_set();
  // In its turn, when no change of it is under way: what it has to have, or its removal if it is
  // over.
  void generate_later(DefinitionId id);
  // A row of a definition with several at a time was stored. It counts until its time has come.
  void count_ahead(WallTime fire, std::int64_t rows = 1);
  // Likewise all of a schedule after the one time, up to and including the other.
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
  Executor& executor_;
  const Logger& log_;
  const OnGenerated on_generated_;
  OccurrenceIds ids_;
  std::set<std::pair<WallTime, DefinitionId>> to_generate_;  // by when their rows end
  std::size_t rows_under_way_ = 0;                           // on their way to the store
  bool generates_later_ = false;
  bool is_stopped_ = false;
  std::map<WallTime, std::int64_t> ahead_;  // rows, by the second that they are due in
  std::int64_t rows_ahead_ = 0;             // of these; those that were voided count until then
  TimerId pass_timer_ = 0;
  SteadyTime pass_at_{};
};

}  // namespace carillon::jobtracker
