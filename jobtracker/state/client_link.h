#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// The principal behind a request, for the audit.
struct Caller {
  std::string name{};
  std::string kind{};     // local, key, token, executor, anyone
  std::string address{};  // of its machine; empty: unknown

  auto operator<=>(const Caller&) const = default;
};

// The sender of a request, and the receiver of its answer.
struct Asker {
  enum class Origin {
    kClient,      // a peer of the transport
    kManagement,  // Management of this job tracker, which has no peer
  };

  std::string peer{};
  std::uint64_t correlation = 0;
  Origin origin = Origin::kClient;
  Caller caller{};

  auto operator<=>(const Asker&) const = default;
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
