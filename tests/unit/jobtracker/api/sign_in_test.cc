#include "jobtracker/api/sign_in.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sign_in_bundle.h"

namespace carillon::jobtracker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kSession = "/api/v1/session";
constexpr const char* kEverywhere = "/api/v1/session?everywhere=true";
constexpr Duration kSpread = std::chrono::seconds{5};  // of changes to all job trackers

struct SignInTest : ::testing::Test {
  void SetUp() override {
    store.add(user_row("anna"));
    tracker.read();
    other.read();
  }

  // A link as `jobclient console` makes it.
  std::string add_link(const std::string& name = "0123abcd") {
    store.add(
        {.principal = {.kind = kLinkKind, .name = name, .role = Role::kAdmin, .groups = {"*"}},
         .secret = sha256_hex("secret"),
         .created_by = "root",
         .expires_at = clock.wall_now() + std::chrono::minutes{5}});
    tracker.read();
    other.read();
    return Json{{"one_time", name + ".secret"}}.dump();
  }

  ManualClock clock;
  PrincipalStore store;
  SignInTracker tracker{clock, store};
  SignInTracker other{clock, store};
  Browser browser;
};

TEST_F(SignInTest, SignsInWithAPassword) {
  const auto response = browser.sign_in(tracker, "anna");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.headers.at("Set-Cookie"), HasSubstr("; Path=/; HttpOnly; SameSite=Strict"));
  EXPECT_THAT(response.headers.at("Set-Cookie"), Not(HasSubstr("Secure")));
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["signed_in"], true);
  EXPECT_EQ(body["principal"]["name"], "anna");
  EXPECT_EQ(body["principal"]["role"], "editor");
  const auto principal = browser.principal(tracker);
  ASSERT_TRUE(principal);
  EXPECT_EQ(*principal, user_row("anna").principal);
}

TEST_F(SignInTest, SetsASecureCookieWithTls) {
  tracker.is_secure = true;
  EXPECT_THAT(browser.sign_in(tracker, "anna").headers.at("Set-Cookie"), HasSubstr("; Secure"));
}

TEST_F(SignInTest, DoesNotTellAWrongPasswordFromAnUnknownName) {
  const auto wrong = browser.sign_in(tracker, "anna", "wrong");
  const auto unknown = browser.sign_in(tracker, "bert", "wrong");
  EXPECT_EQ(wrong.status, 401);
  EXPECT_EQ(wrong.body, unknown.body);
  EXPECT_FALSE(browser.principal(tracker));
}

TEST_F(SignInTest, LetsNobodyInWithThePasswordOfAUserWithoutOne) {
  store.find(kUserKind, "anna")->secret = kNoPassword;
  tracker.read();
  EXPECT_EQ(browser.sign_in(tracker, "anna", kNoPassword).status, 401);
}

TEST_F(SignInTest, RefusesABodyThatIsNoSignIn) {
  for (const char* body : {"", "[]", "{}", R"({"name":"anna"})", R"({"name":1,"password":2})"})
    EXPECT_EQ(browser.ask(tracker, "POST", kSession, body).status, 400) << body;
  EXPECT_EQ(browser.ask(tracker, "PATCH", kSession).status, 405);
}

TEST_F(SignInTest, SessionsAreKnownToAllJobTrackersAndAfterARestart) {
  browser.sign_in(tracker, "anna");
  other.read();
  EXPECT_TRUE(browser.principal(other));
  SignInTracker restarted(clock, store);
  EXPECT_TRUE(browser.principal(restarted));
}

TEST_F(SignInTest, JobTrackersAgreeOnTheKeyOfCookies) {
  browser.ask(tracker, "GET", kSession);
  Browser second;
  second.ask(other, "GET", kSession);  // It has not read the key of the other one yet.
  second.sign_in(other, "anna");
  EXPECT_TRUE(second.principal(other));
  tracker.read();
  EXPECT_TRUE(second.principal(tracker));
}

TEST_F(SignInTest, CookiesOfAnotherStoreAreNothing) {
  PrincipalStore foreign;
  foreign.add(user_row("anna"));
  SignInTracker there(clock, foreign);
  browser.sign_in(there, "anna");
  EXPECT_TRUE(browser.principal(there));
  tracker.ask(browser.request("GET", kSession));
  EXPECT_FALSE(browser.principal(tracker));
}

TEST_F(SignInTest, ASessionExpires) {
  browser.sign_in(tracker, "anna");
  clock.advance(SignInConfig{}.session_length - std::chrono::seconds{1});
  EXPECT_TRUE(browser.principal(tracker));
  clock.advance(std::chrono::seconds{1});
  EXPECT_FALSE(browser.principal(tracker));
}

TEST_F(SignInTest, TheRoleIsTheStoredOneAtEachRequest) {
  browser.sign_in(tracker, "anna");
  store.find(kUserKind, "anna")->principal.role = Role::kViewer;
  tracker.read();
  EXPECT_EQ(browser.principal(tracker)->role, Role::kViewer);
}

TEST_F(SignInTest, SessionsOfARemovedUserEnd) {
  browser.sign_in(tracker, "anna");
  ASSERT_TRUE(store.remove(kUserKind, "anna").ok());
  tracker.read();
  EXPECT_FALSE(browser.principal(tracker));
}

// ---- foreign pages ----

TEST_F(SignInTest, ChangesNeedTheTokenOfTheirSession) {
  browser.sign_in(tracker, "anna");
  net::HttpCall change = browser.request("POST", "/api/v1/jobs");
  EXPECT_FALSE(tracker->refusal_of(change));
  change.headers.erase("x-csrf-token");
  ASSERT_TRUE(tracker->refusal_of(change));
  EXPECT_EQ(tracker->refusal_of(change)->status, 403);
  Browser second;
  second.sign_in(tracker, "anna");
  change.headers["x-csrf-token"] = second.csrf_token;
  EXPECT_TRUE(tracker->refusal_of(change));
  change.method = "GET";
  EXPECT_FALSE(tracker->refusal_of(change));
}

TEST_F(SignInTest, WithABearerTokenTheCookieDoesNotCount) {
  browser.sign_in(tracker, "anna");
  browser.csrf_token.clear();
  net::HttpCall change = browser.request("POST", "/api/v1/jobs");
  change.headers["authorization"] = "bearer crl_x";
  EXPECT_FALSE(tracker->refusal_of(change));
  EXPECT_FALSE(tracker->principal_of(change));
  change = browser.request("PUT", "/api/v1/session/language", R"({"language":"zh"})");
  change.headers["authorization"] = "bearer crl_x";
  EXPECT_EQ(tracker.ask(change).status, 401);
}

TEST_F(SignInTest, ABrowsersOwnPasswordPromptIsNoBearerToken) {
  browser.sign_in(tracker, "anna");
  browser.csrf_token.clear();
  net::HttpCall change = browser.request("POST", "/api/v1/jobs");
  change.headers["authorization"] = "Basic YW5uYTp4";
  EXPECT_TRUE(tracker->refusal_of(change));
  EXPECT_TRUE(tracker->principal_of(change));
}

TEST_F(SignInTest, SignOutAndOwnChangesNeedTheToken) {
  browser.sign_in(tracker, "anna");
  browser.csrf_token.clear();
  EXPECT_EQ(tracker.ask(browser.request("DELETE", kSession)).status, 403);
  EXPECT_EQ(tracker.ask(browser.request("PUT", "/api/v1/session/password", "{}")).status, 403);
  EXPECT_TRUE(browser.principal(tracker));
}

TEST_F(SignInTest, AReadOnlyConsoleChangesNothing) {
  SignInTracker watching(clock, store, {.is_read_only = true});
  const Json body = Json::parse(browser.sign_in(watching, "anna").body);
  EXPECT_EQ(body["read_only"], true);
  const auto refused = watching->refusal_of(browser.request("POST", "/api/v1/jobs?dry_run=true"));
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->body, HasSubstr("read-only"));
  EXPECT_FALSE(watching->refusal_of(browser.request("GET", "/api/v1/jobs")));
  EXPECT_FALSE(watching->refusal_of(browser.request("POST", "/api/v1/schedules:preview")));
  EXPECT_EQ(browser.ask(watching, "PUT", "/api/v1/session/language", R"({"language":"zh"})").status,
            403);
  EXPECT_EQ(browser.ask(watching, "DELETE", kSession).status, 200);
}

// ---- sign-out ----

TEST_F(SignInTest, SignOutEndsTheSessionOfACopiedCookie) {
  browser.sign_in(tracker, "anna");
  Browser second;
  second.sign_in(tracker, "anna");
  const Browser thief = browser;
  EXPECT_THAT(browser.ask(tracker, "DELETE", kSession).headers.at("Set-Cookie"),
              HasSubstr("carillon_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"));
  EXPECT_FALSE(thief.principal(tracker));
  other.read();
  EXPECT_FALSE(thief.principal(other));
  EXPECT_TRUE(second.principal(tracker));
}

TEST_F(SignInTest, SignOutEverywhereEndsAllSessionsOfTheUser) {
  store.add(user_row("bert"));
  tracker.read();
  browser.sign_in(tracker, "anna");
  Browser second;
  second.sign_in(tracker, "anna");
  Browser bert;
  bert.sign_in(tracker, "bert");
  const Browser thief = browser;
  clock.advance(std::chrono::seconds{1});
  EXPECT_EQ(browser.ask(tracker, "DELETE", kEverywhere).status, 200);
  other.read();
  for (SignInTracker* const one : {&tracker, &other}) {
    EXPECT_FALSE(thief.principal(*one));
    EXPECT_FALSE(second.principal(*one));
    EXPECT_TRUE(bert.principal(*one));
  }
  browser.sign_in(tracker, "anna");
  EXPECT_TRUE(browser.principal(tracker));
  EXPECT_EQ(store.find(kUserKind, "anna")->principal.role, Role::kEditor);
  EXPECT_EQ(store.find(kUserKind, "anna")->secret, password_hash());
}

TEST_F(SignInTest, SignOutWithoutASessionRemovesTheCookie) {
  browser.cookie = "rubbish";
  EXPECT_EQ(browser.ask(tracker, "DELETE", kSession).status, 200);
  EXPECT_EQ(browser.cookie, "");
}

// ---- one's own password and language ----

TEST_F(SignInTest, ANewPasswordEndsTheOtherSessions) {
  browser.sign_in(tracker, "anna");
  Browser second;
  second.sign_in(tracker, "anna");
  other.read();
  clock.advance(kSpread);
  const auto response = browser.ask(tracker, "PUT", "/api/v1/session/password",
                                    R"({"old":"correct horse","new":"battery staple"})");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(store.last_author().name, "anna");
  EXPECT_TRUE(browser.principal(tracker));
  EXPECT_FALSE(second.principal(tracker));
  EXPECT_TRUE(browser.principal(other)) << "which has not read the new password yet";
  clock.advance(kSpread);
  other.read();
  EXPECT_TRUE(browser.principal(other));
  EXPECT_FALSE(second.principal(other));
  EXPECT_EQ(second.sign_in(tracker, "anna").status, 401);
  EXPECT_EQ(second.sign_in(tracker, "anna", "battery staple").status, 200);
}

TEST_F(SignInTest, ANewPasswordNeedsTheOldOneAndALength) {
  browser.sign_in(tracker, "anna");
  const auto put = [&](const char* body) {
    return browser.ask(tracker, "PUT", "/api/v1/session/password", body);
  };
  EXPECT_THAT(put(R"({"old":"wrong","new":"battery staple"})").body, HasSubstr(R"("field":"old")"));
  EXPECT_THAT(put(R"({"old":"correct horse","new":"short"})").body, HasSubstr(R"("field":"new")"));
  EXPECT_EQ(put(R"({"new":"battery staple"})").status, 400);
  EXPECT_EQ(store.find(kUserKind, "anna")->secret, password_hash());
}

TEST_F(SignInTest, KeepsTheLanguage) {
  browser.sign_in(tracker, "anna");
  EXPECT_EQ(browser.ask(tracker, "PUT", "/api/v1/session/language", R"({"language":"zh"})").status,
            200);
  EXPECT_EQ(Json::parse(browser.ask(tracker, "GET", kSession).body)["principal"]["language"], "zh");
  EXPECT_EQ(store.find(kUserKind, "anna")->secret, password_hash());
  EXPECT_EQ(browser.ask(tracker, "PUT", "/api/v1/session/language", R"({"language":"xx"})").status,
            400);
}

// ---- links ----

TEST_F(SignInTest, ALinkSignsItsCreatorInOnce) {
  const std::string link = add_link();
  EXPECT_EQ(browser.ask(tracker, "POST", kSession, link).status, 200);
  const auto principal = browser.principal(tracker);
  ASSERT_TRUE(principal);
  EXPECT_EQ(*principal,
            (Principal{.kind = "local", .name = "root", .role = Role::kAdmin, .groups = {"*"}}));
  Browser second;
  EXPECT_EQ(second.ask(tracker, "POST", kSession, link).status, 401);
  EXPECT_EQ(second.ask(other, "POST", kSession, link).status, 401)
      << "which has not read of its use yet";
}

TEST_F(SignInTest, ALinkNeedsItsSecretAndExpires) {
  const std::string link = add_link();
  EXPECT_EQ(browser.ask(tracker, "POST", kSession, R"({"one_time":"0123abcd.guess"})").status, 401);
  EXPECT_EQ(browser.ask(tracker, "POST", kSession, R"({"one_time":"0123abcd"})").status, 401);
  clock.advance(std::chrono::minutes{5});
  EXPECT_EQ(browser.ask(tracker, "POST", kSession, link).status, 401);
}

TEST_F(SignInTest, TheLocalAdministratorSignsOutEverywhereToo) {
  browser.ask(tracker, "POST", kSession, add_link("aaaa"));
  Browser second;
  second.ask(tracker, "POST", kSession, add_link("bbbb"));
  clock.advance(std::chrono::seconds{1});
  browser.ask(tracker, "DELETE", kEverywhere);
  EXPECT_FALSE(second.principal(tracker));
  browser.ask(tracker, "POST", kSession, add_link("cccc"));
  EXPECT_TRUE(browser.principal(tracker));
}

TEST_F(SignInTest, TheLocalAdministratorHasNoPassword) {
  browser.ask(tracker, "POST", kSession, add_link());
  EXPECT_EQ(browser
                .ask(tracker, "PUT", "/api/v1/session/password",
                     R"({"old":"correct horse","new":"battery staple"})")
                .status,
            409);
}

// ---- limits ----

TEST_F(SignInTest, SlowsDownGuesses) {
  SignInTracker guarded(clock, store, {.throttle = {.free_of_name = 2}});
  EXPECT_EQ(browser.sign_in(guarded, "anna", "one").status, 401);
  EXPECT_EQ(browser.sign_in(guarded, "anna", "two").status, 401);
  const auto response = browser.sign_in(guarded, "anna");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.at("Retry-After"), "1");
  clock.advance(std::chrono::seconds{1});
  EXPECT_EQ(browser.sign_in(guarded, "anna").status, 200);
}

TEST_F(SignInTest, SaysThatItIsBusy) {
  tracker.is_busy = true;
  const auto response = browser.sign_in(tracker, "anna");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.at("Retry-After"), "1");
}

// ---- a proxy ----

struct ProxyTest : SignInTest {
  net::HttpCall request(const std::string& user, const std::string& groups = {},
                        const std::string& method = "GET") {
    net::HttpCall call = browser.request(method, "/api/v1/jobs");
    call.peer = "10.0.0.1";
    call.headers["x-user"] = user;
    call.headers["x-carillon-proxy-secret"] = "between us";
    if (!groups.empty()) call.headers["x-groups"] = groups;
    return call;
  }

  SignInTracker behind{
      clock,
      store,
      {.proxy = {.user_header = "x-user",
                 .groups_header = "x-groups",
                 .secret = "between us",
                 .rules = {parse_role_rule("groups=ops:operator:billing-*|mail").value(),
                           parse_role_rule("user=dora:admin:*").value()}}}};
};

TEST_F(ProxyTest, TakesTheUserFromTheProxyOnly) {
  net::HttpCall call = request("carl", "dev, ops");
  EXPECT_EQ(behind->principal_of(call), (Principal{.kind = "proxy",
                                                   .name = "carl",
                                                   .role = Role::kOperator,
                                                   .groups = {"billing-*", "mail"}}));
  call.peer = "127.0.0.1";
  EXPECT_FALSE(behind->principal_of(call));
}

TEST_F(ProxyTest, TheProxyMustKnowTheSecret) {
  net::HttpCall call = request("dora");
  for (const char* wrong : {"", "between", "between us, between us", "Between us"}) {
    call.headers["x-carillon-proxy-secret"] = wrong;
    EXPECT_FALSE(behind->principal_of(call)) << wrong;
  }
  call.headers.erase("x-carillon-proxy-secret");
  EXPECT_FALSE(behind->principal_of(call));
}

TEST_F(ProxyTest, WithoutARuleThereIsNoRole) {
  EXPECT_FALSE(behind->principal_of(request("carl", "dev")));
  EXPECT_FALSE(behind->principal_of(request("dora, carl", "ops"))) << "two headers";
  EXPECT_EQ(behind->principal_of(request("dora"))->role, Role::kAdmin);
}

TEST_F(ProxyTest, AStoredUserWithoutAPasswordHasTheStoredRole) {
  store.add(
      {.principal = {.kind = kUserKind, .name = "emil", .role = Role::kViewer, .groups = {"a"}},
       .secret = kNoPassword});
  behind.read();
  EXPECT_EQ(behind->principal_of(request("emil"))->role, Role::kViewer);
  EXPECT_FALSE(behind->principal_of(request("anna"))) << "who has a password";
}

TEST_F(ProxyTest, ChangesNeedTheToken) {
  net::HttpCall change = request("dora", "", "POST");
  EXPECT_TRUE(behind->refusal_of(change)) << "the key of the tokens is not known yet";
  net::HttpCall ask = request("dora");
  ask.target = kSession;
  EXPECT_EQ(Json::parse(behind.ask(ask).body)["signed_in"], true);
  change.headers["x-csrf-token"] = Json::parse(behind.ask(ask).body)["csrf_token"];
  EXPECT_FALSE(behind->refusal_of(change));
  change.headers["x-user"] = "carl";
  change.headers["x-groups"] = "ops";
  EXPECT_TRUE(behind->refusal_of(change));
}

TEST(SignInConfig, AProxysHeaderNeedsTheProxysSecret) {
  SignInConfig config{.proxy = {.user_header = "x-user"}};
  EXPECT_THAT(config.validate(true).error().message, HasSubstr("--proxy-secret-file"));
  config.proxy.secret = "two\nlines";
  EXPECT_FALSE(config.validate(true).ok());
  config.proxy = {.secret = "s"};
  EXPECT_FALSE(config.validate(true).ok());
}

TEST(SignInConfig, AProxysHeaderNeedsTheProxysAddress) {
  SignInConfig config{.proxy = {.user_header = "x-user", .secret = "s"}};
  EXPECT_FALSE(config.validate(false).ok());
  EXPECT_TRUE(config.validate(true).ok());
  config.proxy = {.groups_header = "x-groups"};
  EXPECT_FALSE(config.validate(true).ok());
}

// A desk that stores at once, for sign-in on threads of its own.
struct ThreadedTest : ::testing::Test {
  ThreadedTest() {
    store.add(user_row("anna"));
    registry.put_all(store.rows());
  }

  std::unique_ptr<SignIn> start() {
    SignIn::Surroundings around{.registry = registry, .clock = clock};
    around.desk.put_principal = [this](const wire::OnBehalf& author, const wire::PutPrincipal& put,
                                       const PrincipalDesk::Done& done) {
      const Status stored = store.put(author, put);
      registry.put_all(store.rows());
      done(stored);
    };
    return SignIn::start({}, around).value();
  }

  ManualClock clock;
  PrincipalStore store;
  AccessRegistry registry{[this] { return clock.wall_now(); }};
  Browser browser;
};

TEST_F(ThreadedTest, AnswersOnceThePasswordIsChecked) {
  const auto sign_in = start();
  std::promise<net::HttpResponse> answer;
  const auto call =
      browser.request("POST", kSession, R"({"name":"anna","password":"correct horse"})");
  sign_in->take(call, [&](net::HttpResponse given) { answer.set_value(std::move(given)); });
  EXPECT_EQ(answer.get_future().get().status, 200);
}

TEST_F(ThreadedTest, EndsWithPasswordsToCheck) {
  auto sign_in = start();
  const auto call = browser.request("POST", kSession, R"({"name":"anna","password":"guess"})");
  for (int i = 0; i < 5; ++i) sign_in->take(call, [](const net::HttpResponse&) {});
  sign_in.reset();
}

TEST(SignIn, IsNotReadyBeforeTheStoreIsRead) {
  const ManualClock clock;
  const AccessRegistry registry{[&] { return clock.wall_now(); }};
  const SignIn sign_in({}, {.registry = registry, .clock = clock}, {});
  Browser browser;
  browser.cookie = "x";
  const auto refusal = sign_in.refusal_of(browser.request("GET", "/api/v1/jobs"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 503);
}

}  // namespace
}  // namespace carillon::jobtracker
