#pragma once

#include <cstdint>
#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

// Who opens a store: one life of a job tracker, and which of its connections this one is.
struct StoreSession {
  SessionId session{};    // drawn once a life; never 0
  std::int32_t lane = 0;  // counts the session's store threads
  std::string name{};     // for people
  Duration lease{};       // that its task trackers get
};

}  // namespace carillon::jobtracker
