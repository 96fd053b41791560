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

// Changes definitions: one change of each definition at a time, in request order; the next one sees
// the result. One transaction writes a change with its occurrences. After the commit it updates
// memory: the row, the new occurrences, and the removed ones.
//
// Thread: the loop.
class Changes {
 public:
  using Work = std::function<void(ActiveDefinition&)>;
  using Then = std::function<void(const ChangeDefinition&, const Outcome&)>;
  // An occurrence of a definition with several at a time was stored ahead of its time.
  using OnAhead = std::function<void(WallTime fire)>;

  Changes(Plans& plans, Catalog& catalog, ExecutingTable& executing, Batcher& batcher,
          JobSink& sink, FeedbackSink& feedback, RunStopper& stopper, SchedulingClock& clock,
          const Logger& log, OnAhead on_ahead);

  // Runs `work` when no change of the definition is in progress. Runs `on_gone` instead if the
  // definition was removed meanwhile. `only_adds`: see ActiveDefinition.
  void when_settled(DefinitionId id, Work work, std::function<void()> on_gone = {},
                    bool only_adds = false);
  // Requires: no change is in progress. `with` are written in the same transaction, before the
  // change. `then` runs afterwards, even if the change failed.
  void change(ActiveDefinition& definition, ChangeDefinition operation,
              std::vector<Operation> with = {}, Then then = {},
              std::optional<ForRequest> request = std::nullopt);

  // For callers that write a change in their own transaction and set is_changing: applies the
  // result of the store and ends the change.
  void apply(ActiveDefinition& definition, const ChangeDefinition& operation,
             const Outcome& outcome);
  void settled(ActiveDefinition& definition);

  // A triggered run was stored: offers it after the change in progress, which supersedes earlier
  // waiting runs.
  void offer_triggered(WaitingJob run);
  // Removes a finished schedule when none of its runs waits or executes; this frees its task id.
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
