#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "shared/base/clock.h"
#include "shared/net/http/http_poster.h"
#include "shared/net/http/post_connection.h"
#include "shared/net/http/tls_stream.h"
#include "shared/net/http_url.h"

namespace carillon::net {

// State that a poster's servers share.
struct PosterParts {
  const HttpPosterConfig config;
  const Clock& clock;
  std::function<void(std::uint64_t turn, PostOutcome outcome)> on_outcome;
  std::function<void(const std::string& server)> on_hang_up;
  TlsContext tls;
  std::size_t connections = 0;
  // Declared before the members that own its sockets.
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::resolver resolver{io};
};

// One server: its waiting requests and its connections.
//
// Thread: the poster's.
class PostServer {
 public:
  PostServer(PosterParts& parts, HttpUrl url);
  ~PostServer();
  PostServer(const PostServer&) = delete;
  PostServer& operator=(const PostServer&) = delete;

  void add(WaitingPost waiting);
  // Ends requests that have timed out, and continues those that waited for a connection.
  void look_at_time(SteadyTime now);
  bool is_unused() const { return line_.empty() && connections_.empty() && !is_resolving_; }

  // For its connections.
  PosterParts& parts() { return parts_; }
  const HttpUrl& url() const { return url_; }
  const std::string& name() const { return name_; }
  void on_connected();
  void on_connect_failed(const std::string& why, bool is_refused);
  void on_free() { serve(); }
  void on_answer();
  void add_first(WaitingPost waiting);
  void forget(const PostConnection& connection);

 private:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

  void serve();
  std::shared_ptr<PostConnection> fresh_connection(SteadyTime now);
  void connect_more();
  void resolve();
  void on_resolved(const Endpoints& found, const std::string& failure);
  void end_late(SteadyTime now);
  void close_idle(SteadyTime now);
  bool is_late(const WaitingPost& one, SteadyTime now) const;
  void end_recalled(const WaitingPost& one);
  void fail_first(const std::string& why, bool is_refused = false);

  PosterParts& parts_;
  const HttpUrl url_;
  const std::string name_;  // "http://HOST:PORT" or "https://HOST:PORT"
  Endpoints endpoints_{};   // empty: not resolved yet
  bool is_resolving_ = false;
  SteadyTime answered_at_{};  // any request
  std::deque<WaitingPost> line_{};
  std::vector<std::shared_ptr<PostConnection>> connections_{};
  std::size_t connecting_ = 0;
};

}  // namespace carillon::net
