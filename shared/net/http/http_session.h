#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "shared/base/clock.h"
#include "shared/net/http/http_server.h"
#include "shared/net/http/refusal_log.h"

namespace carillon::net {

// State that a server's connections share. It outlives the server while a call has no response.
struct HttpServerParts : std::enable_shared_from_this<HttpServerParts> {
  HttpServerParts(HttpServerConfig its_config, HttpServer::Handler its_handler)
      : config(std::move(its_config)), handler(std::move(its_handler)) {}

  const HttpServerConfig config;
  const HttpServer::Handler handler;
  const SystemClock clock{};
  RefusalLog refusals{Logger{"http"}, clock};
  std::size_t connections = 0;
  std::map<std::string, std::size_t> connections_of{};  // by the client's address
  // Declared after the members that its pending work uses, because it is destroyed with that work.
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::acceptor acceptor{io};
};

// One connection: reads a request, waits for its response, reads the next.
//
// Thread: the server's.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(HttpServerParts& parts, boost::asio::ip::tcp::socket socket, std::string peer);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void read();
  // Like write(), for an error of the client; logged.
  void refuse(int status, const std::string& why);
  // Sends the response to the last request, and closes the connection if `is_last`.
  void write(HttpResponse response, bool is_last);

 private:
  void on_read(boost::beast::error_code failure);
  void call();
  void close();

  // Not owned: an idle connection must not keep the server alive.
  HttpServerParts& parts_;
  const std::string peer_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  bool is_head_ = false;
  bool keeps_alive_ = false;
};

}  // namespace carillon::net
