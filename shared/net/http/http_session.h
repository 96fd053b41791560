#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "shared/base/clock.h"
#include "shared/net/http/handshake_queue.h"
#include "shared/net/http/http_server.h"
#include "shared/net/http/refusal_log.h"
#include "shared/net/http/session_stream.h"
#include "shared/net/networks.h"

namespace carillon::net {

// State that a server's connections share. It outlives the server while a call has no response.
struct HttpServerParts : std::enable_shared_from_this<HttpServerParts> {
  HttpServerParts(HttpServerConfig its_config, HttpServer::Handler its_handler)
      : config(std::move(its_config)), handler(std::move(its_handler)) {}

  bool may_connect(const std::string& peer) const {
    return proxies.empty() || proxies.contains(peer) || is_loopback_address(peer);
  }

  const HttpServerConfig config;
  const HttpServer::Handler handler;
  Networks proxies{};
  std::shared_ptr<const TlsContext> tls{};  // of new connections; nullptr: they are not encrypted
  const SystemClock clock{};
  RefusalLog refusals{Logger{"http"}, clock};
  std::size_t connections = 0;
  std::size_t kept_connections = 0;                     // beyond the limits, for `kept_paths`
  std::map<std::string, std::size_t> connections_of{};  // by the client's address
  std::size_t bytes = 0;                                // of requests
  std::size_t answer_bytes = 0;
  // Declared after the members that its pending work uses, because it is destroyed with that work.
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::acceptor acceptor{io};
  HandshakeQueue handshakes{};  // owns connections
};

inline constexpr const char* kTooManyConnections = "too many connections";

// One connection: reads a request, waits for its response, reads the next.
//
// Thread: the server's.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  enum class Kind : std::uint8_t {
    kNormal,
    kKept  // beyond the limits: serves one request for one of `kept_paths`
  };

  HttpSession(HttpServerParts& parts, boost::asio::ip::tcp::socket socket, std::string peer,
              Kind kind);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  // Begins with the first request, or the TLS handshake.
  void start();
  // Closes a new connection with this answer, without answer if it would need a handshake; logged.
  void turn_away(int status, const std::string& why);
  // Like write(), for an error of the client; logged.
  void refuse(int status, const std::string& why);
  // Sends the response to the last request, and closes the connection if `is_last`.
  void write(HttpResponse response, bool is_last);

  // Sends the head of a response in pieces. The connection ends with it.
  void begin_stream(HttpResponse head, std::shared_ptr<HttpStream::State> stream);
  void write_piece(std::string piece);
  void end_stream();
  // Closes the connection at once.
  void abort_stream();

 private:
  enum class State : std::uint8_t {
    kIdle,     // waits for the next request
    kHead,     // has a part of a head, or is new, or makes the TLS handshake
    kBody,     // has the head
    kAnswers,  // waits for the response, or sends it
    kEnds      // drops what the client still sends, so that it can read the last response
  };

  void wait_for_turn(SteadyTime deadline);
  void shake_hands();
  void on_handshake(boost::beast::error_code failure);
  void prepare();
  void next_request();
  void receive();
  void on_received(boost::beast::error_code failure, std::size_t bytes);
  void on_stopped(boost::beast::error_code failure);
  void parse();
  void on_malformed(boost::beast::error_code failure);
  void on_head();
  // What is wrong with the names in the head; empty: nothing.
  std::string refusal_of_names(const std::string& own_address) const;
  void fill_call();
  void refuse_for_bytes();
  void call();
  void end();
  void close();
  // Count the bytes of its request or answer. False: there are too many in all connections.
  bool hold(std::size_t bytes);
  bool hold_answer(std::size_t bytes);
  void watch_reader();
  void after_stream(boost::beast::error_code failure);
  void drop_rest();
  void write_next_piece();
  void on_piece_written(boost::beast::error_code failure);

  // Not owned: an idle connection must not keep the server alive.
  HttpServerParts& parts_;
  const std::string peer_;
  const Kind kind_;
  const bool is_of_proxy_;  // whose reports about its clients are trusted
  State state_ = State::kHead;
  SessionStream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  HttpCall call_{};
  std::size_t head_bytes_ = 0;
  std::optional<SteadyTime> called_at_{};  // the handler has the call
  std::size_t held_ = 0;                   // its part of the server's `bytes`
  std::size_t held_answer_ = 0;
  std::size_t drop_bytes_ = 0;  // how many more are dropped in kEnds
  bool is_head_ = false;
  bool keeps_alive_ = false;

  std::shared_ptr<HttpStream::State> stream_state_;  // while a response is sent in pieces
  std::deque<std::string> pieces_{};                 // the first one is being sent
  bool is_writing_ = false;
  bool is_first_write_ = true;  // of the head
  bool has_ended_stream_ = false;
};

}  // namespace carillon::net
