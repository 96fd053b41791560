#pragma once

#include <cstdint>

#include "carillon/result.h"
#include "jobtracker/store/batch.h"

// Small rules that all stores share.
namespace carillon::jobtracker {

// Number of stored answers of a client: the most unanswered requests that it may have. An answer
// occupies the slot of its sequence until a later one replaces it.
inline constexpr std::int64_t kAnswersKept = 16;
constexpr std::int64_t slot_of(std::int64_t sequence) { return sequence % kAnswersKept; }

// A job that holds its task id in lts_task_id. The task id of an occurrence is held by its
// definition.
inline bool holds_key(const WaitingJob& job) { return job.keyed && !job.definition; }

// The log row for the `number`th run, from 1, that is voided with its definition's occurrences.
inline LogEntry entry_of_run(const LogEntry& voided, std::int64_t number, JobId job,
                             WallTime trigger_time) {
  LogEntry entry = voided;
  entry.id += number * kIdStep;
  entry.job_id = job;
  entry.trigger_time = trigger_time;
  entry.count = 1;
  return entry;
}
inline Status check_voided_runs(DefinitionId definition, std::int64_t runs) {
  if (runs <= kVoidedRunsMax) return {};
  return Error{ErrorCode::kInvalidArgument,
               "definition " + std::to_string(definition.value) + " has " + std::to_string(runs) +
                   " waiting runs, at most " + std::to_string(kVoidedRunsMax) +
                   " can be cancelled at once"};
}

}  // namespace carillon::jobtracker
