#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/api/request_text.h"
#include "shared/base/signing.h"
#include "shared/wire/base64.h"
#include "tests/support/jwt_signer.h"
#include "tests/support/sign_in_bundle.h"

namespace carillon::jobtracker {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kIssuer = "https://id.example.com/realm";

// An OpenID provider that has authenticated "carl" and redirected the browser with the code
// "code-1".
class FakeProvider {
 public:
  Result<net::HttpReply> answer(const HttpRequest& request) {
    if (is_down) return Error{ErrorCode::kUnavailable, "connection refused"};
    if (request.url == std::string{kIssuer} + "/.well-known/openid-configuration") {
      ++discoveries;
      return reply(configuration);
    }
    if (request.url == "https://id.example.com/keys") {
      ++key_reads;
      return net::HttpReply{.status = 200, .body = signer->jwk_set()};
    }
    if (request.url == "https://id.example.com/token") return token_for(request);
    return net::HttpReply{.status = 404};
  }

  // What the browser brought to the provider.
  void take(const std::string& location) {
    redirect_uri = web::query_value(location, "redirect_uri").value();
    challenge = web::query_value(location, "code_challenge").value();
    state = web::query_value(location, "state").value();
    claims["nonce"] = web::query_value(location, "nonce").value();
  }

  Json configuration{{"issuer", kIssuer},
                     {"authorization_endpoint", "https://id.example.com/auth"},
                     {"token_endpoint", "https://id.example.com/token"},
                     {"jwks_uri", "https://id.example.com/keys"},
                     {"scopes_supported", {"openid", "groups"}}};
  std::unique_ptr<JwtSigner> signer = std::make_unique<JwtSigner>(JwtSigner::elliptic("first"));
  Json claims{{"iss", kIssuer},
              {"aud", "console"},
              {"sub", "4711"},
              {"preferred_username", "carl"},
              {"groups", {"dev", "ops"}}};
  std::string redirect_uri{};
  std::string challenge{};
  std::string state{};
  HttpRequest last_token_request{};
  bool is_down = false;
  int discoveries = 0;
  int key_reads = 0;

 private:
  static net::HttpReply reply(const Json& json, int status = 200) {
    return {.status = status, .body = json.dump()};
  }

  Result<net::HttpReply> token_for(const HttpRequest& request) {
    last_token_request = request;
    const auto field = [&](const char* name) {
      return web::query_value("?" + request.body, name).value_or("");
    };
    const bool is_right = field("grant_type") == "authorization_code" &&
                          field("code") == "code-1" && field("redirect_uri") == redirect_uri &&
                          to_base64url(sha256_bytes(field("code_verifier"))) == challenge;
    if (!is_right) return reply({{"error", "invalid_grant"}}, 400);
    return reply({{"id_token", signer->token(claims.dump())}, {"access_token", "x"}});
  }
};

struct OidcTest : ::testing::Test {
  OidcTest() {
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now().time_since_epoch());
    provider.claims["exp"] = now.count() + 300;
  }

  SignInConfig config() const {
    return {.oidc = {.issuer = kIssuer,
                     .client_id = "console",
                     .client_secret = "shh:&",
                     .rules = {parse_role_rule("groups=ops:operator:mail").value()}}};
  }

  void add_without_password(const std::string& name, Role role) {
    PrincipalRow row = user_row(name, role);
    row.secret = kNoPassword;
    store.add(row);
    tracker.read();
  }

  // Sends the browser to the provider, which redirects it.
  net::HttpResponse start() {
    const auto response = browser.ask(tracker, "GET", "/api/v1/oidc/start");
    const auto& location = response.headers.at("Location");
    if (location.starts_with("https://id.example.com/auth")) provider.take(location);
    const auto cookie = response.headers.find("Set-Cookie");
    if (cookie != response.headers.end())
      attempt = cookie->second.substr(0, cookie->second.find(';'));
    return response;
  }

  net::HttpResponse come_back(SignInTracker& to, const std::string& query) {
    net::HttpCall call = browser.request("GET", "/api/v1/oidc/callback?" + query);
    call.headers["cookie"] = attempt;
    auto response = to.ask(call);
    const auto cookie = response.headers.find("Set-Cookie");
    if (cookie != response.headers.end() && cookie->second.starts_with("carillon_session="))
      browser.cookie = cookie->second.substr(17, cookie->second.find(';') - 17);
    return response;
  }
  net::HttpResponse come_back() {
    return come_back(tracker, "code=code-1&state=" + provider.state);
  }
  // The reason that the page for sign-in shows.
  static std::string reason(const net::HttpResponse& response) {
    const std::string& location = response.headers.at("Location");
    if (!location.starts_with("/#/login?error=")) return "signed in";
    return web::query_value(location.substr(3), "error").value();
  }

  ManualClock clock;
  PrincipalStore store;
  FakeProvider provider;
  SignInTracker tracker{clock, store, config(),
                        [this](const HttpRequest& request) { return provider.answer(request); }};
  Browser browser;
  std::string attempt{};  // the cookie of the attempt
};

TEST_F(OidcTest, SendsTheBrowserToTheProvider) {
  const auto response = start();
  EXPECT_EQ(response.status, 302);
  const std::string& location = response.headers.at("Location");
  EXPECT_THAT(location, StartsWith("https://id.example.com/auth?response_type=code"));
  EXPECT_EQ(web::query_value(location, "client_id"), "console");
  EXPECT_EQ(web::query_value(location, "code_challenge_method"), "S256");
  EXPECT_EQ(web::query_value(location, "scope"), "openid profile email groups");
  EXPECT_EQ(provider.redirect_uri, "http://carillon.example.com:8080/api/v1/oidc/callback");
  EXPECT_THAT(response.headers.at("Set-Cookie"),
              HasSubstr("; Path=/api/v1/oidc; HttpOnly; SameSite=Lax; Max-Age=600"));
}

TEST_F(OidcTest, SignsInWithTheRoleOfARule) {
  start();
  const auto response = come_back();
  EXPECT_EQ(reason(response), "signed in");
  EXPECT_EQ(response.headers.at("Location"), "/");
  EXPECT_THAT(response.headers.at("Set-Cookie"), HasSubstr("SameSite=Strict"));
  EXPECT_EQ(
      browser.principal(tracker),
      (Principal{.kind = "oidc", .name = "carl", .role = Role::kOperator, .groups = {"mail"}}));
  EXPECT_EQ(provider.last_token_request.headers.at("Authorization"),
            "Basic " + wire::to_base64("console:shh%3A%26"));
}

TEST_F(OidcTest, AnotherJobTrackerMayEndTheAttempt) {
  SignInTracker other(clock, store, config(),
                      [this](const HttpRequest& request) { return provider.answer(request); });
  start();
  other.read();
  EXPECT_EQ(reason(come_back(other, "code=code-1&state=" + provider.state)), "signed in");
}

TEST_F(OidcTest, UsesTheConfiguredAddress) {
  SignInConfig given = config();
  given.console_url = "https://jobs.example.com/";
  SignInTracker behind(clock, store, given,
                       [this](const HttpRequest& request) { return provider.answer(request); });
  provider.take(browser.ask(behind, "GET", "/api/v1/oidc/start").headers.at("Location"));
  EXPECT_EQ(provider.redirect_uri, "https://jobs.example.com/api/v1/oidc/callback");
}

TEST_F(OidcTest, SendsTheSecretInTheBodyIfTheProviderWantsIt) {
  provider.configuration["token_endpoint_auth_methods_supported"] = {"client_secret_post"};
  start();
  EXPECT_EQ(reason(come_back()), "signed in");
  EXPECT_THAT(provider.last_token_request.body, HasSubstr("&client_secret=shh%3A%26"));
  EXPECT_FALSE(provider.last_token_request.headers.contains("Authorization"));
}

TEST_F(OidcTest, OnlyTheBrowserThatBeganMayEnd) {
  start();
  attempt.clear();
  EXPECT_THAT(reason(come_back()), HasSubstr("did not begin in this browser"));
  const std::string state = provider.state;
  start();
  EXPECT_THAT(reason(come_back(tracker, "code=code-1&state=" + state)),
              HasSubstr("did not begin in this browser"));
}

TEST_F(OidcTest, AnAttemptIsSigned) {
  start();
  attempt = "carillon_oidc=forged.state";
  EXPECT_THAT(reason(come_back(tracker, "code=code-1&state=forged.state")),
              HasSubstr("did not begin in this browser"));
}

TEST_F(OidcTest, AnAttemptExpires) {
  start();
  clock.advance(std::chrono::minutes{10});
  EXPECT_THAT(reason(come_back()), HasSubstr("10 minutes"));
}

TEST_F(OidcTest, ShowsTheProvidersRefusal) {
  start();
  EXPECT_THAT(reason(come_back(tracker, "error=access_denied&state=" + provider.state)),
              HasSubstr("access_denied"));
  EXPECT_THAT(reason(come_back(tracker, "code=code-2&state=" + provider.state)),
              HasSubstr("invalid_grant"));
}

TEST_F(OidcTest, RefusesTheAnswerOfAnotherProvider) {
  start();
  EXPECT_THAT(
      reason(come_back(tracker, "code=code-1&iss=https://evil.example&state=" + provider.state)),
      HasSubstr("another OpenID provider"));
}

TEST_F(OidcTest, RefusesATokenOfAnotherSignIn) {
  start();
  provider.claims["nonce"] = "replayed";
  EXPECT_THAT(reason(come_back()), HasSubstr("another sign-in"));
  EXPECT_FALSE(browser.principal(tracker));
}

TEST_F(OidcTest, RefusesATokenForAnotherClient) {
  start();
  provider.claims["aud"] = "wiki";
  EXPECT_THAT(reason(come_back()), HasSubstr("another client"));
}

TEST_F(OidcTest, ReadsTheKeysAgainForAnUnknownKey) {
  start();
  EXPECT_EQ(reason(come_back()), "signed in");
  provider.signer = std::make_unique<JwtSigner>(JwtSigner::rsa("second"));
  start();
  EXPECT_THAT(reason(come_back()), HasSubstr("no key 'second'")) << "they were read just now";
  clock.advance(std::chrono::seconds{10});
  start();
  EXPECT_EQ(reason(come_back()), "signed in");
  EXPECT_EQ(provider.key_reads, 2);
  EXPECT_EQ(provider.discoveries, 1);
}

TEST_F(OidcTest, WithoutARuleThereIsNoRole) {
  provider.claims["groups"] = "dev";
  start();
  EXPECT_THAT(reason(come_back()), HasSubstr("'carl' has no role"));
}

TEST_F(OidcTest, OnlyAVerifiedEmailCounts) {
  SignInConfig given = config();
  given.oidc.rules = {parse_role_rule("email=boss@example.com:admin:*").value()};
  SignInTracker strict(clock, store, given,
                       [this](const HttpRequest& request) { return provider.answer(request); });
  const auto sign_in = [&] {
    provider.take(browser.ask(strict, "GET", "/api/v1/oidc/start").headers.at("Location"));
    attempt = "carillon_oidc=" + provider.state;
    return reason(come_back(strict, "code=code-1&state=" + provider.state));
  };
  provider.claims.erase("preferred_username");
  provider.claims["email"] = "boss@example.com";
  EXPECT_THAT(sign_in(), HasSubstr("'4711' has no role"));
  for (const Json& unverified : {Json(false), Json("false"), Json("yes"), Json(1), Json(nullptr)}) {
    provider.claims["email_verified"] = unverified;
    EXPECT_THAT(sign_in(), HasSubstr("'4711' has no role")) << unverified;
  }
  provider.claims["email_verified"] = true;
  EXPECT_EQ(sign_in(), "signed in");
  EXPECT_EQ(browser.principal(strict)->name, "boss@example.com");
}

TEST_F(OidcTest, AStoredUserWithoutAPasswordHasTheStoredRole) {
  add_without_password("4711", Role::kViewer);
  start();
  EXPECT_EQ(reason(come_back()), "signed in");
  EXPECT_EQ(browser.principal(tracker)->name, "4711");
  EXPECT_EQ(browser.principal(tracker)->role, Role::kViewer);
  ASSERT_TRUE(store.remove(kUserKind, "4711").ok());
  tracker.read();
  EXPECT_FALSE(browser.principal(tracker)) << "the session had no role of its own";
}

TEST_F(OidcTest, AStoredUserKeepsTheLanguage) {
  add_without_password("4711", Role::kViewer);
  start();
  EXPECT_EQ(reason(come_back()), "signed in");
  browser.ask(tracker, "GET", "/api/v1/session");
  EXPECT_EQ(browser.ask(tracker, "PUT", "/api/v1/session/language", R"({"language":"zh"})").status,
            200);
  EXPECT_EQ(store.find(kUserKind, "4711")->language, "zh");
  EXPECT_EQ(store.find(kUserKind, "4711")->secret, kNoPassword);
  EXPECT_EQ(store.find(kUserKind, "4711")->principal.role, Role::kViewer);
}

TEST_F(OidcTest, AChosenNameTakesOverNobody) {
  add_without_password("carl", Role::kAdmin);
  start();
  EXPECT_EQ(reason(come_back()), "signed in");
  EXPECT_EQ(browser.principal(tracker)->role, Role::kOperator) << "by the rule";
  EXPECT_EQ(browser.ask(tracker, "PUT", "/api/v1/session/language", R"({"language":"zh"})").status,
            403)
      << "the token is not known yet";
  browser.ask(tracker, "GET", "/api/v1/session");
  EXPECT_EQ(browser.ask(tracker, "PUT", "/api/v1/session/language", R"({"language":"zh"})").status,
            409);
  provider.claims["groups"] = "dev";
  start();
  EXPECT_THAT(reason(come_back()), HasSubstr("no user without a password named '4711'"));
}

TEST_F(OidcTest, TheAdministratorMayTrustAnotherClaim) {
  SignInConfig given = config();
  given.oidc.name_claim = "preferred_username";
  add_without_password("carl", Role::kViewer);
  SignInTracker trusting(clock, store, given,
                         [this](const HttpRequest& request) { return provider.answer(request); });
  provider.take(browser.ask(trusting, "GET", "/api/v1/oidc/start").headers.at("Location"));
  attempt = "carillon_oidc=" + provider.state;
  EXPECT_EQ(reason(come_back(trusting, "code=code-1&state=" + provider.state)), "signed in");
  EXPECT_EQ(browser.principal(trusting)->name, "carl");
  EXPECT_EQ(browser.principal(trusting)->role, Role::kViewer);
}

TEST_F(OidcTest, DoesNotTakeOverAUserWithAPassword) {
  store.add(user_row("carl", Role::kAdmin));
  tracker.read();
  start();
  EXPECT_EQ(reason(come_back()), "signed in");
  EXPECT_EQ(browser.principal(tracker)->role, Role::kOperator);
}

TEST_F(OidcTest, NamesThePerson) {
  const auto shown = [](const Claims& claims) { return names_in(claims, "").value().shown; };
  EXPECT_EQ(shown({{"preferred_username", {"carl"}}, {"email", {"c@x.org"}}, {"sub", {"1"}}}),
            "carl");
  EXPECT_EQ(shown({{"email", {"c@x.org"}}, {"sub", {"1"}}}), "c@x.org");
  EXPECT_EQ(shown({{"sub", {"1"}}}), "1");
  EXPECT_FALSE(names_in({{"preferred_username", {"carl\nadmin"}}, {"sub", {"1"}}}, "").ok());
}

TEST_F(OidcTest, NamesAStoredUserByTheSubjectOrTheTrustedClaim) {
  const Claims claims{{"preferred_username", {"carl"}}, {"upn", {"c@x.org"}}, {"sub", {"a|1"}}};
  EXPECT_EQ(names_in(claims, "").value().stored, "a|1");
  EXPECT_EQ(names_in(claims, "upn").value().stored, "c@x.org");
  EXPECT_EQ(names_in(claims, "upn").value().shown, "c@x.org");
  EXPECT_THAT(names_in(claims, "email").error().message, HasSubstr("no claim 'email'"));
  EXPECT_FALSE(names_in(claims, "sub").ok()) << "it cannot be the name of a principal";
}

TEST_F(OidcTest, SaysThatTheProviderIsDown) {
  provider.is_down = true;
  EXPECT_THAT(reason(start()), HasSubstr("does not answer: connection refused"));
}

TEST_F(OidcTest, RefusesAProviderWithAnotherName) {
  provider.configuration["issuer"] = "https://id.example.com";
  EXPECT_THAT(reason(start()), HasSubstr("calls itself"));
}

TEST_F(OidcTest, RefusesAProviderWithoutTls) {
  provider.configuration["token_endpoint"] = "http://id.example.com/token";
  EXPECT_THAT(reason(start()), HasSubstr("must begin with https://"));
  EXPECT_FALSE((OidcConfig{.issuer = "http://id.example.com", .client_id = "c"}).validate().ok());
  EXPECT_TRUE((OidcConfig{.issuer = "http://127.0.0.1:9", .client_id = "c"}).validate().ok());
  EXPECT_FALSE((OidcConfig{.issuer = kIssuer}).validate().ok());
  EXPECT_FALSE((OidcConfig{.client_id = "c"}).validate().ok());
  EXPECT_FALSE((OidcConfig{.name_claim = "upn"}).validate().ok());
}

TEST_F(OidcTest, WithoutAProviderThereIsNoSuchSignIn) {
  SignInTracker without(clock, store);
  EXPECT_EQ(browser.ask(without, "GET", "/api/v1/oidc/start").status, 404);
  EXPECT_EQ(browser.ask(without, "GET", "/api/v1/oidc/callback?code=1").status, 404);
  const Json methods = Json::parse(browser.ask(tracker, "GET", "/api/v1/session").body)["methods"];
  EXPECT_EQ(methods, (Json{{"password", true}, {"oidc", true}, {"oidc_name", "id.example.com"}}));
}

}  // namespace
}  // namespace carillon::jobtracker
