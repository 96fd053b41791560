#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "carillon/time.h"
#include "shared/net/http/answer_reader.h"
#include "shared/net/http/tls_stream.h"
#include "shared/net/poster.h"

namespace carillon::net {

// A request in progress.
struct WaitingPost {
  std::uint64_t turn = 0;
  Post post{};
  std::string path{};     // "/run"
  SteadyTime deadline{};  // first for the sending, then for the response

  bool may_begin(SteadyTime now) const { return !post.sending || post.sending->may_begin(now); }
};

class PostServer;

// One connection to a server, for one request after another; with TLS for https. It always reads,
// so that it immediately detects when the server closes it.
//
// Thread: the poster's. After close() it makes no more calls to its server.
class PostConnection : public std::enable_shared_from_this<PostConnection> {
 public:
  PostConnection(PostServer& server, boost::asio::io_context& io);

  void connect(const std::vector<boost::asio::ip::tcp::endpoint>& endpoints);
  // It is idle, and the last response arrived recently.
  bool is_fresh(SteadyTime now) const { return is_idle() && now < reuse_until_; }
  // Whether the server has neither closed it nor sent anything since. The event may have arrived
  // without being read yet.
  bool is_quiet();
  // Requires: is_idle().
  void send(WaitingPost waiting);
  // Ends requests that have timed out.
  void look_at_time(SteadyTime now);
  void close();

  bool is_connecting() const { return is_connecting_; }
  bool is_idle() const { return !is_connecting_ && !waiting_; }
  SteadyTime reuse_until() const { return reuse_until_; }

 private:
  void on_connected(const boost::system::error_code& failure);
  void shake_hands();
  void on_ready();
  void read();
  void read_tls();
  // Continues with `next` when the socket is ready for `step`.
  void await(TlsStream::Step step, void (PostConnection::*next)());
  // Writes as many bytes as possible; would_block: none.
  std::size_t write_some(boost::system::error_code& failure);
  void on_read(const boost::system::error_code& failure, std::size_t bytes);
  void on_end(const boost::system::error_code& failure);
  void write();
  void finish();
  void fail(PostOutcome outcome);

  PostServer& server_;
  boost::asio::ip::tcp::socket socket_;
  std::optional<TlsStream> tls_{};
  std::array<char, 4096> bytes_{};
  bool is_connecting_ = true;
  bool is_closed_ = false;
  bool was_used_ = false;
  SteadyTime connect_deadline_{};
  SteadyTime reuse_until_{};
  // Of the current request.
  std::optional<WaitingPost> waiting_{};
  std::optional<AnswerReader> answer_{};
  std::string request_{};
  std::size_t written_ = 0;
};

}  // namespace carillon::net
