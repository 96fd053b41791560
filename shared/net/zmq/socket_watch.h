#pragma once

#include <functional>
#include <memory>

#include <zmq.hpp>

#include "shared/runtime/event_loop.h"

namespace carillon::net {

// Receives one part of a message without blocking. False: there is none.
bool receive_part(zmq::socket_ref socket, zmq::message_t& part);

// Sends one part without blocking. False: errno has the reason: EAGAIN if the peer does not read,
// EHOSTUNREACH if the peer does not exist (any more).
bool send_part(zmq::socket_ref socket, zmq::message_t& part, bool more_follow);

// Connects a ZeroMQ socket to an event loop. A socket's descriptor reports a change only once, and
// any call on the socket may consume the report. So the socket is checked again after each send,
// and after a read that left frames.
//
// Thread: the loop's.
class SocketWatch {
 public:
  // `read` reads frames up to a limit, and returns whether it stopped at the limit. It may destroy
  // this watch.
  SocketWatch(EventLoop& loop, zmq::socket_ref socket, std::function<bool()> read);
  ~SocketWatch();
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  // Call it after each send.
  void touched();

 private:
  void read_now();
  void look_again();
  bool is_readable();

  EventLoop& loop_;
  zmq::socket_ref socket_;
  const int fd_;
  const std::shared_ptr<std::function<bool()>> read_;
  bool will_look_ = false;
};

}  // namespace carillon::net
