#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "shared/base/principal.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// Who sent a request.
struct Caller {
  Principal principal{};
  std::string address{};  // of its machine; empty: unknown
  // Set if a job tracker passes the request on.
  std::optional<wire::OnBehalf> on_behalf{};
};

// The sender of a request, and the receiver of its answer.
struct Asker {
  enum class Origin {
    kClient,      // a peer of the transport
    kInternal,    // a connection within this process
    kManagement,  // Management of this job tracker, which has no peer
  };

  std::string peer{};
  std::uint64_t correlation = 0;
  Origin origin = Origin::kClient;
  std::shared_ptr<const Caller> caller{};  // null: access is not controlled
  std::string sender{};                    // the principal of its connection, as in net::Sender

  // Whether jobs of this node group exist for it.
  bool may_see(std::string_view group) const {
    return caller == nullptr || caller->principal.covers(group);
  }

  // Two requests are the same if they come from the same connection with the same correlation.
  std::strong_ordering operator<=>(const Asker& other) const {
    return std::tie(peer, correlation, origin) <=>
           std::tie(other.peer, other.correlation, other.origin);
  }
  bool operator==(const Asker& other) const { return (*this <=> other) == 0; }
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
