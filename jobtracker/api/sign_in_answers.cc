#include "jobtracker/api/sign_in_answers.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "jobtracker/api/parameters.h"
#include "jobtracker/api/problem.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::web {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

net::HttpResponse problem(int status, const std::string& code, const std::string& detail,
                          const std::string& field) {
  net::HttpResponse response = api::response_of(
      api::Problem{.status = status, .code = code, .detail = detail, .field = field});
  response.headers["Cache-Control"] = "no-store";
  return response;
}

net::HttpResponse problem_of(const Error& error) {
  const api::Problem found = api::problem_of(error);
  return problem(found.status, found.code, found.detail, found.field);
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
        {"time", format_time(state.now)}}}};
  return {.content_type = "application/json",
          .body = text_of(body),
          .headers = {{"Cache-Control", "no-store"}}};
}

net::HttpResponse redirect(const std::string& location) {
  return {.status = 302, .headers = {{"Location", location}, {"Cache-Control", "no-store"}}};
}

net::HttpResponse redirect_to_sign_in(const std::string& error) {
  return redirect("/#/login?error=" + api::percent_encoded(error));
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
