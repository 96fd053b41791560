#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "carillon/time.h"
#include "shared/net/http/tls_stream.h"

namespace carillon::net {

// The bytes of a server's connection, with or without TLS, and their time-outs. Can be given to
// functions of Beast in place of its tcp_stream, and works like it: one read and one write at a
// time, whose handlers must keep it alive.
//
// A TLS connection that waits for a request costs about 20 KiB: OpenSSL works on the socket itself
// and frees its buffers. Boost's own TLS stream would need 70 KiB more for each.
//
// Thread: the server's.
class SessionStream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using Done = std::function<void(boost::beast::error_code failure, std::size_t bytes)>;

  explicit SessionStream(boost::asio::ip::tcp::socket socket) : stream_(std::move(socket)) {}

  executor_type get_executor() { return stream_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return stream_.socket(); }

  // Of operations that begin later: they end with the error beast::error::timeout.
  void expires_after(Duration time);
  void expires_never();

  // Waits until the client has sent something or closed the connection.
  void async_wait_readable(Done done);
  // From now on all bytes go through TLS. After an error tls_error() has the reason; it is empty if
  // the client went away or was too slow.
  void async_handshake(const TlsContext& context, Done done);
  const std::string& tls_error() const { return tls_error_; }

  template <class Handler>
  void async_read_some(boost::asio::mutable_buffer into, Handler&& handler) {
    if (!tls_) return stream_.async_read_some(into, std::forward<Handler>(handler));
    run(
        reading_,
        [into](TlsStream& tls) { return tls.read(static_cast<char*>(into.data()), into.size()); },
        shared(std::forward<Handler>(handler)));
  }

  template <class Buffers, class Handler>
  void async_write_some(const Buffers& from, Handler&& handler) {
    if (!tls_) return stream_.async_write_some(from, std::forward<Handler>(handler));
    // Copied, so that a head and its body share a TLS record.
    std::string record(std::min(boost::asio::buffer_size(from), kRecordMax), '\0');
    boost::asio::buffer_copy(boost::asio::buffer(record), from);
    run(
        writing_,
        [record = std::move(record)](TlsStream& tls) {
          return tls.write(record.data(), record.size());
        },
        shared(std::forward<Handler>(handler)));
  }

  // Nothing can be written after it. With TLS it sends a close notification, and later reads get
  // what the client still sends as it is.
  void end_sending();

 private:
  static constexpr std::size_t kRecordMax = 16 * 1024;

  using Timer = boost::asio::steady_timer;
  using Step = std::function<TlsStream::Moved(TlsStream& tls)>;

  // Of the operations that wait for the socket themselves.
  struct Direction {
    explicit Direction(const executor_type& executor) : timer(executor) {}
    Timer timer;
    bool has_deadline = false;
    bool is_pending = false;
  };
  struct Operation;

  // Handlers of Beast cannot be copied, a std::function must be.
  template <class Handler>
  static Done shared(Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    return [kept](boost::beast::error_code failure, std::size_t bytes) { (*kept)(failure, bytes); };
  }
  std::shared_ptr<Operation> begin(Direction& direction, Step step, Done done);
  void run(Direction& direction, Step step, Done done);
  void go_on(const std::shared_ptr<Operation>& operation);
  void await(const std::shared_ptr<Operation>& operation,
             boost::asio::ip::tcp::socket::wait_type what);
  static void finish(Operation& operation, boost::beast::error_code failure, std::size_t bytes);

  boost::beast::tcp_stream stream_;
  Direction reading_{stream_.get_executor()};
  Direction writing_{stream_.get_executor()};
  std::optional<TlsStream> tls_{};
  std::string tls_error_{};
};

}  // namespace carillon::net
