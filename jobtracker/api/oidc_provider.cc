#include "jobtracker/api/oidc_provider.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "jobtracker/api/parameters.h"
#include "shared/base/signing.h"
#include "shared/net/http_url.h"
#include "shared/wire/base64.h"

namespace carillon::jobtracker {
namespace {

using Json = nlohmann::json;

constexpr Duration kDiscoveryKept = std::chrono::hours{1};
// Least time between two reads of the keys, so that forged tokens do not cause many.
constexpr Duration kKeysPause = std::chrono::seconds{10};
constexpr int kOk = 200;

Error unavailable(const std::string& why) {
  return {ErrorCode::kUnavailable, "the OpenID provider " + why};
}

Result<Json> parse_object(const std::string& text, const std::string& what) {
  Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object()) return unavailable("sent " + what + " that is no JSON object");
  return parsed;
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

bool lists(const Json& object, const char* name, const std::string& word) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return false;
  for (const Json& item : *found) {
    if (item.is_string() && item.get<std::string>() == word) return true;
  }
  return false;
}

// Without TLS others could read the code and forge the keys, so plain HTTP stays on this machine.
Status check_provider_url(const std::string& text) {
  const net::HttpUrl url = CARILLON_TRY(net::parse_http_url(text));
  const bool is_local = url.host == "localhost" || url.host == "127.0.0.1" || url.host == "::1";
  if (url.scheme == "https" || is_local) return {};
  return Error{ErrorCode::kInvalidArgument, "'" + text + "' must begin with https://"};
}

std::string without_slash(std::string text) {
  if (text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

Status OidcConfig::validate() const {
  if (!is_on()) {
    if (client_id.empty() && client_secret.empty() && name_claim.empty() && rules.empty())
      return {};
    return Error{ErrorCode::kInvalidArgument,
                 "--oidc-client-id, --oidc-client-secret-file, --oidc-name-claim and --oidc-role "
                 "need --oidc-issuer"};
  }
  if (const Status fine = check_provider_url(issuer); !fine.ok())
    return fine.error().with_context("--oidc-issuer");
  if (client_id.empty())
    return Error{ErrorCode::kInvalidArgument, "--oidc-issuer needs --oidc-client-id"};
  return {};
}

OidcProvider::OidcProvider(OidcConfig config, Fetch fetch, const Clock& clock)
    : config_(std::move(config)), fetch_(std::move(fetch)), clock_(clock) {}

Result<std::string> OidcProvider::get(const std::string& url) {
  auto reply = fetch_({.url = url, .headers = {{"Accept", "application/json"}}});
  if (!reply.ok()) return unavailable("does not answer: " + reply.error().message);
  if (reply.value().status != kOk || reply.value().body_cut)
    return unavailable("answers " + url + " with status " + std::to_string(reply.value().status));
  return std::move(reply.value().body);
}

Status OidcProvider::discover() {
  const SteadyTime now = clock_.steady_now();
  if (discovered_ && discovered_->at + kDiscoveryKept > now) return {};
  const std::string text =
      CARILLON_TRY(get(without_slash(config_.issuer) + "/.well-known/openid-configuration"));
  const Json document = CARILLON_TRY(parse_object(text, "a configuration"));
  if (text_of(document, "issuer") != config_.issuer) {
    return unavailable("calls itself '" + text_of(document, "issuer") + "', not '" +
                       config_.issuer + "' (set --oidc-issuer to its own name)");
  }
  Discovered found{.authorization_endpoint = text_of(document, "authorization_endpoint"),
                   .token_endpoint = text_of(document, "token_endpoint"),
                   .jwks_uri = text_of(document, "jwks_uri"),
                   .has_groups_scope = lists(document, "scopes_supported", "groups"),
                   .at = now};
  constexpr const char* kMethods = "token_endpoint_auth_methods_supported";
  found.takes_basic =
      !document.contains(kMethods) || lists(document, kMethods, "client_secret_basic");
  for (const std::string* url :
       {&found.authorization_endpoint, &found.token_endpoint, &found.jwks_uri}) {
    const Status fine = check_provider_url(*url);
    if (!fine.ok()) return unavailable("has a wrong configuration: " + fine.error().message);
  }
  discovered_ = std::move(found);
  return {};
}

Status OidcProvider::fetch_keys() {
  const std::string text = CARILLON_TRY(get(discovered_->jwks_uri));
  keys_ = CARILLON_TRY(net::parse_jwk_set(text));
  keys_at_ = clock_.steady_now();
  return {};
}

Result<std::string> OidcProvider::sign_in_url(const OidcAttempt& attempt) {
  CARILLON_TRY(discover());
  const std::string& endpoint = discovered_->authorization_endpoint;
  std::string url = endpoint + (endpoint.find('?') == std::string::npos ? '?' : '&');
  url += "response_type=code&code_challenge_method=S256";
  const std::string scope =
      std::string{"openid profile email"} + (discovered_->has_groups_scope ? " groups" : "");
  for (const auto& [name, value] :
       {std::pair<const char*, std::string>{"client_id", config_.client_id},
        {"scope", scope},
        {"redirect_uri", attempt.redirect_uri},
        {"state", attempt.state},
        {"nonce", attempt.nonce},
        {"code_challenge", to_base64url(sha256_bytes(attempt.verifier))}})
    url += std::string{"&"} + name + "=" + api::percent_encoded(value);
  return url;
}

Result<std::string> OidcProvider::id_token_for(const std::string& code,
                                               const OidcAttempt& attempt) {
  HttpRequest request{.method = "POST",
                      .url = discovered_->token_endpoint,
                      .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                                  {"Accept", "application/json"}}};
  request.body = "grant_type=authorization_code&code=" + api::percent_encoded(code) +
                 "&redirect_uri=" + api::percent_encoded(attempt.redirect_uri) +
                 "&client_id=" + api::percent_encoded(config_.client_id) +
                 "&code_verifier=" + api::percent_encoded(attempt.verifier);
  if (!config_.client_secret.empty() && discovered_->takes_basic) {
    request.headers["Authorization"] =
        "Basic " + wire::to_base64(api::percent_encoded(config_.client_id) + ":" +
                                   api::percent_encoded(config_.client_secret));
  } else if (!config_.client_secret.empty()) {
    request.body += "&client_secret=" + api::percent_encoded(config_.client_secret);
  }
  const auto reply = fetch_(request);
  if (!reply.ok()) return unavailable("does not answer: " + reply.error().message);
  const Json answer = CARILLON_TRY(parse_object(reply.value().body, "an answer"));
  if (reply.value().status != kOk) {
    return Error{ErrorCode::kDenied, "the OpenID provider refuses the code with status " +
                                         std::to_string(reply.value().status) + " " +
                                         text_of(answer, "error")};
  }
  std::string token = text_of(answer, "id_token");
  if (token.empty()) return unavailable("sent no ID token");
  return token;
}

Result<Claims> OidcProvider::claims_for(const std::string& code, const OidcAttempt& attempt) {
  CARILLON_TRY(discover());
  const std::string token = CARILLON_TRY(id_token_for(code, attempt));
  const net::JwtExpectation expectation{.issuer = config_.issuer,
                                        .audience = config_.client_id,
                                        .nonce = attempt.nonce,
                                        .now = clock_.wall_now()};
  const bool is_first = !keys_at_;
  if (is_first) CARILLON_TRY(fetch_keys());
  auto claims = net::verify_jwt(token, keys_, expectation);
  const bool is_unknown_key = !claims.ok() && claims.error().code == ErrorCode::kNotFound;
  if (is_unknown_key && !is_first && *keys_at_ + kKeysPause <= clock_.steady_now()) {
    CARILLON_TRY(fetch_keys());
    claims = net::verify_jwt(token, keys_, expectation);
  }
  // Many providers let people enter any address.
  if (claims.ok() && net::claim_text(claims.value(), "email_verified") != "true")
    claims.value().erase("email");
  return claims;
}

Result<OidcNames> names_in(const Claims& claims, const std::string& name_claim) {
  OidcNames names;
  if (name_claim.empty()) {
    names.stored = net::claim_text(claims, "sub");
    for (const char* claim : {"preferred_username", "email", "sub"}) {
      if (names.shown.empty()) names.shown = net::claim_text(claims, claim);
    }
  } else {
    names.stored = net::claim_text(claims, name_claim);
    names.shown = names.stored;
    if (names.shown.empty())
      return Error{ErrorCode::kDenied, "the OpenID provider sent no claim '" + name_claim +
                                           "', which names the user (--oidc-name-claim)"};
  }
  if (const Status fine = check_principal_name(names.shown); !fine.ok())
    return Error{ErrorCode::kDenied,
                 "the OpenID provider's name of the user cannot be used: " + fine.error().message};
  return names;
}

}  // namespace carillon::jobtracker
