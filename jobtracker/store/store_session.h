#pragma once

#include <cstdint>
#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

// Identifies the user of a store: one session of a job tracker, and one of its connections.
struct StoreSession {
  SessionId session{};          // random, unique per session; never 0
  std::int32_t connection = 0;  // numbers the session's store threads
  std::string name{};           // for texts
  Duration lease{};             // of its task trackers
};

}  // namespace carillon::jobtracker
