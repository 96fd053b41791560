#pragma once

#include <cstdint>

#include "shared/wire/messages.h"

namespace carillon::tasktracker {

inline wire::AttemptId id(std::int64_t job, int attempt = 1) { return {JobId{job}, attempt}; }

}  // namespace carillon::tasktracker
