#include "jobtracker/api/sign_in_answers.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "jobtracker/api/request_text.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::web {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* title_of(int status) {
  switch (status) {
    case 400:
      return "Bad request";
    case 401:
      return "Not signed in";
    case 403:
      return "Forbidden";
    case 404:
      return "Not found";
    case 405:
      return "Method not allowed";
    case 409:
      return "Conflict";
    case 429:
      return "Too many requests";
    case 503:
      return "Unavailable";
    case 504:
      return "Timeout";
    default:
      return "Error";
  }
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kTimeout:
      return 504;
    case ErrorCode::kLimit:
      return 429;
    case ErrorCode::kDenied:
      return 403;
    case ErrorCode::kCorrupt:
      break;
  }
  return 500;
}

// With microseconds.
std::string exact_time(WallTime time) {
  constexpr int kMicros = 1000;
  constexpr std::size_t kDigits = 3;
  std::string micros = std::to_string(time.time_since_epoch().count() % kMicros);
  micros.insert(0, kDigits - std::min(kDigits, micros.size()), '0');
  std::string text = format_time(time);
  text.insert(text.size() - 1, micros);  // before the Z
  return text;
}

}  // namespace

net::HttpResponse problem(int status, const std::string& code, const std::string& detail,
                          const std::string& field) {
  Json body{{"type", "about:blank"},
            {"title", title_of(status)},
            {"status", status},
            {"code", code},
            {"detail", detail}};
  if (!field.empty()) body["field"] = field;
  return {.status = status,
          .content_type = "application/problem+json",
          .body = text_of(body),
          .headers = {{"Cache-Control", "no-store"}}};
}

net::HttpResponse problem_of(const Error& error) {
  return problem(status_of(error.code), to_string(error.code), error.message);
}

net::HttpResponse try_later(int status, const std::string& detail, Duration after) {
  const auto seconds =
      std::max(std::chrono::ceil<std::chrono::seconds>(after), std::chrono::seconds{1});
  net::HttpResponse response = problem(
      status, to_string(status == 429 ? ErrorCode::kLimit : ErrorCode::kUnavailable), detail);
  response.headers["Retry-After"] = std::to_string(seconds.count());
  return response;
}

net::HttpResponse session_answer(const SessionState& state) {
  Json principal;
  if (state.principal) {
    principal = {{"name", state.principal->name},
                 {"kind", state.principal->kind},
                 {"role", to_string(state.principal->role)},
                 {"groups", state.principal->groups},
                 {"language", state.language}};
  }
  const Json body{
      {"signed_in", state.principal.has_value()},
      {"principal", std::move(principal)},
      {"csrf_token", state.csrf_token},
      {"read_only", state.is_read_only},
      {"methods",
       {{"password", true}, {"oidc", !state.oidc_name.empty()}, {"oidc_name", state.oidc_name}}},
      {"server",
       {{"name", state.server_name},
        {"version", state.server_version},
        {"time", exact_time(state.now)}}}};
  return {.content_type = "application/json",
          .body = text_of(body),
          .headers = {{"Cache-Control", "no-store"}}};
}

net::HttpResponse redirect(const std::string& location) {
  return {.status = 302, .headers = {{"Location", location}, {"Cache-Control", "no-store"}}};
}

net::HttpResponse redirect_to_sign_in(const std::string& error) {
  return redirect("/#/login?error=" + url_encoded(error));
}

void set_session_cookie(net::HttpResponse& response, const std::string& value, bool is_secure) {
  response.headers["Set-Cookie"] =
      std::string{kSessionCookie} + "=" + value + "; Path=/; HttpOnly; SameSite=Strict" +
      (is_secure ? "; Secure" : "") + (value.empty() ? "; Max-Age=0" : "");
}

void set_attempt_cookie(net::HttpResponse& response, const std::string& value, bool is_secure,
                        Duration kept) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kept);
  response.headers["Set-Cookie"] =
      std::string{kAttemptCookie} + "=" + value +
      "; Path=/api/v1/oidc; HttpOnly; SameSite=Lax; Max-Age=" + std::to_string(seconds.count()) +
      (is_secure ? "; Secure" : "");
}

}  // namespace carillon::jobtracker::web
