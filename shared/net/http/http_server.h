#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/net/http_access.h"
#include "shared/runtime/thread.h"

namespace carillon::net {

// A request that came in.
struct HttpCall {
  std::string method{};                          // GET also for HEAD
  std::string target{};                          // "/metrics?x=1", as it was sent
  std::map<std::string, std::string> headers{};  // names in lower case; equal ones joined by comma
  std::string body{};
  std::string peer{};          // the client's address
  bool is_encrypted = false;   // on the whole way from the client
  bool is_from_proxy = false;  // the connection is a trusted proxy's
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body{};
  std::map<std::string, std::string> headers{};  // further headers
  // Makes the body on the server's thread, instead of `body`.
  std::function<std::string()> make_body{};
};

struct HttpServerConfig {
  // Host names that requests may use, besides localhost and the server's addresses.
  std::vector<std::string> names{};
  // Accepts any host name, because requests need a secret that pages of other sites do not have:
  // for all targets, or for some.
  bool any_name = false;
  std::function<bool(std::string_view target)> any_name_for{};
  // Larger allows larger requests, and more memory per client.
  std::size_t body_max = 4 * 1024 * 1024;
  // Most bytes of requests in all connections, and as many of answers. Beyond it a request gets 503
  // and should be repeated; small ones are always served.
  std::size_t bytes_max = 24 * 1024 * 1024;
  // Most open connections, idle ones included; further ones get 503.
  std::size_t connections_max = 4096;
  // Most connections from one address, so that one client cannot use all.
  std::size_t connections_per_peer = 2048;
  // Paths that are served beyond these limits too, on a few more connections.
  std::vector<std::string> kept_paths{};
  // Time-out for the head of a request, counted from its first byte or from the connection.
  Duration head_patience = std::chrono::seconds{10};
  // Time-out for the next request to begin, for a body to arrive, and for the client to read an
  // answer. Longer spares idle clients new connections.
  Duration patience = std::chrono::seconds{60};
  std::string option = "--http";  // the flag for the address, named in errors
  // Encryption and trusted proxies. These check the names that requests use.
  HttpAccess access{};
  // Decides about a request whose body has not been read. A response is sent at once, and the body
  // is not read. Empty: all requests are read. Called on the server's thread.
  std::function<std::optional<HttpResponse>(const HttpCall& head)> check_head{};
  // Called on the server's thread for each response of the handler, with its time since the call.
  std::function<void(Duration)> on_answered{};
};

// Most bytes of a stream that wait for its client to read.
inline constexpr std::size_t kStreamBytesMax = 256 * 1024;

// The body of a response, sent piece by piece. It ends with end(), or when the last HttpStream of
// it is destroyed; then the connection is closed. Thread: any.
class HttpStream {
 public:
  // False: the client has gone, or reads too slowly: more than kStreamBytesMax would wait. Then the
  // connection is closed without the end of the body. A single larger piece may wait alone.
  bool write(std::string piece) const;
  // Bytes that wait.
  std::size_t waiting() const;
  bool is_open() const;
  // After all pieces.
  void end() const;
  // Closes the connection without the end of the body.
  void abort() const;

 private:
  friend class HttpResponder;
  friend class HttpSession;
  struct State;
  struct Handle;
  explicit HttpStream(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {}

  std::shared_ptr<Handle> handle_;
};

// Sends the response to one call. Thread: any.
class HttpResponder {
 public:
  // The first response counts. A call without a response gets 503 when its last HttpResponder is
  // destroyed.
  void send(HttpResponse response) const;
  // Sends the head of a response instead, whose body follows piece by piece. Call it at most once,
  // and not after send().
  HttpStream stream(HttpResponse head) const;

 private:
  friend class HttpSession;
  struct State;
  explicit HttpResponder(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

struct HttpServerParts;

// An HTTP/1.1 server with keep-alive on its own thread.
//
// Requests that it rejects itself, because they are too large, too slow or not HTTP, are logged.
// Its memory is bounded: heads by 16 KiB and 100 fields, chunk extensions and trailers by 16 KiB,
// bodies and everything together by the configuration.
//
// It is protected against web pages of other sites: a Host header that is not one of its names or
// addresses, nor in its certificate, or an Origin that is not this server, gets 403.
//
// With TLS, all limits hold as well; a handshake has the time-out of a head, and connections beyond
// the limits are closed without a response.
//
// Thread: the owner's. The handler runs on the server's thread and must not block.
class HttpServer {
 public:
  using Handler = std::function<void(HttpCall call, HttpResponder responder)>;

  // Listens at "HOST:PORT"; port 0: any free port; host *: all addresses.
  static Result<std::unique_ptr<HttpServer>> open(const std::string& address,
                                                  HttpServerConfig config, Handler handler);
  // After it no handler runs; unsent responses are lost.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Whether its certificate names this host. Requires: before reload_certificate().
  bool is_certified_for(const std::string& host) const;
  // Reads the files of a server with TLS again, for connections that are opened later. Error: it
  // continues with what it has.
  Status reload_certificate();

  // "http://127.0.0.1:8080" or "https://...", with the actual port.
  const std::string& url() const { return url_; }

 private:
  HttpServer(std::shared_ptr<HttpServerParts> parts, std::string url,
             std::unique_ptr<Thread> thread);

  std::shared_ptr<HttpServerParts> parts_;
  std::string url_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::net
