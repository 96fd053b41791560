#include "shared/net/http/post_connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "shared/base/assert.h"
#include "shared/net/http/post_server.h"
#include "shared/net/self_connection.h"

namespace carillon::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr Duration kConnectMax = std::chrono::seconds{10};

std::string request_text(const HttpUrl& url, const WaitingPost& waiting) {
  const Post& post = waiting.post;
  std::string text;
  text.reserve(256 + post.body.size());
  text += "POST ";
  text += waiting.path.empty() ? "/" : waiting.path;
  text += " HTTP/1.1\r\nHost: ";
  text += url.server().substr(url.scheme.size() + 3);
  text += "\r\nConnection: keep-alive\r\n";
  for (const auto& [name, value] : post.headers) {
    text += name;
    text += ": ";
    text += value;
    text += "\r\n";
  }
  text += "Content-Length: ";
  text += std::to_string(post.body.size());
  text += "\r\n\r\n";
  text += post.body;
  return text;
}

// A dead machine sends nothing, not even the end of a connection: enables keep-alive probes.
void notice_silence(int fd) {
  constexpr int kAskAfterSeconds = 15;
  constexpr int kAskEverySeconds = 5;
  constexpr int kAskTimes = 3;
  const int on = 1;
  // Failures show later.
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kAskAfterSeconds, sizeof kAskAfterSeconds);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kAskEverySeconds, sizeof kAskEverySeconds);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kAskTimes, sizeof kAskTimes);
}

bool is_broken_by_peer(const error_code& failure) {
  return failure == boost::asio::error::eof || failure == boost::asio::error::connection_reset ||
         failure == boost::asio::error::broken_pipe;
}

}  // namespace

PostConnection::PostConnection(PostServer& server, boost::asio::io_context& io)
    : server_(server),
      socket_(io),
      connect_deadline_(server.parts().clock.steady_now() + kConnectMax) {}

void PostConnection::connect(const std::vector<tcp::endpoint>& endpoints) {
  boost::asio::async_connect(
      socket_, endpoints,
      [self = shared_from_this()](const error_code& failure, const tcp::endpoint&) {
        self->on_connected(failure);
      });
}

void PostConnection::on_connected(const error_code& failure) {
  if (is_closed_) return;
  error_code unprepared = failure;
  if (!unprepared && is_connected_to_itself(socket_.native_handle())) {
    end_at_once(socket_.native_handle());
    unprepared = boost::asio::error::connection_refused;  // No program listens there.
  }
  if (!unprepared) socket_.non_blocking(true, unprepared);
  if (unprepared) {
    close();
    return server_.on_connect_failed(unprepared.message(),
                                     unprepared == boost::asio::error::connection_refused);
  }
  error_code ignored;  // Without it requests are slower, but correct.
  socket_.set_option(tcp::no_delay(true), ignored);
  notice_silence(socket_.native_handle());
  if (server_.url().scheme != "https") return on_ready();
  tls_.emplace(server_.parts().tls, socket_.native_handle(), server_.url().host);
  shake_hands();
}

void PostConnection::shake_hands() {
  const TlsStream::Step step = tls_->handshake();
  if (step == TlsStream::Step::kDone) return on_ready();
  if (step == TlsStream::Step::kWantsRead || step == TlsStream::Step::kWantsWrite)
    return await(step, &PostConnection::shake_hands);
  const std::string why = step == TlsStream::Step::kEnd ? "it closed" : tls_->error();
  close();
  server_.on_connect_failed(why, false);
}

void PostConnection::on_ready() {
  is_connecting_ = false;
  reuse_until_ = server_.parts().clock.steady_now() + server_.parts().config.reuse_max;
  read();
  server_.on_connected();
}

void PostConnection::await(TlsStream::Step step, void (PostConnection::*next)()) {
  const auto what =
      step == TlsStream::Step::kWantsWrite ? tcp::socket::wait_write : tcp::socket::wait_read;
  socket_.async_wait(what, [self = shared_from_this(), next](const error_code& stopped) {
    if (!stopped && !self->is_closed_) ((*self).*next)();
  });
}

bool PostConnection::is_quiet() {
  if (tls_) return tls_->is_quiet();
  char byte = 0;
  const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void PostConnection::send(WaitingPost waiting) {
  CARILLON_ASSERT(is_idle() && !is_closed_, "a connection carries one request at a time");
  request_ = request_text(server_.url(), waiting);
  written_ = 0;
  answer_.emplace(waiting.post.answer_max, waiting.post.cuts_answer);
  waiting_ = std::move(waiting);
  if (waiting_->post.may_wait) {
    waiting_->deadline = server_.parts().clock.steady_now() + waiting_->post.timeout;
  }
  write();
}

// Writes immediately as much as possible, so that it is always known whether anything was sent.
void PostConnection::write() {
  while (written_ < request_.size()) {
    error_code failure;
    written_ += write_some(failure);
    if (failure == boost::asio::error::would_block) {
      socket_.async_wait(tcp::socket::wait_write,
                         [self = shared_from_this()](const error_code& stopped) {
                           if (!stopped && !self->is_closed_ && self->waiting_) self->write();
                         });
      return;
    }
    // A response may have arrived before, so the read decides.
    if (failure) return;
  }
}

std::size_t PostConnection::write_some(error_code& failure) {
  const char* const rest = request_.data() + written_;
  const std::size_t size = request_.size() - written_;
  if (!tls_) return socket_.write_some(boost::asio::buffer(rest, size), failure);
  const TlsStream::Moved moved = tls_->write(rest, size);
  if (moved.step == TlsStream::Step::kWantsWrite)
    failure = boost::asio::error::would_block;
  else if (moved.step != TlsStream::Step::kDone)
    failure = boost::asio::error::connection_aborted;
  return moved.bytes;
}

void PostConnection::read_tls() {
  const TlsStream::Moved moved = tls_->read(bytes_.data(), bytes_.size());
  switch (moved.step) {
    case TlsStream::Step::kDone:
      return on_read({}, moved.bytes);
    case TlsStream::Step::kWantsRead:
    case TlsStream::Step::kWantsWrite:
      return await(moved.step, &PostConnection::read_tls);
    case TlsStream::Step::kEnd:
      return on_end(boost::asio::error::eof);
    case TlsStream::Step::kBroken:
      return on_end(boost::asio::error::connection_reset);
  }
}

void PostConnection::read() {
  if (tls_) {
    if (!tls_->has_more()) return await(TlsStream::Step::kWantsRead, &PostConnection::read_tls);
    return boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
      if (!self->is_closed_) self->read_tls();
    });
  }
  socket_.async_read_some(
      boost::asio::buffer(bytes_),
      [self = shared_from_this()](const error_code& failure, std::size_t bytes) {
        if (!self->is_closed_) self->on_read(failure, bytes);
      });
}

void PostConnection::on_read(const error_code& failure, std::size_t bytes) {
  if (failure) return on_end(failure);
  if (!waiting_) return close();  // An unexpected message.
  const Status taken = answer_->take({bytes_.data(), bytes});
  if (!taken.ok())
    return fail({.kind = PostOutcome::Kind::kUnknown, .error = taken.error().message});
  if (answer_->is_done()) return finish();
  read();
}

// The server has closed the connection, or it broke.
void PostConnection::on_end(const error_code& failure) {
  if (!waiting_) {
    close();
    return server_.parts().on_hang_up(server_.name());
  }
  const Status ended = failure == boost::asio::error::eof
                           ? answer_->end()
                           : Status{Error{ErrorCode::kUnavailable, failure.message()}};
  if (ended.ok()) return finish();
  if (written_ == 0 && was_used_) {
    // It was closed while it was idle.
    WaitingPost again = std::move(*waiting_);
    waiting_.reset();
    close();
    return server_.add_first(std::move(again));
  }
  fail({.kind = written_ == 0 ? PostOutcome::Kind::kNotSent : PostOutcome::Kind::kUnknown,
        .error = ended.error().message,
        .is_broken = written_ > 0 && is_broken_by_peer(failure)});
}

void PostConnection::finish() {
  PostOutcome outcome{.id = waiting_->post.id,
                      .kind = PostOutcome::Kind::kAnswered,
                      .status = answer_->status(),
                      .body = answer_->take_body(),
                      .is_cut = answer_->is_cut()};
  const std::uint64_t turn = waiting_->turn;
  const bool may_follow = answer_->keeps_alive() && written_ == request_.size();
  const auto seconds = answer_->keep_alive_seconds();
  waiting_.reset();
  if (may_follow) {
    Duration reuse = server_.parts().config.reuse_max;
    // A second earlier than the server says, to avoid requests that cross with the close.
    if (seconds) reuse = std::min<Duration>(reuse, std::chrono::seconds{*seconds - 1});
    reuse_until_ = server_.parts().clock.steady_now() + reuse;
    was_used_ = true;
    read();
  } else {
    close();
  }
  server_.parts().on_outcome(turn, std::move(outcome));
  server_.on_answer();
}

void PostConnection::fail(PostOutcome outcome) {
  outcome.id = waiting_->post.id;
  const std::uint64_t turn = waiting_->turn;
  waiting_.reset();
  close();
  server_.parts().on_outcome(turn, std::move(outcome));
  server_.on_free();
}

void PostConnection::look_at_time(SteadyTime now) {
  if (is_connecting_) {
    if (now < connect_deadline_) return;
    close();
    return server_.on_connect_failed("no answer to the connection attempt", false);
  }
  if (!waiting_ || now < waiting_->deadline) return;
  fail({.kind = written_ == 0 ? PostOutcome::Kind::kNotSent : PostOutcome::Kind::kUnknown,
        .error = written_ == 0 ? "the request could not be written in time"
                               : "no complete response in time"});
}

void PostConnection::close() {
  if (std::exchange(is_closed_, true)) return;
  if (tls_) tls_->shut_down();
  error_code ignored;  // The connection is closed in any case.
  socket_.close(ignored);
  server_.forget(*this);
}

}  // namespace carillon::net
