#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <zmq.hpp>

#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/runtime/thread.h"

namespace carillon::net {

// Limits what peers that have not proven who they are cost a listening ZeroMQ socket. ZeroMQ itself
// accepts every connection, buffers a whole message of each one before its handshake ends, and
// retries without a pause when no file descriptor is left.
//
// - At most `connections_max` connections; a further one is closed. So descriptors remain for the
//   store and other sockets.
// - At most `handshakes_max` connections in their handshake; a further one closes the oldest.
// - With CURVE, a connection that sends more than a handshake needs is closed within about 10 ms.
// - Some descriptors in reserve: when none is left after all, they serve to close what waits.
//
// Thread: the owner's; works in one of its own, so that a busy loop does not delay it. ZeroMQ's
// thread waits while it does not read.
class ConnectionGuard {
 public:
  struct Limits {
    std::size_t connections_max = 0;
    std::size_t handshakes_max = 1024;
    bool is_curve = false;  // the listener is a CURVE server
  };
  // Leaves descriptors for everything else, as many as the process may open.
  static std::size_t most_connections();

  // Call before the socket is bound. It must outlive the guard. Throws zmq::error_t.
  static Result<std::unique_ptr<ConnectionGuard>> start(zmq::context_t& context,
                                                        zmq::socket_ref listener, Limits limits);
  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

 private:
  ConnectionGuard(zmq::context_t& context, zmq::socket_ref listener, Limits limits);

  void run();
  bool read_events();
  bool handle(std::uint16_t event, int value);
  void on_accepted(int fd);
  void on_no_descriptors();
  void check_handshakes();
  void forget_closed();
  void take_reserve();
  bool is_ours(int fd) const;
  void end_connection(int fd) const;
  void warn(const char* what);

  const Logger log_{"transport"};
  const SystemClock clock_{};
  const Limits limits_;
  zmq::socket_ref listener_;
  zmq::socket_t monitor_;
  std::uint16_t port_ = 0;  // of the listener, in network order
  std::set<int> open_{};
  std::map<int, SteadyTime> handshakes_{};  // since when
  std::vector<int> reserve_{};
  SteadyTime full_until_{};
  SteadyTime forgot_at_{};
  SteadyTime warned_at_{};
  std::unique_ptr<Thread> thread_;  // ends before the other members
};

}  // namespace carillon::net
