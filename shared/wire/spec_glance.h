#pragma once

#include <string_view>

#include "carillon/job_spec.h"

namespace carillon::wire {

// The parts of a job that a job tracker needs before it hands it out, without decoding all of it.
struct SpecGlance {
  RunKind kind = RunKind::kHandler;
  bool is_pushed = false;
  Duration start_deadline{};  // 0: none

  bool operator==(const SpecGlance&) const = default;
};

inline SpecGlance glance_of(const JobSpec& spec) {
  return {.kind = spec.run.kind,
          .is_pushed = spec.dispatch == Dispatch::kPush,
          .start_deadline = spec.start_deadline};
}

// Reads as much as possible of invalid bytes; decoding them later reports the error.
SpecGlance glance_at_spec(std::string_view bytes);

}  // namespace carillon::wire
