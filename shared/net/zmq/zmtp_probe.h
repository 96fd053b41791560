#pragma once

#include <functional>

#include <zmq.hpp>

#include "shared/base/clock.h"
#include "shared/net/endpoint.h"
#include "shared/net/zmq/socket_watch.h"
#include "shared/runtime/event_loop.h"

namespace carillon::net {

// Whether the program at an endpoint speaks ZeroMQ's protocol: it would send the protocol's first
// byte before any request. ZeroMQ itself reports the same handshake failure for another program and
// for a job tracker that rejects the access data.
//
// Thread: the loop's.
class ZmtpProbe {
 public:
  // Calls `then` once, unless this object is destroyed before; `then` may destroy it. Throws
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
