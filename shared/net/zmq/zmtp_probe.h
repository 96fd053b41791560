#pragma once

#include <functional>

#include <zmq.hpp>

#include "shared/base/clock.h"
#include "shared/net/endpoint.h"
#include "shared/net/zmq/socket_watch.h"
#include "shared/runtime/event_loop.h"

namespace carillon::net {

// Whether who listens at an endpoint speaks ZeroMQ's protocol: it would say so by the first byte it
// sends, which it does before anybody has asked it. What ZeroMQ says of a handshake that came to
// nothing is the same of a stranger and of a job tracker that wants another pass.
//
// Thread: the loop's.
class ZmtpProbe {
 public:
  // `then` is called once, unless this is destroyed before; it may destroy this. Throws
  // zmq::error_t.
  ZmtpProbe(EventLoop& loop, const Clock& clock, zmq::context_t& context, const Endpoint& endpoint,
            std::function<void(bool speaks)> then);
  ~ZmtpProbe();
  ZmtpProbe(const ZmtpProbe&) = delete;
  ZmtpProbe& operator=(const ZmtpProbe&) = delete;

 private:
  bool read();
  void end(bool speaks);

  EventLoop& loop_;
  std::function<void(bool)> then_;
  zmq::socket_t socket_;
  SocketWatch watch_;
  TimerId timeout_{};
};

}  // namespace carillon::net
