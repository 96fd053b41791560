#include "jobtracker/http/xxl_admin.h"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/net/http/http_client.h"
#include "shared/net/http/http_server.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/thread.h"
#include "shared/wire/xxl/read.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using wire::xxl::RunResult;

constexpr const char* kSuccess =
    R"({"code":200,"msg":null,"content":null,"data":null,"success":true})";
constexpr const char* kRegistration =
    R"({"registryGroup":"EXECUTOR","registryKey":"billing","registryValue":"http://10.1.2.3:9999/"})";

// An admin behind its HTTP server, and a loop that stores what comes.
struct Admin {
  explicit Admin(XxlAdminConfig config = {}) : desk(std::move(config), loop, clock, functions()) {
    desk.set_open(true);
  }

  XxlAdmin::Desk functions() {
    return {.take =
                [this](ExecutorRequest request, OnStored done) {
                  requests.push_back(std::move(request));
                  if (forgets) return;
                  if (is_slow) return waiting.push_back(std::move(done));
                  done(stored);
                },
            .manage =
                [this](ManageJob call, const OnManaged& done) {
                  calls.push_back(std::move(call));
                  done(managed);
                },
            .token_of =
                [this](const std::string& app_name) {
                  return std::string{app_name == "billing" ? token_of_billing : ""};
                },
            .apps_of_run =
                [](std::int64_t log_id) {
                  std::vector<std::string> apps;
                  if (log_id == 1) apps = {"billing"};
                  if (log_id == 2) apps = {"mail"};
                  if (log_id == 12) apps = {"billing", "mail"};
                  return apps;
                }};
  }

  // The answer to a request, while the loop runs.
  net::HttpReply send(HttpRequest request) {
    Result<net::HttpReply> reply = Error{ErrorCode::kUnavailable, "not asked yet"};
    std::atomic<bool> is_done{false};
    const std::atomic<bool> cancelled{false};
    const auto sender = Thread::start("sender", [&] {
      reply = net::send_http(request, seconds{10}, 1'000'000, cancelled);
      is_done = true;
      loop.wake();
    });
    while (!is_done) loop.run_once(milliseconds{20});
    sender.value()->join();
    EXPECT_TRUE(reply.ok()) << (reply.ok() ? "" : reply.error().message);
    return reply.ok() ? reply.value() : net::HttpReply{};
  }
  net::HttpReply post(const std::string& path, const std::string& body,
                      std::map<std::string, std::string> headers = {}) {
    return send({.method = "POST",
                 .url = server->url() + path,
                 .headers = {headers.begin(), headers.end()},
                 .body = body});
  }
  ExecutorRegistration registration() const {
    return std::get<ExecutorRegistration>(requests.at(0));
  }
  std::vector<RunResult> results() const {
    return std::get<ExecutorResults>(requests.at(0)).results;
  }

  SystemClock clock;
  EventLoop loop{clock};
  std::vector<ExecutorRequest> requests;
  std::vector<ManageJob> calls;
  Result<std::string> managed = std::string{};
  std::deque<OnStored> waiting;
  Status stored{};
  std::string token_of_billing;
  bool is_slow = false;
  bool forgets = false;
  XxlAdmin desk;
  std::unique_ptr<net::HttpServer> server =
      net::HttpServer::open("127.0.0.1:0", {.body_max = XxlAdmin::kBodyMax},
                            [this](const net::HttpCall& call, const net::HttpResponder& responder) {
                              desk.call(call, responder);
                            })
          .value();
};

std::string message_of(const net::HttpReply& reply) {
  EXPECT_EQ(reply.status, 200) << "executors read the code, under this status only";
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  const auto read = wire::xxl::read_reply(reply.body);
  EXPECT_TRUE(read.ok()) << reply.body;
  if (!read.ok()) return {};
  EXPECT_EQ(read.value().ok(), read.value().message.empty());
  return read.value().message;
}

TEST(XxlAdmin, AcceptsARegistrationOnBothApiRoots) {
  for (const char* path :
       {"/api/registry", "/xxl-job-admin/api/registry", "//api/registry", "/api/registry?x=1",
        "/xxl-job-admin//api/registry", "//xxl-job-admin///api//registry"}) {
    SCOPED_TRACE(path);
    Admin a;
    const auto reply = a.post(path, kRegistration);
    EXPECT_EQ(message_of(reply), "");
    EXPECT_EQ(reply.body, kSuccess);
    EXPECT_FALSE(a.registration().removes);
    EXPECT_EQ(a.registration().app_name, "billing");
    EXPECT_EQ(a.registration().address, "http://10.1.2.3:9999/") << "it is never rewritten";
  }
}

TEST(XxlAdmin, AcceptsADeregistration) {
  Admin a;
  EXPECT_EQ(message_of(a.post("/api/registryRemove", kRegistration)), "");
  EXPECT_TRUE(a.registration().removes);
}

TEST(XxlAdmin, AcceptsCallbacksInEveryDialect) {
  const RunResult expected{.log_id = 8812, .code = 200, .message = "rows=14"};
  for (
      const char* body :
      {R"([{"logId":8812,"logDateTim":5,"executeResult":{"code":200,"msg":"rows=14"}}])",
       R"([{"logId":8812,"logDateTim":5,"handleCode":200,"handleMsg":"rows=14"}])",
       R"({"callbackList":[{"logId":8812,"logDateTime":5,"handleCode":200,"handleMsg":"rows=14"}]})",
       R"([{"logId":"8812","logDateTim":5,"handleCode":200,"handleMsg":"rows=14",)"
       R"("executeResult":{"code":200,"msg":"rows=14"}}])"}) {
    SCOPED_TRACE(body);
    Admin a;
    EXPECT_EQ(message_of(a.post("/api/callback", body)), "");
    EXPECT_THAT(a.results(), ElementsAre(expected));
  }
}

TEST(XxlAdmin, AnswersOnlyAfterTheRequestIsStored) {
  Admin a;
  a.is_slow = true;
  const std::atomic<bool> cancelled{false};
  std::atomic<bool> is_answered{false};
  const auto sender = Thread::start("sender", [&] {
    EXPECT_TRUE(net::send_http({.method = "POST",
                                .url = a.server->url() + "/api/callback",
                                .body = R"([{"logId":1,"handleCode":200}])"},
                               seconds{10}, 1000, cancelled)
                    .ok());
    is_answered = true;
    a.loop.wake();
  });
  while (a.waiting.empty()) a.loop.run_once(milliseconds{20});
  for (int i = 0; i < 5; ++i) a.loop.run_once(milliseconds{20});
  EXPECT_FALSE(is_answered);
  a.waiting.front()({});
  while (!is_answered) a.loop.run_once(milliseconds{20});
}

TEST(XxlAdmin, HoldsRequestsUntilItIsOpened) {
  Admin a;
  a.desk.set_open(false);
  const auto opener = [&] { a.desk.set_open(true); };
  a.loop.post_at(a.clock.steady_now() + milliseconds{100}, opener);
  EXPECT_EQ(message_of(a.post("/api/registry", kRegistration)), "");
  EXPECT_EQ(a.requests.size(), 1U);
}

TEST(XxlAdmin, ReportsWhyARequestWasNotStored) {
  Admin a;
  a.stored = Error{ErrorCode::kLimit, "too much at once (slow down)"};
  EXPECT_EQ(message_of(a.post("/api/registry", kRegistration)), "too much at once (slow down)");
}

TEST(XxlAdmin, AnswersARequestThatIsNeverStored) {
  Admin a;
  a.forgets = true;
  EXPECT_EQ(a.post("/api/registry", kRegistration).status, 503);
}

TEST(XxlAdmin, RequiresAnAccessToken) {
  Admin a({.tokens = {"tok-1", "tok-2"}});
  const std::string wrong = "The access token is wrong.";
  EXPECT_EQ(message_of(a.post("/api/registry", kRegistration)), wrong);
  EXPECT_EQ(message_of(a.post("/api/registry", kRegistration, {{"XXL-JOB-ACCESS-TOKEN", ""}})),
            wrong);
  EXPECT_EQ(message_of(a.post("/api/callback", "[]", {{"XXL-JOB-ACCESS-TOKEN", "tok-"}})), wrong);
  EXPECT_EQ(message_of(a.post("/api/nonsense", "{}", {{"XXL-JOB-ACCESS-TOKEN", "x"}})), wrong);
  EXPECT_THAT(a.requests, IsEmpty());
  EXPECT_EQ(message_of(a.post("/api/registry", kRegistration, {{"xxl-job-access-token", "tok-2"}})),
            "");
}

TEST(XxlAdmin, AcceptsTheTokenOfTheNamedApp) {
  Admin a({.tokens = {"tok-1"}});
  a.token_of_billing = "own";
  const auto answer_to = [&](const std::string& app, const std::string& token) {
    return message_of(a.post("/api/registry", kRegistration,
                             {{"XXL-JOB-APPNAME", app}, {"XXL-JOB-ACCESS-TOKEN", token}}));
  };
  const std::string wrong = "invalid request, accessToken or appname invalid.";
  EXPECT_EQ(answer_to("billing", "other"), wrong);
  EXPECT_EQ(answer_to("billing", ""), wrong);
  EXPECT_EQ(answer_to("unknown", "own"), wrong);
  EXPECT_EQ(answer_to("unknown", ""), wrong);
  EXPECT_THAT(a.requests, IsEmpty());
  EXPECT_EQ(answer_to("billing", "own"), "");
  EXPECT_EQ(answer_to("billing", "tok-1"), "");
}

TEST(XxlAdmin, RequiresTheAppTokenWithoutACommonToken) {
  const std::string wrong = "invalid request, accessToken or appname invalid.";
  const std::string not_its = "The access token is not that of 'billing'.";
  Admin a;
  a.token_of_billing = "own";
  const auto answer_to = [&](std::map<std::string, std::string> headers) {
    return message_of(a.post("/api/registry", kRegistration, std::move(headers)));
  };
  EXPECT_EQ(answer_to({{"XXL-JOB-APPNAME", "billing"}, {"XXL-JOB-ACCESS-TOKEN", "other"}}), wrong);
  EXPECT_EQ(answer_to({{"XXL-JOB-APPNAME", "billing"}}), wrong);
  EXPECT_EQ(answer_to({{"XXL-JOB-APPNAME", "mail"}}), not_its);
  EXPECT_EQ(answer_to({}), not_its);
  EXPECT_EQ(message_of(a.post("/api/addJob", "{}", {{"XXL-JOB-APPNAME", "billing"}})), wrong);
  EXPECT_THAT(a.requests, IsEmpty());
  EXPECT_THAT(a.calls, IsEmpty());
  EXPECT_EQ(answer_to({{"XXL-JOB-ACCESS-TOKEN", "own"}}), "");
  EXPECT_EQ(answer_to({{"XXL-JOB-APPNAME", "billing"}, {"XXL-JOB-ACCESS-TOKEN", "own"}}), "");
}

TEST(XxlAdmin, AppTokenIsValidForItsOwnAppOnly) {
  for (const std::vector<std::string>& tokens :
       {std::vector<std::string>{}, std::vector<std::string>{"tok-1"}}) {
    SCOPED_TRACE(tokens.size());
    Admin a({.tokens = tokens});
    a.token_of_billing = "own";
    const std::map<std::string, std::string> billing{{"XXL-JOB-APPNAME", "billing"},
                                                     {"XXL-JOB-ACCESS-TOKEN", "own"}};
    for (const char* path : {"/api/registry", "/api/registryRemove"}) {
      EXPECT_EQ(message_of(a.post(path,
                                  R"({"registryGroup":"EXECUTOR","registryKey":"mail",)"
                                  R"("registryValue":"http://10.6.6.6:1/"})",
                                  billing)),
                "The access token is not that of 'mail'.");
    }
    EXPECT_THAT(a.requests, IsEmpty());
    EXPECT_EQ(message_of(a.post("/api/callback",
                                R"([{"logId":1,"handleCode":200},{"logId":2,"handleCode":200},)"
                                R"({"logId":12,"handleCode":200},{"logId":3,"handleCode":200}])",
                                billing)),
              "");
    EXPECT_THAT(a.results(), ElementsAre(RunResult{.log_id = 1}, RunResult{.log_id = 12},
                                         RunResult{.log_id = 3}));
  }
}

TEST(XxlAdmin, IgnoresRunResultsWithoutTheAppToken) {
  Admin a;
  a.token_of_billing = "own";
  EXPECT_EQ(message_of(a.post("/api/callback",
                              R"([{"logId":1,"handleCode":200},{"logId":2,"handleCode":200}])")),
            "");
  EXPECT_THAT(a.results(), ElementsAre(RunResult{.log_id = 2}));
}

TEST(XxlAdmin, AcceptsATrailingSlash) {
  Admin a;
  EXPECT_EQ(message_of(a.post("/api/callback/", R"([{"logId":1,"handleCode":200}])")), "");
  EXPECT_THAT(a.results(), ElementsAre(RunResult{.log_id = 1}));
}

TEST(XxlAdmin, RefusesEveryRequestWhenClosed) {
  Admin a({.closed = "no executors here (give --xxl-token)"});
  EXPECT_EQ(message_of(a.post("/api/registry", kRegistration)),
            "no executors here (give --xxl-token)");
  EXPECT_THAT(a.requests, IsEmpty());
}

struct RefusedCall {
  const char* path;
  const char* body;
  const char* why;
};

class XxlAdminRefusal : public ::testing::TestWithParam<RefusedCall> {};

TEST_P(XxlAdminRefusal, NamesTheReason) {
  Admin a;
  EXPECT_THAT(message_of(a.post(GetParam().path, GetParam().body)), HasSubstr(GetParam().why));
  EXPECT_THAT(a.requests, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Calls, XxlAdminRefusal,
    ::testing::Values(
        RefusedCall{"/api/", "{}", "invalid request, uri-mapping empty."},
        RefusedCall{"/xxl-job-admin/api", "C0,com.xxl.rpc.remoting.net.params.XxlRpcRequest\x9b",
                    "it speaks Hessian (xxl-job before 2.2), which is not supported"},
        RefusedCall{"/xxl-job-admin/api", "c\x02m", "update xxl-job-core"},
        RefusedCall{"/api/registry", "", "invalid request, requestBody empty."},
        RefusedCall{"/api/registry", " \r\n\t", "invalid request, requestBody empty."},
        RefusedCall{"/api/nope", "{}", "invalid request, uri-mapping(nope) not found."},
        RefusedCall{"/api/registry", "{", "openapi invoke error: the body is not JSON"},
        RefusedCall{"/api/callback", "7", "openapi invoke error: the results are not a JSON array"},
        RefusedCall{"/api/registry", "{}", "Illegal Argument."},
        RefusedCall{"/api/registry",
                    R"({"registryGroup":"EXECUTOR","registryKey":"","registryValue":"http://h"})",
                    "Illegal Argument."},
        RefusedCall{
            "/api/registry",
            R"({"registryGroup":"EXECUTOR","registryKey":"a b","registryValue":"http://h"})",
            "not an app name"},
        RefusedCall{"/api/registry",
                    R"({"registryGroup":"EXECUTOR","registryKey":"a","registryValue":"file:///x"})",
                    "'file:///x' is not an address"},
        RefusedCall{"/api/registry",
                    R"({"registryGroup":"EXECUTOR","registryKey":"a",)"
                    R"("registryValue":"http://169.254.169.254/latest"})",
                    "link-local"},
        RefusedCall{"/api/registry",
                    R"({"registryGroup":"EXECUTOR","registryKey":"a",)"
                    R"("registryValue":"http://[::ffff:169.254.169.254]/"})",
                    "link-local"},
        RefusedCall{"/api/registry",
                    R"({"registryGroup":"EXECUTOR","registryKey":"a",)"
                    R"("registryValue":"http://100.100.100.200/latest/meta-data/"})",
                    "metadata address"}));

TEST(XxlAdmin, RefusesRequestsOtherThanPost) {
  Admin a;
  EXPECT_EQ(message_of(a.send({.method = "GET", .url = a.server->url() + "/api/registry"})),
            "invalid request, HttpMethod not support.");
}

TEST(XxlAdmin, AcceptsTheValidResultsOfACallback) {
  Admin a;
  EXPECT_EQ(message_of(a.post("/api/callback", R"([{"logId":1},{"logId":2,"handleCode":500}])")),
            "");
  EXPECT_THAT(a.results(), ElementsAre(RunResult{.log_id = 2, .code = 500}));
}

TEST(XxlAdmin, StoresNothingForEmptyCallbacksAndAdminRegistrations) {
  Admin a;
  EXPECT_EQ(message_of(a.post("/api/callback", "[]")), "");
  EXPECT_EQ(message_of(a.post("/api/registry", R"({"registryGroup":"ADMIN","registryKey":"x",)"
                                               R"("registryValue":"http://h:1"})")),
            "");
  EXPECT_THAT(a.requests, IsEmpty());
}

TEST(XxlAdmin, AcceptsJobManagementCalls) {
  using Verb = ManageJob::Verb;
  const std::map<std::string, Verb> verbs{
      {"addJob", Verb::kAdd},     {"updateJob", Verb::kUpdate}, {"removeJob", Verb::kRemove},
      {"startJob", Verb::kStart}, {"stopJob", Verb::kStop},     {"triggerJob", Verb::kTrigger}};
  for (const auto& [path, verb] : verbs) {
    SCOPED_TRACE(path);
    Admin a({.tokens = {"tok-1"}});
    const auto reply = a.post("/api/" + path, R"({"id":12,"executorParam":"p"})",
                              {{"XXL-JOB-ACCESS-TOKEN", "tok-1"}, {"XXL-JOB-APPNAME", "billing"}});
    EXPECT_EQ(reply.body,
              R"({"code":200,"msg":"Success","content":null,"data":null,"success":true})");
    ASSERT_EQ(a.calls.size(), 1U);
    EXPECT_EQ(a.calls[0].verb, verb);
    EXPECT_EQ(a.calls[0].app_name, "billing");
    EXPECT_EQ(a.calls[0].job, (wire::xxl::ManagedJob{.id = 12, .param = "p"}));
  }
}

TEST(XxlAdmin, ReportsTheOutcomeOfAJobManagementCall) {
  Admin a({.tokens = {"tok-1"}});
  const std::map<std::string, std::string> app{{"XXL-JOB-APPNAME", "billing"},
                                               {"XXL-JOB-ACCESS-TOKEN", "tok-1"}};
  a.managed = std::string{"17"};
  EXPECT_EQ(a.post("/api/addJob", "{}", app).body,
            R"({"code":200,"msg":"Success","content":null,"data":"17","success":true})");
  a.managed = Error{ErrorCode::kNotFound, "job 3 of billing does not exist"};
  EXPECT_EQ(a.post("/api/stopJob", R"({"id":3})", app).body,
            R"({"code":500,"msg":"job 3 of billing does not exist","content":null,"data":null,)"
            R"("success":false})");
  a.managed = Error{ErrorCode::kLimit, "Too many requests, please try again later."};
  EXPECT_THAT(a.post("/api/stopJob", R"({"id":3})", app).body,
              StartsWith(R"({"code":502,"msg":"Too many requests, please try again later.")"));
  EXPECT_EQ(message_of(a.post("/api/stopJob", R"({"id":3})", {{"XXL-JOB-ACCESS-TOKEN", "tok-1"}})),
            "invalid request, accessToken or appname is empty.");
}

TEST(XxlAdmin, JobManagementNeedsATokenOnLoopbackToo) {
  Admin a;
  for (const char* verb :
       {"addJob", "updateJob", "removeJob", "startJob", "stopJob", "triggerJob"}) {
    SCOPED_TRACE(verb);
    for (const char* token : {"", "guess"}) {
      const auto reply = a.post(std::string{"/api/"} + verb, R"({"id":3})",
                                {{"XXL-JOB-APPNAME", "billing"}, {"XXL-JOB-ACCESS-TOKEN", token}});
      EXPECT_THAT(reply.body, StartsWith(R"({"code":401,"msg":"calls that change jobs need)"));
      EXPECT_THAT(reply.body, HasSubstr("--xxl-token"));
    }
  }
  EXPECT_THAT(a.calls, IsEmpty());
  a.token_of_billing = "own";
  const auto reply = a.post("/api/stopJob", R"({"id":3})",
                            {{"XXL-JOB-APPNAME", "billing"}, {"XXL-JOB-ACCESS-TOKEN", "own"}});
  EXPECT_THAT(reply.body, StartsWith(R"({"code":200,)"));
}

TEST(XxlAdmin, RefusesBodiesThatAreTooLarge) {
  Admin a;
  EXPECT_EQ(a.post("/api/callback", std::string(XxlAdmin::kBodyMax + 1, '[')).status, 413);
  EXPECT_THAT(message_of(a.post("/api/callback", std::string(XxlAdmin::kBodyMax, '['))),
              HasSubstr("openapi invoke error"));
  EXPECT_THAT(a.requests, IsEmpty());
}

TEST(XxlAdmin, RecognizesItsPaths) {
  EXPECT_TRUE(XxlAdmin::is_target("/api/registry"));
  EXPECT_TRUE(XxlAdmin::is_target("/api"));
  EXPECT_TRUE(XxlAdmin::is_target("/xxl-job-admin/api/callback"));
  EXPECT_TRUE(XxlAdmin::is_target("/xxl-job-admin//api/callback"));
  EXPECT_FALSE(XxlAdmin::is_target("/apis"));
  EXPECT_FALSE(XxlAdmin::is_target("/metrics"));
  EXPECT_FALSE(XxlAdmin::is_target("/xxl-job-admin/"));
}

}  // namespace
}  // namespace carillon::jobtracker
