#include "tasktracker/executor/executor_api.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"
#include "tests/unit/tasktracker/executor/executor_bundle.h"

namespace carillon::tasktracker {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using wire::xxl::Reply;

struct ApiBundle {
  explicit ApiBundle(ExecutorApiConfig config = {.app_name = "billing", .token = "secret"})
      : api(ExecutorApi::start(std::move(config), *executor.jobs, executor.logs).value()) {}

  std::string answer(const ExecutorCall& call) {
    auto answered = std::make_shared<std::promise<std::string>>();
    auto coming = answered->get_future();
    api->call(call, [answered](std::string json) { answered->set_value(std::move(json)); });
    return soon(std::move(coming));
  }
  Reply reply(const ExecutorCall& call) { return wire::xxl::read_reply(answer(call)).value(); }
  static ExecutorCall post(const std::string& target, const std::string& body = "{}") {
    return {.method = "POST", .target = target, .token = "secret", .body = body};
  }

  ExecutorBundle executor;
  std::unique_ptr<ExecutorApi> api;
};

Reply api_failure(const std::string& message) { return {.code = 500, .message = message}; }

TEST(ExecutorApi, AnswersABeatWithAnyBody) {
  ApiBundle b;
  EXPECT_EQ(b.reply(ApiBundle::post("/beat", "")), Reply{});
  EXPECT_EQ(b.reply(ApiBundle::post("/beat", "\"\"")), Reply{});
  EXPECT_EQ(b.reply(ApiBundle::post("/beat", "{}")), Reply{});
}

TEST(ExecutorApi, AcceptsRunsUnderBothPaths) {
  ApiBundle b;
  EXPECT_TRUE(
      b.reply(ApiBundle::post("/run", wire::xxl::write_run(ExecutorBundle::call(1, "echo", "a"))))
          .ok());
  EXPECT_EQ(b.executor.results.take().message, "a 0/1");
  EXPECT_TRUE(b.reply(ApiBundle::post("/trigger",
                                      wire::xxl::write_run(ExecutorBundle::call(2, "echo", "b"))))
                  .ok());
  EXPECT_EQ(b.executor.results.take().message, "b 0/1");
}

TEST(ExecutorApi, AnswersIdleBeatAndKill) {
  ApiBundle b;
  EXPECT_EQ(b.reply(ApiBundle::post("/idleBeat", R"({"jobId":1})")), Reply{});
  EXPECT_EQ(b.reply(ApiBundle::post("/kill", R"({"jobId":1})")).message,
            "job thread already killed.");
}

TEST(ExecutorApi, AnswersAKillWithATextForTheAdminLog) {
  ApiBundle b;
  const std::string run = wire::xxl::write_run(ExecutorBundle::call(1, "echo", "a"));
  ASSERT_TRUE(b.reply(ApiBundle::post("/run", run)).ok());
  b.executor.results.take();
  EXPECT_EQ(b.reply(ApiBundle::post("/kill", R"({"jobId":1})")),
            (Reply{.code = 200, .message = "Success"}));
}

TEST(ExecutorApi, ReturnsALog) {
  ApiBundle b;
  b.executor.logs.open(5, 1719999000000)->write("one\ntwo\n");
  const auto part = wire::xxl::read_log_part(b.answer(
      ApiBundle::post("/log", R"({"logDateTim":1719999000000,"logId":5,"fromLineNum":2})")));
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part.value().text, "two\n");
}

TEST(ExecutorApi, RefusesRequestsWithXxlJobsErrorMessages) {
  ApiBundle b;
  EXPECT_EQ(b.reply({.method = "GET", .target = "/beat"}),
            api_failure("invalid request, HttpMethod not support."));
  EXPECT_EQ(b.reply({.method = "POST", .target = ""}),
            api_failure("invalid request, uri-mapping empty."));
  EXPECT_EQ(b.reply({.method = "POST", .target = "/nope"}),
            api_failure("The access token is wrong."));
  EXPECT_EQ(b.reply(ApiBundle::post("/nope")),
            api_failure("invalid request, uri-mapping(/nope) not found."));
  EXPECT_EQ(b.reply(ApiBundle::post("/beat?x=1")),
            api_failure("invalid request, uri-mapping(/beat?x=1) not found."));
  EXPECT_EQ(b.reply(ApiBundle::post("/Beat")),
            api_failure("invalid request, uri-mapping(/Beat) not found."));
  EXPECT_THAT(b.reply(ApiBundle::post("/run", "{")).message, StartsWith("request error: "));
  EXPECT_EQ(b.reply(ApiBundle::post("/kill", "{}")),
            api_failure("request error: jobId is missing"));
  EXPECT_EQ(b.reply(ApiBundle::post("/log", "{}")), api_failure("request error: logId is missing"));
}

TEST(ExecutorApi, RequiresItsToken) {
  ApiBundle b;
  for (const char* token : {"", "secre", "secret1", "Secret"}) {
    SCOPED_TRACE(token);
    ExecutorCall call = ApiBundle::post("/beat");
    call.token = token;
    EXPECT_EQ(b.reply(call), api_failure("The access token is wrong."));
  }
  ExecutorCall without = ApiBundle::post("/beat");
  without.token.reset();
  EXPECT_EQ(b.reply(without), api_failure("The access token is wrong."));
}

TEST(ExecutorApi, RefusesACallForAnotherApp) {
  ApiBundle b;
  ExecutorCall call = ApiBundle::post("/beat");
  call.app_name = "billing";
  EXPECT_EQ(b.reply(call), Reply{});
  call.app_name = "mail";
  EXPECT_EQ(b.reply(call), api_failure("invalid request, accessToken or appname invalid."));
}

TEST(ExecutorApi, AcceptsCallsWithoutATokenWhenNoneIsSet) {
  ApiBundle b({.app_name = "billing"});
  EXPECT_EQ(b.reply({.method = "POST", .target = "/beat"}), Reply{});
}

TEST(ExecutorApi, AcceptsCallsWithAndWithoutItsPathPrefix) {
  ApiBundle b({.path = "/worker", .app_name = "billing"});
  EXPECT_EQ(b.reply(ApiBundle::post("/worker/beat")), Reply{});
  EXPECT_EQ(b.reply(ApiBundle::post("/beat")), Reply{});
}

}  // namespace
}  // namespace carillon::tasktracker
