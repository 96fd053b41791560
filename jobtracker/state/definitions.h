#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "jobtracker/store/batcher.h"

namespace carillon::jobtracker {

// The rows of a new definition.
struct NewDefinition {
  AddDefinition operation{};
  JobSpec spec{};
  CompiledSchedule schedule;
};

// A client's numbered request for a change.
struct ForRequest {
  NumberedRequest number{};
  OnRequest on_request{};
};

// Holds the time of a waiting job during a change.
struct TimeHold {
  JobId id{};
  std::int64_t look = 0;  // the last look of ClockMovedBack that had started
};

// A script as a stored version with this number.
inline ScriptVersion version_of(const Run& run, std::int64_t number) {
  return {.version = number,
          .language = run.script_language,
          .source = run.script_source,
          .remark = run.script_remark};
}
inline ScriptVersion version_of(const Run& run, WallTime saved) {
  const auto number =
      std::chrono::duration_cast<std::chrono::milliseconds>(saved.time_since_epoch());
  return version_of(run, number.count());
}

// Changes of definitions, for the intake. Thread: the loop.
class Definitions {
 public:
  virtual ~Definitions() = default;
  virtual Result<NewDefinition> plan(JobSpec spec, GroupId group, std::string task_id,
                                     bool keyed) = 0;
  // Its operation was committed.
  virtual void added(NewDefinition added) = 0;
  // These answer the request in any case: kConflict if the state does not allow the change.
  virtual void suspend(DefinitionId id, ForRequest request) = 0;
  virtual void resume(DefinitionId id, ForRequest request) = 0;
  // Replaces the script of a definition that runs a script.
  virtual void set_script(DefinitionId id, Run script, ForRequest request) = 0;
  // Changes a part of its spec that neither its schedule nor its runs depend on.
  virtual void change_spec(DefinitionId id, std::function<void(JobSpec&)> edit,
                           ForRequest request) = 0;
  // `message` is logged. The log row is for due fires that have not run; without any, for the first
  // fire that does not happen. Its runs are cancelled in the same transaction.
  virtual void remove(DefinitionId id, std::string message, ForRequest request) = 0;
  // For callers that remove it in their own transaction: calls `then` when no change is in
  // progress, or it was removed.
  virtual void when_free(DefinitionId id, std::function<void()> then) = 0;
  // Plans a removal; its runs continue. Requires: it exists, and no change is in progress. No run
  // starts before end_removal(). Fires from `replaced_at` on belong to the replacement.
  virtual ChangeDefinition begin_removal(DefinitionId id, std::string message,
                                         WallTime replaced_at) = 0;
  // No outcome: nothing was changed.
  virtual void end_removal(const ChangeDefinition& operation, const Outcome* outcome) = 0;
  // A run outside the schedule, due now and ahead of all jobs of its group.
  virtual WaitingJob triggered(const ActiveDefinition& definition, std::string spec,
                               bool forced) = 0;
  // A triggered run was stored: offers it, after pending changes of its definition.
  virtual void offer_triggered(WaitingJob run) = 0;
  // A waiting retry has ended, on disk. The definition may be removed by then.
  virtual void retry_ended(const WaitingJob& run) = 0;
  // Between these calls no job moves from the delayed table, so that a job that is being suspended
  // is not promoted.
  virtual void hold_promotion() = 0;
  virtual void release_promotion() = 0;
  // One-shot jobs due later than this are in the delayed table.
  virtual WallTime horizon_end() const = 0;
  // Between these calls a waiting job is being changed. If the clock moved back, its time moves
  // only if the change does not set it.
  virtual TimeHold hold_time(JobId id) = 0;
  virtual void release_time(const TimeHold& hold, bool was_changed) = 0;
};

}  // namespace carillon::jobtracker
