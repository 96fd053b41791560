#pragma once

#include <cstdint>
#include <unordered_map>

#include "shared/wire/messages.h"
#include "tasktracker/attempt_hash.h"

namespace carillon::tasktracker {

// All jobs that a worker holds, from all job trackers; shared by its Fetchers.
//
// A job is held from its hand-out until its result was confirmed or it was returned.
//
// Thread: the loop.
struct Holdings {
  struct Job {
    bool is_finished = false;
    int bucket = 0;  // of its task id
  };
  std::unordered_map<wire::AttemptId, Job, AttemptHash> jobs{};
  int unfinished = 0;
  double mean_run_us = 0;  // 0: not measured
  int short_runs = 0;      // in a row
  // Counted over all job trackers, so that the later of two messages is known.
  std::int64_t registers = 0;
  std::int64_t pulls = 0;
};

}  // namespace carillon::tasktracker
