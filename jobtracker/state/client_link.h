#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "shared/net/transport.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// The principal behind a request, for the audit.
struct Caller {
  std::string name{};
  std::string kind{};     // local, key, token, executor, anyone
  std::string address{};  // of its machine; empty: unknown
};

// The sender of a request, and the receiver of its answer.
struct Asker {
  std::string peer{};
  std::uint64_t correlation = 0;
  Caller caller{};
};

inline constexpr std::string_view kAnyone = "anyone";

Caller caller_of(const net::Sender& sender);
// For a request that arrives again.
net::Sender sender_of(const Asker& asker);

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
