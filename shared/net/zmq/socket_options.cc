#include "shared/net/zmq/socket_options.h"

#include <cerrno>
#include <string>

#include "shared/wire/messages.h"

namespace carillon::net {
namespace {

constexpr int kFramesQueuedMax =
    256;  // per peer and direction; beyond it the peer is asked to slow down
constexpr int kHeartbeatMs = 1000;
constexpr int kSilenceMs = 3000;    // a peer without a heartbeat for this time is dead
constexpr int kHandshakeMs = 5000;  // time-out of the handshake
// What CURVE adds to a message: name, nonce, authentication code and flags.
constexpr std::int64_t kCurveBytes = 8 + 8 + 16 + 1;

}  // namespace

void set_common_options(zmq::socket_t& socket, const Endpoint& endpoint) {
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::sndhwm, kFramesQueuedMax);
  socket.set(zmq::sockopt::rcvhwm, kFramesQueuedMax);
  socket.set(zmq::sockopt::maxmsgsize,
             static_cast<std::int64_t>(wire::kFrameBytesMax) + kCurveBytes);
  socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMs);
  socket.set(zmq::sockopt::heartbeat_timeout, kSilenceMs);
  socket.set(zmq::sockopt::heartbeat_ttl, kSilenceMs);
  socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  socket.set(zmq::sockopt::ipv6, endpoint.is_ipv6());
}

Error zmq_error(const std::string& what, const zmq::error_t& failure) {
  if (failure.num() == EADDRINUSE) {
    return {ErrorCode::kUnavailable,
            what +
                ": address in use (is another job tracker running? choose another with "
                "--listen)"};
  }
  const bool is_input = failure.num() == EINVAL || failure.num() == ENODEV ||
                        failure.num() == EADDRNOTAVAIL || failure.num() == EACCES;
  return {is_input ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable,
          what + ": " + failure.what()};
}

}  // namespace carillon::net
