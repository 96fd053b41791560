#pragma once

#include <cstdint>
#include <string>

#include "carillon/result.h"

namespace carillon::tasktracker {

// The load of a machine, as Linux reports it.
struct MachineLoad {
  std::int64_t cpu_busy = 0;     // busy ticks of all processors since the start
  std::int64_t cpu_all = 0;      // all ticks, including idle ones and waits for a disk
  std::int64_t memory_used = 0;  // bytes: all memory that programs could not get without swapping
  std::int64_t memory_all = 0;
};

// Reads the files stat and meminfo in this folder; proc(5) describes them. Error: kUnavailable if
// they are missing or invalid. Thread: any.
Result<MachineLoad> read_machine_load(const std::string& proc = "/proc");

}  // namespace carillon::tasktracker
