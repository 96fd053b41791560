#include <charconv>
#include <utility>

#include "jobtracker/api/request_text.h"
#include "jobtracker/api/sign_in.h"
#include "shared/base/secret.h"
#include "shared/base/signing.h"

// Sign-in by an OpenID provider. The state of an attempt is a signed text. It goes to the provider
// and into a cookie, so that only the browser that began the attempt can end it. The other values
// of the attempt are derived from it, so any job tracker can end it.
namespace carillon::jobtracker {
namespace {

constexpr Duration kAttemptMax = std::chrono::minutes{10};
constexpr std::string_view kStatePurpose = "oidc state";
constexpr std::size_t kStateBytes = 16;

std::string new_state(WallTime now, const std::string& key) {
  const std::int64_t end = (now + kAttemptMax).time_since_epoch().count();
  return sign_text(kStatePurpose,
                   std::to_string(end) + " " + to_base64url(random_bytes(kStateBytes)), key);
}

bool is_current(const std::string& state, WallTime now, const std::string& key) {
  const auto text = read_signed(kStatePurpose, state, key);
  std::int64_t end = 0;
  return text &&
         std::from_chars(text->data(), text->data() + text->size(), end).ec == std::errc{} &&
         WallTime{Duration{end}} > now;
}

}  // namespace

OidcAttempt SignIn::attempt_of(const std::string& state, const std::string& key,
                               const net::HttpCall& call) const {
  std::string origin = config_.console_url;
  if (origin.empty())
    origin = (is_secure(call) ? "https://" : "http://") + web::header_of(call, "host");
  if (origin.ends_with('/')) origin.pop_back();
  return {.state = state,
          .nonce = derive("oidc nonce", state, key),
          .verifier = derive("oidc verifier", state, key),
          .redirect_uri = origin + "/api/v1/oidc/callback"};
}

void SignIn::start_oidc(const net::HttpCall& call, const Answer& answer) {
  if (!config_.oidc.is_on())
    return answer(web::problem(404, "not_found", "no OpenID provider is set (--oidc-issuer)"));
  const bool is_queued = workers_.provider([this, call, answer] {
    const auto key = key_.wait();
    if (!key.ok()) return answer(web::redirect_to_sign_in(key.error().message));
    const OidcAttempt attempt =
        attempt_of(new_state(around_.clock.wall_now(), key.value()), key.value(), call);
    const auto url = provider_.sign_in_url(attempt);
    if (!url.ok()) {
      log_.warn("cannot use the OpenID provider", "error", url.error().message);
      return answer(web::redirect_to_sign_in(url.error().message));
    }
    net::HttpResponse response = web::redirect(url.value());
    web::set_attempt_cookie(response, attempt.state, is_secure(call), kAttemptMax);
    answer(std::move(response));
  });
  if (!is_queued) answer(web::redirect_to_sign_in("too many sign-ins at once, try again"));
}

void SignIn::end_oidc(const net::HttpCall& call, const Answer& answer) {
  if (!config_.oidc.is_on())
    return answer(web::problem(404, "not_found", "no OpenID provider is set (--oidc-issuer)"));
  const auto value = [&call](const char* name) {
    return web::query_value(call.target, name).value_or("");
  };
  const std::string state = value("state");
  const std::string code = value("code");
  const std::string issuer = value("iss");
  const auto key = key_.known();
  const bool is_own_attempt = key && !state.empty() &&
                              is_same_secret(web::cookie_of(call, web::kAttemptCookie), state) &&
                              is_current(state, around_.clock.wall_now(), *key);
  if (!is_own_attempt)
    return answer(web::redirect_to_sign_in(
        "this sign-in did not begin in this browser, or took longer than 10 minutes"));
  if (!issuer.empty() && issuer != config_.oidc.issuer)
    return answer(web::redirect_to_sign_in("the answer is of another OpenID provider"));
  if (code.empty())
    return answer(web::redirect_to_sign_in("the OpenID provider refuses: " + value("error")));
  const bool is_queued =
      workers_.provider([this, call, code, attempt = attempt_of(state, *key, call), answer] {
        auto response = sign_in_by_code(code, attempt, call);
        if (response.ok()) return answer(std::move(response).value());
        log_.warn("a sign-in by the OpenID provider failed", "error", response.error().message,
                  "address", call.peer);
        answer(web::redirect_to_sign_in(response.error().message));
      });
  if (!is_queued) answer(web::redirect_to_sign_in("too many sign-ins at once, try again"));
}

Result<net::HttpResponse> SignIn::sign_in_by_code(const std::string& code,
                                                  const OidcAttempt& attempt,
                                                  const net::HttpCall& call) {
  const Claims claims = CARILLON_TRY(provider_.claims_for(code, attempt));
  const OidcNames names = CARILLON_TRY(names_in(claims, config_.oidc.name_claim));
  const Person person = CARILLON_TRY(person_by_rules(claims, names, config_.oidc.rules));
  const std::string key = CARILLON_TRY(key_.wait());
  ConsoleSession session =
      make_session(kOidcKind, person.name, around_.clock.wall_now(), config_.session_length);
  session.own_role = person.own_role;
  Principal principal{.kind = session.kind, .name = person.name};
  if (person.own_role) principal.role = person.own_role->role;
  auto state = CARILLON_TRY(signed_in(session, principal, "", key, is_secure(call)));
  log_sign_in(log_, principal, call.peer);
  net::HttpResponse response = web::redirect("/");
  response.headers["Set-Cookie"] = state.headers.at("Set-Cookie");
  return response;
}

}  // namespace carillon::jobtracker
