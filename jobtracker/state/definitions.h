#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "jobtracker/store/batcher.h"

namespace carillon::jobtracker {

// What is written when a job is submitted that has a schedule.
struct NewDefinition {
  AddDefinition operation{};
  JobSpec spec{};
  CompiledSchedule schedule;
};

// A client's numbered request that a change is made for.
struct ForRequest {
  NumberedRequest number{};
  OnRequest on_request{};
};

// Of a job that waits, and is being changed.
struct TimeHold {
  JobId id{};
  std::int64_t look = 0;  // the last one at what waits, as the clock was set back, that had begun
};

// A script as it is kept, from that number on.
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

// Changes of definitions, for those who act on them.
// Thread: the loop.
class Definitions {
 public:
  virtual ~Definitions() = default;
  virtual Result<NewDefinition> plan(JobSpec spec, GroupId group, std::string task_id,
                                     bool keyed) = 0;
  // After its operation was committed.
  virtual void added(NewDefinition added) = 0;
  // These answer the request in any case: kConflict where the state does not allow it.
  virtual void suspend(DefinitionId id, ForRequest request) = 0;
  virtual void resume(DefinitionId id, ForRequest request) = 0;
  // Gives a definition that runs a script another one.
  virtual void set_script(DefinitionId id, Run script, ForRequest request) = 0;
  // `message`: the removal is logged with it. The row is of the fires that are due and have not
  // run; with none it is of the first that does not come. Its runs are cancelled with it.
  virtual void remove(DefinitionId id, std::string message, ForRequest request) = 0;
  // For those who remove it in a transaction of their own. `then` comes when no change of it is
  // under way, or when it is gone.
  virtual void when_free(DefinitionId id, std::function<void()> then) = 0;
  // Its runs go on.
  // Requires: it is there, and no change of it is under way. None begins before end_removal().
  // Fires from `replaced_at` on are those of what replaces it.
  virtual ChangeDefinition begin_removal(DefinitionId id, std::string message,
                                         WallTime replaced_at) = 0;
  // No outcome: nothing was done.
  virtual void end_removal(const ChangeDefinition& operation, const Outcome* outcome) = 0;
  // An occurrence off the schedule's grid, due now and ahead of everything in its group.
  virtual WaitingJob triggered(const ActiveDefinition& definition, std::string spec,
                               bool forced) = 0;
  // Such a one was stored: it is offered, after what is changed of its definition meanwhile.
  virtual void offer_triggered(WaitingJob run) = 0;
  // A run of it that waited to be tried again has ended, on disk. It may be gone by then.
  virtual void retry_ended(const WaitingJob& run) = 0;
  // Nothing leaves the delayed table for its group's between these, so that a job that is just
  // being suspended is not promoted.
  virtual void hold_promotion() = 0;
  virtual void release_promotion() = 0;
  // One-shot jobs due later than this stand in the delayed table.
  virtual WallTime horizon_end() const = 0;
  // Between these one that waits is being changed: where the clock was set back, its time is moved
  // with it only if it was not.
  virtual TimeHold hold_time(JobId id) = 0;
  virtual void release_time(const TimeHold& hold, bool was_changed) = 0;
};

}  // namespace carillon::jobtracker
