#pragma once

#include <functional>
#include <memory>

#include <zmq.hpp>

#include "shared/runtime/event_loop.h"

namespace carillon::net {

// Receives one part of a message without waiting. False: there is none.
bool receive_part(zmq::socket_ref socket, zmq::message_t& part);

// Sends one part without waiting. Otherwise errno says why not: EAGAIN the other side does not
// read, EHOSTUNREACH there is no such peer (any more).
bool send_part(zmq::socket_ref socket, zmq::message_t& part, bool more_follow);

// Ties a ZeroMQ socket to an event loop. A socket's descriptor tells of changes only once, and any
// call on the socket may use that up; so after each send, and whenever reading stopped with frames
// left, the socket is asked again.
//
// Thread: the loop's.
class SocketWatch {
 public:
  // `read` takes what is there, up to some limit, and answers whether it stopped at that limit.
  // It may destroy this watch.
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
