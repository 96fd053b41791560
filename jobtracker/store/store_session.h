#pragma once

#include <cstdint>
#include <string>

#include "carillon/ids.h"

namespace carillon::jobtracker {

// Who opens a store: one life of a job tracker, and which of its connections this one is.
struct StoreSession {
  SessionId session{};    // drawn once a life; never 0
  std::int32_t lane = 0;  // counts the session's store threads
  std::string name{};     // for people
};

}  // namespace carillon::jobtracker
