#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobtracker/api/api.h"
#include "jobtracker/api/call_limits.h"
#include "jobtracker/api/event_feed.h"
#include "jobtracker/api/operations.h"
#include "shared/net/http/http_server.h"
#include "shared/net/http/refusal_log.h"

namespace carillon::jobtracker::api {

// The operations of the API. docs/reference/access.md has the same table.
std::vector<Route> all_routes();

// Answers the calls of /api/v1. It finds out who calls and passes the requests on, with the
// principal, through the gateway; whether the principal may do it is decided by the job tracker
// that owns the node group.
//
// docs/reference/http-api.md describes the API, and openapi.json its operations.
//
// Thread: the owner's; check_head() and call() on the HTTP server's.
class ApiServer {
 public:
  struct Config {
    ApiFacts facts{};
    std::string own_address{};  // of this job tracker, as others know it
    Gateway::MakeTransport make_transport{};
  };

  // Another way to be known, and other paths: the sign-in with a session. They are called on the
  // HTTP server's thread, and principal_of and secret also on the gateway's. `handle`: false, if
  // the path is another one.
  struct SignInHooks {
    std::function<std::optional<Principal>(const net::HttpCall& call)> principal_of{};
    // Why a request is refused before anything else: it comes from a foreign page, or the console
    // is read-only.
    std::function<std::optional<net::HttpResponse>(const net::HttpCall& head)> refusal_of{};
    std::function<bool(std::string_view target)> is_target{};  // whether `handle` takes it
    std::function<bool(const net::HttpCall& call, const net::HttpResponder& responder)> handle{};
    // The secret of the store. None: it has none yet, and one is being made.
    std::function<std::optional<std::string>()> secret{};
  };

  // `registry` must outlive it.
  static Result<std::unique_ptr<ApiServer>> start(Config config, const AccessRegistry& registry);
  // Requires: no call is in progress.
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Call it before the HTTP server is opened.
  void set_sign_in(SignInHooks hooks) { sign_in_ = std::move(hooks); }

  // What is answered by the head of a request; nothing: the body is read.
  std::optional<net::HttpResponse> check_head(const net::HttpCall& head) const;
  void call(net::HttpCall call, const net::HttpResponder& responder);

  Gateway& gateway() { return *gateway_; }

 private:
  ApiServer(Config config, const AccessRegistry& registry, std::unique_ptr<Gateway> gateway);
  std::optional<Principal> principal_of(const net::HttpCall& call) const;
  std::optional<Problem> refusal_of(const net::HttpCall& head, Router::Match* found) const;
  std::optional<std::string> secret() const;
  bool is_still_sender(const Principal& principal, const net::HttpCall& head) const;
  void handle(Handler handler, const ExchangePtr& exchange);
  void handle_when_ready(Handler handler, CallSize size, const ExchangePtr& exchange, int looks);

  const Config config_;
  const AccessRegistry& registry_;
  const Router router_;
  const CallLimits limits_{};
  SignInHooks sign_in_{};
  const std::unique_ptr<Gateway> gateway_;
  Operations operations_;
  EventFeed events_;
  Api api_;
};

}  // namespace carillon::jobtracker::api
