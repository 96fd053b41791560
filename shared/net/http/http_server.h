#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/runtime/thread.h"

namespace carillon::net {

struct HttpServerConfig {
  // Names that requests may call this server by, besides localhost and the addresses it has.
  std::vector<std::string> names{};
  // Any name will do, because what is called asks for a secret that no page of another site has:
  // for everything, or for some targets.
  bool any_name = false;
  std::function<bool(std::string_view target)> any_name_for{};
  // Larger takes larger requests, and lets a few clients take more memory.
  std::size_t body_max = 4 * 1024 * 1024;
  // Open connections, idle ones included; more are turned away with 503.
  std::size_t connections_max = 4096;
  // Of these, from one address: so that nobody takes them all.
  std::size_t connections_per_peer = 2048;
  // For a request to arrive, from the end of the one before, and for an answer to be taken.
  // Longer spares idle clients new connections.
  Duration patience = std::chrono::seconds{60};
  std::string option = "--http";  // sets the address, as an error says
};

// A request that came in.
struct HttpCall {
  std::string method{};                          // GET also for HEAD
  std::string target{};                          // "/metrics?x=1", as it was sent
  std::map<std::string, std::string> headers{};  // names in lower case; equal ones joined by comma
  std::string body{};
  std::string peer{};  // the other end's address
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body{};
  std::map<std::string, std::string> headers{};  // further ones
};

// The way back of one call. Thread: any.
class HttpResponder {
 public:
  // The first answer counts. A call that nobody answers gets 503 when its last HttpResponder is
  // gone.
  void send(HttpResponse response) const;

 private:
  friend class HttpSession;
  struct State;
  explicit HttpResponder(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

struct HttpServerParts;

// An HTTP/1.1 server with keep-alive on a thread of its own.
//
// What it turns away itself, because it is too large, too slow or no HTTP, is logged.
//
// Web pages of other sites cannot reach it through a browser: a Host that is not one of this
// server's names or addresses, or an Origin that is not this server, gets 403.
//
// Thread: the owner's; the handler runs on the server's thread and must not wait there.
class HttpServer {
 public:
  using Handler = std::function<void(HttpCall call, HttpResponder responder)>;

  // Listens at "HOST:PORT"; port 0 takes a free one, host * all addresses.
  static Result<std::unique_ptr<HttpServer>> open(const std::string& address,
                                                  HttpServerConfig config, Handler handler);
  // No handler runs any more when it returns; answers still to be sent are lost.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // "http://127.0.0.1:8080", with the port that was taken.
  const std::string& url() const { return url_; }

 private:
  HttpServer(std::shared_ptr<HttpServerParts> parts, std::string url,
             std::unique_ptr<Thread> thread);

  std::shared_ptr<HttpServerParts> parts_;
  std::string url_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::net
