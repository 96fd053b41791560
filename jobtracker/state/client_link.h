#pragma once

#include <cstdint>
#include <string>

#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// Whom an answer goes to.
struct Asker {
  std::string peer{};
  std::uint64_t correlation = 0;
};

// Where answers to job clients go. One who has gone gets none: it asks again.
// Thread: the loop.
class ClientLink {
 public:
  virtual ~ClientLink() = default;
  virtual void answer(const Asker& asker, wire::Message message) = 0;
};

}  // namespace carillon::jobtracker
