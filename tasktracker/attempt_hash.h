#pragma once

#include <cstddef>

#include "shared/wire/messages.h"

namespace carillon::tasktracker {

// For hash tables by attempt. Job ids are unique, and a worker rarely holds two attempts of a job.
struct AttemptHash {
  std::size_t operator()(const wire::AttemptId& id) const noexcept {
    return static_cast<std::size_t>(id.job_id.value) * 31 + static_cast<std::size_t>(id.attempt);
  }
};

}  // namespace carillon::tasktracker
