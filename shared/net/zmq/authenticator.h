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
  // The client's password, or its CURVE key of 40 characters.
  using IsAllowed =
      std::function<bool(const std::string& mechanism, const std::string& credential)>;

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

// Takes the same time for equal and different texts of one length, so that a secret cannot be
// guessed character by character.
bool is_same_secret(const std::string& one, const std::string& other);

}  // namespace carillon::net
