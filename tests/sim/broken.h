#pragma once

#include <functional>
#include <string>
#include <utility>

#include "shared/wire/messages.h"

namespace carillon::sim {

// Told of each promise that was not kept.
using Broken = std::function<void(std::string what)>;

// As broken promises name an attempt.
inline std::string text(const wire::AttemptId& id) {
  return "job " + std::to_string(id.job_id.value) + " attempt " + std::to_string(id.attempt);
}

// Says also who found it.
inline Broken by(const std::string& checker, Broken broken) {
  return [checker, broken = std::move(broken)](const std::string& what) {
    broken(checker + ": " + what);
  };
}

}  // namespace carillon::sim
