#include "shared/net/zmq/socket_watch.h"

#include <cerrno>
#include <utility>

namespace carillon::net {

bool receive_part(zmq::socket_ref socket, zmq::message_t& part) {
  int result = 0;
  do {
    result = zmq_msg_recv(part.handle(), socket.handle(), ZMQ_DONTWAIT);
  } while (result < 0 && errno == EINTR);
  return result >= 0;
}

bool send_part(zmq::socket_ref socket, zmq::message_t& part, bool more_follow) {
  int result = 0;
  do {
    result = zmq_msg_send(part.handle(), socket.handle(),
                          more_follow ? ZMQ_DONTWAIT | ZMQ_SNDMORE : ZMQ_DONTWAIT);
  } while (result < 0 && errno == EINTR);
  return result >= 0;
}

SocketWatch::SocketWatch(EventLoop& loop, zmq::socket_ref socket, std::function<bool()> read)
    : loop_(loop),
      socket_(socket),
      fd_(socket_.get(zmq::sockopt::fd)),
      read_(std::make_shared<std::function<bool()>>(std::move(read))) {
  loop_.watch(fd_, [this] { read_now(); });
  touched();  // Earlier events are not reported again.
}

SocketWatch::~SocketWatch() { loop_.unwatch(fd_); }

void SocketWatch::touched() {
  if (will_look_) return;
  will_look_ = true;
  // Posted work makes the loop turn without waiting, from any caller.
  loop_.post([this, alive = std::weak_ptr(read_)] {
    if (!alive.expired()) look_again();
  });
}

void SocketWatch::look_again() {
  will_look_ = false;
  if (is_readable()) read_now();
}

bool SocketWatch::is_readable() {
  int events = 0;
  std::size_t size = sizeof events;
  int result = 0;
  do {
    result = zmq_getsockopt(socket_.handle(), ZMQ_EVENTS, &events, &size);
  } while (result < 0 && errno == EINTR);
  return result == 0 && (events & ZMQ_POLLIN) != 0;
}

void SocketWatch::read_now() {
  const auto read = read_;  // This object may be destroyed when it returns.
  const bool more = (*read)();
  if (more && read.use_count() > 1) touched();
}

}  // namespace carillon::net
