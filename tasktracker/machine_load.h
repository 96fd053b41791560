#pragma once

#include <cstdint>
#include <string>

#include "carillon/result.h"

namespace carillon::tasktracker {

// How busy a machine is, as Linux counts it.
struct MachineLoad {
  std::int64_t cpu_busy = 0;     // ticks of all its processors since it was started
  std::int64_t cpu_all = 0;      // and those in which they were idle or waited for a disk
  std::int64_t memory_used = 0;  // bytes: all but what programs could have without swapping
  std::int64_t memory_all = 0;
};

// From the files stat and meminfo in that folder, whose form proc(5) describes. kUnavailable: they
// are not there, or say something else.
// Thread: any.
Result<MachineLoad> read_machine_load(const std::string& proc = "/proc");

}  // namespace carillon::tasktracker
