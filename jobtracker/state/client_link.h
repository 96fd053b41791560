#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// Whom an answer goes to.
struct Asker {
  std::string peer{};
  std::uint64_t correlation = 0;
};

// Where answers to job clients go. One who has gone gets none.
// Thread: the loop.
class ClientLink {
 public:
  virtual ~ClientLink() = default;
  // False: it has gone, or does not read.
  virtual bool deliver(const Asker& asker, wire::Message message) = 0;
  void answer(const Asker& asker, wire::Message message) {
    (void)deliver(asker, std::move(message));  // It asks again.
  }
};

}  // namespace carillon::jobtracker
