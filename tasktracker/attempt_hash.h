#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "shared/wire/messages.h"

namespace carillon::tasktracker {

// For hash tables by attempt. Job ids are distinct already; a worker rarely holds two attempts of
// one job.
struct AttemptHash {
  std::size_t operator()(const wire::AttemptId& id) const noexcept {
    return std::hash<std::int64_t>{}(id.job_id.value * 31 + id.attempt);
  }
};

}  // namespace carillon::tasktracker
