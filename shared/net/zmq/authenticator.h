#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "carillon/result.h"
#include "shared/base/log.h"
#include "shared/net/zmq/socket_watch.h"

namespace carillon::net {

// Decides which clients may connect: answers ZeroMQ's authentication requests (ZAP, RFC 27) of one
// context. Create it before the context's server socket is bound.
//
// Thread: the loop. ZeroMQ waits for it only with the handshake.
class Authenticator {
 public:
  // The principal (Sender::principal) with this public CURVE key, which the client has proven to
  // own; none: the client may not connect. Error: it is not known yet; the client tries again.
  using PrincipalOf = std::function<Result<std::optional<std::string>>(const std::string& key)>;

  Authenticator(EventLoop& loop, zmq::context_t& context, PrincipalOf principal_of);
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

 private:
  bool answer_all();
  void answer(const std::vector<zmq::message_t>& request);

  const Logger log_{"access"};
  const PrincipalOf principal_of_;
  std::uint64_t denied_ = 0;
  zmq::socket_t socket_;
  SocketWatch watch_;
};

}  // namespace carillon::net
