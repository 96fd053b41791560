#include "shared/net/zmq/zmtp_probe.h"

#include <utility>

#include "shared/net/zmq/socket_options.h"

namespace carillon::net {
namespace {

constexpr Duration kPatience = std::chrono::seconds{1};
constexpr unsigned char kFirstByte = 0xff;

}  // namespace

ZmtpProbe::ZmtpProbe(EventLoop& loop, const Clock& clock, zmq::context_t& context,
                     const Endpoint& endpoint, std::function<void(bool)> then)
    : loop_(loop),
      then_(std::move(then)),
      socket_(context, zmq::socket_type::stream),
      watch_(loop, socket_, [this] { return read(); }) {
  set_common_options(socket_, endpoint);
  socket_.connect(endpoint.text());
  timeout_ = loop.post_at(clock.steady_now() + kPatience, [this] { end(false); });
}

ZmtpProbe::~ZmtpProbe() { loop_.cancel(timeout_); }

bool ZmtpProbe::read() {
  zmq::message_t part;
  while (receive_part(socket_, part)) {
    if (part.more() || part.empty()) continue;  // The peer's identity, or a connect notification.
    end(*part.data<unsigned char>() == kFirstByte);
    break;
  }
  return false;
}

void ZmtpProbe::end(bool speaks) {
  const std::function<void(bool)> then = std::move(then_);
  then(speaks);
}

}  // namespace carillon::net
