#pragma once

#include <string_view>

#include "carillon/job_spec.h"

namespace carillon::wire {

// What a job tracker must know of a job before it hands it out, without decoding all of it.
struct SpecGlance {
  RunKind kind = RunKind::kHandler;
  Duration start_deadline{};  // 0: none

  bool operator==(const SpecGlance&) const = default;
};

// Of bytes that are no JobSpec it sees what it can; whoever decodes them says what is wrong.
SpecGlance glance_at_spec(std::string_view bytes);

}  // namespace carillon::wire
