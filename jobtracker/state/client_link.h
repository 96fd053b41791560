#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// The receiver of an answer.
struct Asker {
  std::string peer{};
  std::uint64_t correlation = 0;
};

// Sends answers to job clients. An answer to a disconnected client is dropped. Thread: the loop.
class ClientLink {
 public:
  virtual ~ClientLink() = default;
  // False: the client has disconnected, or does not read.
  virtual bool deliver(const Asker& asker, wire::Message message) = 0;
  void answer(const Asker& asker, wire::Message message) {
    (void)deliver(asker, std::move(message));  // the client asks again
  }
};

}  // namespace carillon::jobtracker
