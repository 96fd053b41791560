#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "jobtracker/recurrence/plans.h"
#include "jobtracker/state/definitions.h"
#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/run_stopper.h"
#include "jobtracker/store/batcher.h"

namespace carillon::jobtracker {

// Makes changes of definitions: one of each at a time, in the order in which they were asked for;
// the next one sees what came of the one before. A change is written in one transaction with its
// occurrences, and what the store has, the memory has after it: the row, the occurrences that are
// offered, those that went.
//
// Thread: the loop.
class Changes {
 public:
  using Work = std::function<void(ActiveDefinition&)>;
  using Then = std::function<void(const ChangeDefinition&, const Outcome&)>;
  // Of a definition that has several at a time one was stored, ahead of its time.
  using OnAhead = std::function<void(WallTime fire)>;

  Changes(Plans& plans, Catalog& catalog, ExecutingTable& executing, Batcher& batcher,
          JobSink& sink, FeedbackSink& feedback, RunStopper& stopper, SchedulingClock& clock,
          const Logger& log, OnAhead on_ahead);

  // Does `work` when no change of the definition is under way. `on_gone` comes instead if it was
  // removed meanwhile. `only_adds`: as the definition has it.
  void when_settled(DefinitionId id, Work work, std::function<void()> on_gone = {},
                    bool only_adds = false);
  // Requires: none is under way. `with` go into the same transaction, before the change; `then`
  // comes after it, also where it was not done.
  void change(ActiveDefinition& definition, ChangeDefinition operation,
              std::vector<Operation> with = {}, Then then = {},
              std::optional<ForRequest> request = std::nullopt);

  // For those who write a change in a transaction of their own, as they set is_changing: what the
  // store has done of it, and that it is over.
  void apply(ActiveDefinition& definition, const ChangeDefinition& operation,
             const Outcome& outcome);
  void settled(ActiveDefinition& definition);

  // A run off the grid was stored: it is offered after the change that is under way, which makes
  // void what waited before it.
  void offer_triggered(WaitingJob run);
  // A schedule that is over goes when nothing of it waits or runs any more, and its task id is free
  // again.
  void remove_if_over(DefinitionId id);

  Sizes sizes() const;

 private:
  struct Waiting {
    Work work{};
    std::function<void()> on_gone{};
    bool only_adds = false;
  };

  void go_on(DefinitionId id);
  void forget_removed(const std::vector<Operation>& operations);
  void forget_waiting(ActiveDefinition& definition, const ChangeDefinition& operation);
  void remove(ActiveDefinition& definition, bool leaves_spec);

  Plans& plans_;
  Catalog& catalog_;
  ExecutingTable& executing_;
  Batcher& batcher_;
  JobSink& sink_;
  FeedbackSink& feedback_;
  RunStopper& stopper_;
  SchedulingClock& clock_;
  const Logger& log_;
  const OnAhead on_ahead_;
  std::unordered_map<DefinitionId, std::vector<Waiting>> waiting_;
};

}  // namespace carillon::jobtracker
