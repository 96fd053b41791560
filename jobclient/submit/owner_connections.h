#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/sizes.h"
#include "shared/net/transport.h"
#include "shared/wire/messages.h"

namespace carillon {

// The part of a node group of so many that a task id is of, by a name that no group has.
std::string part_subject(const std::string& group, std::int32_t parts, const std::string& task_id);

// Connections with the job trackers that were named as those who look after something, beside the
// one that everything else goes over; and who looks after what, as far as it was said.
//
// A connection that is lost, or not connected in time, is closed, and what was said of its job
// tracker is forgotten: whoever had sent something over it asks again where it asked first.
//
// Thread: the loop.
class OwnerConnections {
 public:
  using MakeTransport =
      std::function<Result<std::unique_ptr<net::ClientTransport>>(const std::string& address)>;

  struct Callbacks {
    std::function<void(const std::string& address, std::string_view frame)> on_frame{};
    std::function<void(const std::string& address)> on_connected{};
    // From close_lost() only.
    std::function<void(const std::string& address, const std::string& reason)> on_lost{};
  };

  OwnerConnections(MakeTransport make_transport, Duration connect_wait, Callbacks callbacks);
  ~OwnerConnections();
  OwnerConnections(const OwnerConnections&) = delete;
  OwnerConnections& operator=(const OwnerConnections&) = delete;

  // There is a connection to it from now on. kLimit: there are too many.
  Status open(const std::string& address, SteadyTime now);
  bool is_connected(const std::string& address) const;
  Status send(const std::string& address, std::string frame);
  // When anything was heard from it; not at all: the epoch.
  SteadyTime heard_at(const std::string& address) const;
  void heard(const std::string& address, SteadyTime now);

  // To be closed by the next close_lost().
  void lose(const std::string& address, const std::string& reason);
  void close_lost(SteadyTime now);
  // When to call that, if nothing happens before.
  std::optional<SteadyTime> next_due() const;

  // The node group, the part of it, or the client group that a message is about; empty: several, or
  // none.
  std::string subject_of(const wire::Message& message) const;
  // It was said that the node group has so many parts.
  void learn_parts(const std::string& group, std::int32_t parts);
  // It was said that this job tracker looks after `subject`.
  void learn(const std::string& subject, const std::string& address);
  void forget(const std::string& subject) { owners_.erase(subject); }
  // Empty: it was not said.
  std::string owner_of(const std::string& subject) const;
  Sizes sizes() const {
    return {{"lines", connections_.size()}, {"owners", owners_.size()}, {"parts", parts_.size()}};
  }

 private:
  class Connection;

  const MakeTransport make_transport_;
  const Duration connect_wait_;
  const Callbacks callbacks_;
  std::map<std::string, std::unique_ptr<Connection>> connections_;  // by address
  std::map<std::string, std::string> owners_;                       // addresses by subject
  std::map<std::string, std::int32_t> parts_;  // of node groups that were split
};

}  // namespace carillon
