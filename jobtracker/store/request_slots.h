#pragma once

#include <cstdint>

#include "jobtracker/store/rows.h"

// Small rules that every store keeps.
namespace carillon::jobtracker {

// So many answers of a client are remembered: as many as it may have unanswered requests. An
// answer stands in the slot of its sequence, until a later one takes its place.
inline constexpr std::int64_t kAnswersKept = 16;
constexpr std::int64_t slot_of(std::int64_t sequence) { return sequence % kAnswersKept; }

// A job that keeps its task id in lts_task_id. An occurrence's id is held by its definition.
inline bool holds_key(const WaitingJob& job) { return job.keyed && !job.definition; }

}  // namespace carillon::jobtracker
