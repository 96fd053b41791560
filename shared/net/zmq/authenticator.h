#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "shared/base/log.h"
#include "shared/net/zmq/socket_watch.h"

namespace carillon::net {

// Decides which clients may connect: answers ZeroMQ's authentication requests (ZAP, RFC 27) of one
// context. Create it before the context's server socket is bound.
//
// Thread: the loop. ZeroMQ waits for it only with the handshake.
class Authenticator {
 public:
  // `key`: the client's public CURVE key, which it has proven to own.
  using IsAllowed = std::function<bool(const std::string& key)>;

  Authenticator(EventLoop& loop, zmq::context_t& context, IsAllowed is_allowed);
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

 private:
  bool answer_all();
  void answer(const std::vector<zmq::message_t>& request);

  const Logger log_{"access"};
  const IsAllowed is_allowed_;
  std::uint64_t denied_ = 0;
  zmq::socket_t socket_;
  SocketWatch watch_;
};

}  // namespace carillon::net
