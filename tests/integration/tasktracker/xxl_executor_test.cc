#include "tasktracker/executor/xxl_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/net/http/http_client.h"
#include "tests/unit/tasktracker/executor/executor_bundle.h"
#include "tests/unit/tasktracker/executor/fake_admin.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

// An executor that listens, and an admin that takes whatever it says.
struct XxlExecutorBundle {
  static constexpr std::size_t kAnswerMax = 10'000;

  Result<std::unique_ptr<XxlExecutor>> open() {
    return XxlExecutor::open(
        {.options = {.admins = admins, .app_name = "billing", .port = 0, .token = "secret"},
         .node = "n",
         .data = folder.path().string(),
         .allow = {RunKind::kHandler},
         .beat = milliseconds{10}},
        handlers, hooks, environment, send, clock);
  }
  std::string call(const XxlExecutor& executor, const std::string& path, const std::string& body) {
    const auto reply = net::send_http({.method = "POST",
                                       .url = executor.address() + path,
                                       .headers = {{"XXL-JOB-ACCESS-TOKEN", "secret"}},
                                       .body = body},
                                      seconds{60}, kAnswerMax, cancelled);
    return reply.ok() ? reply.value().body : reply.error().message;
  }

  std::vector<std::string> admins{"http://127.0.0.1:1/admin"};
  SystemClock clock;
  testing::TempFolder folder;
  Environment environment;
  Handlers handlers{{"noop", [](JobContext&) { return RunReport::succeeded("done"); }}};
  HandlersHooks hooks;
  std::atomic<bool> cancelled{false};
  ExecutorBundle::Queue<HttpRequest> said;
  ExecutorBundle::Queue<bool> stopped;
  HttpSend send = [this](const HttpRequest& request, Duration, std::size_t,
                         const std::atomic<bool>&) -> Result<HttpAnswer> {
    said.add(request);
    return FakeAdmin::code(200);
  };
};

TEST(XxlExecutor, RegistersRepeatedlyAndDeregistersAtTheEnd) {
  XxlExecutorBundle b;
  auto executor = b.open();
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  ASSERT_TRUE(executor.value()->start([&] { b.stopped.add(true); }).ok());
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    const HttpRequest request = b.said.take();
    EXPECT_EQ(request.url, "http://127.0.0.1:1/admin/api/registry");
    EXPECT_THAT(request.body, HasSubstr(executor.value()->address()));
  }
  executor.value()->request_stop(seconds{60});
  EXPECT_TRUE(b.stopped.take());
  std::string last;
  while (!b.said.is_empty()) last = b.said.take().url;
  EXPECT_EQ(last, "http://127.0.0.1:1/admin/api/registryRemove");
}

// What an admin sends before it has heard of the goodbye would have failed, were it refused.
TEST(XxlExecutor, AcceptsTriggersUntilItsDeregistrationIsAnswered) {
  XxlExecutorBundle b;
  auto executor = b.open();
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  ExecutorBundle::Queue<std::string> answers;
  b.send = [&](const HttpRequest& request, Duration, std::size_t, const std::atomic<bool>&) {
    if (request.url.ends_with("/registryRemove")) {
      std::this_thread::sleep_for(milliseconds{50});  // It has begun to stop by now.
      answers.add(
          b.call(*executor.value(), "run", R"({"jobId":1,"logId":7,"executorHandler":"noop"})"));
    }
    b.said.add(request);
    return FakeAdmin::code(200);
  };
  ASSERT_TRUE(executor.value()->start([&] { b.stopped.add(true); }).ok());
  (void)b.said.take();  // It has registered.
  executor.value()->request_stop(seconds{60});
  EXPECT_THAT(answers.take(), HasSubstr(R"("code":200)"));
  EXPECT_TRUE(b.stopped.take());
  HttpRequest request = b.said.take();
  while (!request.url.ends_with("/callback")) request = b.said.take();
  EXPECT_THAT(request.body, HasSubstr(R"("logId":7,)"));
}

struct HungAdminBundle : XxlExecutorBundle {
  HungAdminBundle() {
    admins = {"http://127.0.0.1:1/hangs", "http://127.0.0.1:1/admin"};
    send = [this](const HttpRequest& request, Duration timeout, std::size_t,
                  const std::atomic<bool>& is_cancelled) -> Result<HttpAnswer> {
      const SteadyTime until = clock.steady_now() + timeout;
      if (request.url.find("hangs") == std::string::npos) {
        said.add(request);
        return FakeAdmin::code(200);
      }
      while (!is_cancelled && clock.steady_now() < until) std::this_thread::sleep_for(kStep);
      return Error{ErrorCode::kTimeout, "it hangs"};
    };
  }
  // The next of what the other is told that is no beat.
  std::string told() {
    std::string url = said.take().url;
    while (url.ends_with("/registry")) url = said.take().url;
    return url.substr(url.rfind('/'));
  }

  static constexpr milliseconds kStep{10};
};

TEST(XxlExecutor, HangingAdminDoesNotDelayDeregistrationAtAnother) {
  HungAdminBundle b;
  auto executor = b.open();
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  ASSERT_TRUE(executor.value()->start([&] { b.stopped.add(true); }).ok());
  (void)b.said.take();  // It has registered.
  executor.value()->request_stop(seconds{60});
  EXPECT_EQ(b.told(), "/registryRemove");
  // The other one may still call.
  EXPECT_THAT(b.call(*executor.value(), "run", R"({"jobId":1,"logId":7,"executorHandler":"noop"})"),
              HasSubstr(R"("code":200)"));
  EXPECT_EQ(b.told(), "/callback");
  executor.value()->request_stop(Duration{0});
  EXPECT_TRUE(b.stopped.take());
}

// The admin may store it all the same, later.
TEST(XxlExecutor, DeregistersEvenIfItsRegistrationWasNotAnswered) {
  XxlExecutorBundle b;
  b.send = [&](const HttpRequest& request, Duration, std::size_t,
               const std::atomic<bool>&) -> Result<HttpAnswer> {
    b.said.add(request);
    if (request.url.ends_with("/registry")) return Error{ErrorCode::kTimeout, "it hangs"};
    return FakeAdmin::code(200);
  };
  auto executor = b.open();
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  ASSERT_TRUE(executor.value()->start([&] { b.stopped.add(true); }).ok());
  (void)b.said.take();
  executor.value()->request_stop(seconds{60});
  EXPECT_TRUE(b.stopped.take());
  EXPECT_THAT(b.said.take().url, HasSubstr("/registryRemove"));
}

TEST(XxlExecutor, RunsATriggeredJobAndCallsBack) {
  XxlExecutorBundle b;
  auto executor = b.open();
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  ASSERT_TRUE(executor.value()->start([] {}).ok());
  EXPECT_THAT(b.call(*executor.value(), "run", R"({"jobId":1,"logId":7,"executorHandler":"noop"})"),
              HasSubstr(R"("code":200)"));
  HttpRequest request = b.said.take();
  while (!request.url.ends_with("/callback")) request = b.said.take();
  EXPECT_THAT(request.body, HasSubstr(R"("logId":7)"));
  EXPECT_THAT(request.body, HasSubstr(R"("handleCode":200,"handleMsg":"done")"));
}

// Its handlers may still be added then.
TEST(XxlExecutor, RefusesRequestsBeforeItHasStarted) {
  XxlExecutorBundle b;
  auto executor = b.open();
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  EXPECT_THAT(b.call(*executor.value(), "beat", "{}"), HasSubstr("has not started yet"));
}

TEST(XxlExecutor, AcceptsRequestsOfUpToFiveMebibytes) {
  XxlExecutorBundle b;
  auto executor = b.open();
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  constexpr std::size_t kMax = 5 * 1024 * 1024;
  EXPECT_THAT(b.call(*executor.value(), "beat", std::string(kMax, ' ')), HasSubstr("code"));
  // It is cut off, in the middle of its sending or after it.
  EXPECT_THAT(b.call(*executor.value(), "beat", std::string(kMax + 1, ' ')),
              Not(HasSubstr("code")));
}

}  // namespace
}  // namespace carillon::tasktracker
