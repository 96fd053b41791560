#pragma once

#include <optional>
#include <string>

#include "carillon/result.h"
#include "carillon/time.h"
#include "jobtracker/api/console_session.h"
#include "shared/base/principal.h"
#include "shared/net/http/http_server.h"

// The answers to requests about sign-in. Thread: any.
namespace carillon::jobtracker::web {

// application/problem+json. `field`: of the request's body; empty: none in particular.
net::HttpResponse problem(int status, const std::string& code, const std::string& detail,
                          const std::string& field = {});
net::HttpResponse problem_of(const Error& error);
// 503 or 429: a client may repeat the request after this time.
net::HttpResponse try_later(int status, const std::string& detail, Duration after);

struct SessionState {
  std::optional<Principal> principal{};  // none: nobody is signed in
  std::string language{};
  std::string csrf_token{};
  bool is_read_only = false;
  std::string oidc_name{};  // of the provider; empty: none
  std::string server_name{};
  std::string server_version{};
  WallTime now{};
};
net::HttpResponse session_answer(const SessionState& state);

// 302. `location` is on this server or from the configuration.
net::HttpResponse redirect(const std::string& location);
// 302 to the page for sign-in, which shows the error.
net::HttpResponse redirect_to_sign_in(const std::string& error);

inline constexpr const char* kSessionCookie = "carillon_session";
inline constexpr const char* kAttemptCookie = "carillon_oidc";  // of a sign-in at the provider

// Adds a cookie that ends with the browser, or earlier. An empty value removes it.
void set_session_cookie(net::HttpResponse& response, const std::string& value, bool is_secure);
// The provider's redirect comes from another site, so this cookie is sent with links from there.
void set_attempt_cookie(net::HttpResponse& response, const std::string& value, bool is_secure,
                        Duration kept);

}  // namespace carillon::jobtracker::web
