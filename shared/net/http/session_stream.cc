#include "shared/net/http/session_stream.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "shared/base/assert.h"

namespace carillon::net {
namespace {

using boost::asio::ip::tcp;
using boost::beast::error_code;

}  // namespace

struct SessionStream::Operation {
  Direction& direction;
  Step step{};  // empty: done when the socket is ready
  Done done{};  // empty: it has ended
  bool has_timer = false;
  bool is_late = false;
};

void SessionStream::expires_after(Duration time) {
  stream_.expires_after(time);
  for (Direction* direction : {&reading_, &writing_}) {
    if (direction->is_pending) continue;
    direction->timer.expires_after(time);
    direction->has_deadline = true;
  }
}

void SessionStream::expires_never() {
  stream_.expires_never();
  for (Direction* direction : {&reading_, &writing_}) {
    if (!direction->is_pending) direction->has_deadline = false;
  }
}

void SessionStream::async_wait_readable(Done done) {
  await(begin(reading_, {}, std::move(done)), tcp::socket::wait_read);
}

void SessionStream::async_handshake(const TlsContext& context, Done done) {
  error_code ignored;  // The handshake fails then, too.
  socket().non_blocking(true, ignored);
  tls_.emplace(context, socket().native_handle());
  run(
      reading_,
      [this](TlsStream& tls) {
        const TlsStream::Step step = tls.handshake();
        if (step == TlsStream::Step::kBroken && !tls.was_cut()) tls_error_ = tls.error();
        return TlsStream::Moved{.step = step};
      },
      std::move(done));
}

void SessionStream::end_sending() {
  if (tls_ && socket().is_open()) tls_->shut_down();
  tls_.reset();
  error_code ignored;  // The client may have closed it first.
  socket().shutdown(tcp::socket::shutdown_send, ignored);
}

std::shared_ptr<SessionStream::Operation> SessionStream::begin(Direction& direction, Step step,
                                                               Done done) {
  CARILLON_ASSERT(!direction.is_pending, "a stream has one read and one write at a time");
  direction.is_pending = true;
  return std::make_shared<Operation>(
      Operation{.direction = direction, .step = std::move(step), .done = std::move(done)});
}

void SessionStream::run(Direction& direction, Step step, Done done) {
  const auto operation = begin(direction, std::move(step), std::move(done));
  // Not from within the caller, who may hold references that its handler invalidates.
  boost::asio::post(get_executor(), [this, operation] { go_on(operation); });
}

void SessionStream::go_on(const std::shared_ptr<Operation>& operation) {
  // Meanwhile the other direction may have ended it. A closed socket's number may be another's.
  if (!tls_ || !socket().is_open())
    return finish(*operation, boost::asio::error::operation_aborted, 0);
  const TlsStream::Moved moved = operation->step(*tls_);
  switch (moved.step) {
    case TlsStream::Step::kDone:
      return finish(*operation, {}, moved.bytes);
    case TlsStream::Step::kWantsRead:
      return await(operation, tcp::socket::wait_read);
    case TlsStream::Step::kWantsWrite:
      return await(operation, tcp::socket::wait_write);
    case TlsStream::Step::kEnd:
      return finish(*operation, boost::asio::error::eof, 0);
    case TlsStream::Step::kBroken:
      return finish(*operation, boost::asio::error::connection_reset, 0);
  }
}

void SessionStream::await(const std::shared_ptr<Operation>& operation,
                          tcp::socket::wait_type what) {
  Direction& direction = operation->direction;
  if (direction.has_deadline && !std::exchange(operation->has_timer, true)) {
    direction.timer.async_wait([this, operation](error_code failure) {
      if (failure || !operation->done) return;
      operation->is_late = true;
      error_code ignored;  // The wait ends in any case.
      socket().cancel(ignored);
    });
  }
  socket().async_wait(what, [this, operation](error_code failure) {
    if (operation->is_late) return finish(*operation, boost::beast::error::timeout, 0);
    if (failure || !operation->step) return finish(*operation, failure, 0);
    go_on(operation);
  });
}

// The handler may destroy the stream.
void SessionStream::finish(Operation& operation, error_code failure, std::size_t bytes) {
  operation.direction.is_pending = false;
  if (operation.has_timer) operation.direction.timer.cancel();
  const Done done = std::exchange(operation.done, nullptr);
  done(failure, bytes);
}

}  // namespace carillon::net
