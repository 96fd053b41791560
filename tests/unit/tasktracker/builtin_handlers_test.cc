#include "tasktracker/builtin_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::tasktracker {
namespace {

using ::testing::HasSubstr;

// A context in which nothing ever waits, unless told that the run shall end.
class FakeContext final : public JobContext {
 public:
  const JobInfo& job() const override { return info; }
  void log(std::string_view line) override { written += line; }
  void write(std::string_view bytes) override { written += bytes; }
  std::stop_token stop_token() const override { return {}; }
  bool wait(Duration duration) override {
    waited = duration;
    return !shall_end;
  }

  JobInfo info{.attempt = 1};
  bool shall_end = false;
  std::string written{};
  Duration waited{};
};

RunReport run(const std::string& name, FakeContext& context) {
  return builtin_handlers().at(name)(context);
}

TEST(BuiltinHandlers, NoopSucceeds) {
  FakeContext context;
  EXPECT_EQ(run("noop", context).verdict, RunVerdict::kSucceeded);
}

TEST(BuiltinHandlers, EchoWritesParamsAndPayload) {
  FakeContext context;
  context.info.params = {{"a", "1"}, {"b", "2"}};
  context.info.payload = "bytes";
  (void)run("echo", context);
  EXPECT_EQ(context.written, "a=1\nb=2\nbytes\n");
}

TEST(BuiltinHandlers, SleepReadsItsDurationFromParamOrPayload) {
  FakeContext context;
  context.info.payload = "500ms";
  EXPECT_EQ(run("sleep", context).message, "slept 500ms");
  EXPECT_EQ(context.waited, std::chrono::milliseconds{500});
  context.info.params = {{"duration", "2s"}};
  EXPECT_EQ(run("sleep", context).message, "slept 2s");
}

TEST(BuiltinHandlers, SleepRefusesAnInvalidDuration) {
  FakeContext context;
  context.info.payload = "long";
  const RunReport report = run("sleep", context);
  EXPECT_EQ(report.verdict, RunVerdict::kFailed);
  EXPECT_THAT(report.message, HasSubstr("long"));
}

TEST(BuiltinHandlers, SleepEndsWhenItIsStopped) {
  FakeContext context;
  context.shall_end = true;
  EXPECT_EQ(run("sleep", context).verdict, RunVerdict::kException);
}

TEST(BuiltinHandlers, FailFailsWithItsMessage) {
  FakeContext context;
  context.info.params = {{"message", "out of paper"}};
  const RunReport report = run("fail", context);
  EXPECT_EQ(report.verdict, RunVerdict::kException);
  EXPECT_EQ(report.message, "out of paper");
}

TEST(BuiltinHandlers, EchoAndFailReturnThePayloadAsTheirMessage) {
  FakeContext context;
  context.info.payload = "day=1";
  EXPECT_EQ(run("echo", context).message, "day=1");
  EXPECT_EQ(run("fail", context).message, "day=1");
}

TEST(BuiltinHandlers, FailSucceedsAfterTheGivenNumberOfFailures) {
  FakeContext context;
  context.info.params = {{"times", "2"}};
  context.info.attempt = 2;
  EXPECT_EQ(run("fail", context).verdict, RunVerdict::kException);
  context.info.attempt = 3;
  EXPECT_EQ(run("fail", context).verdict, RunVerdict::kSucceeded);
}

TEST(BuiltinHandlers, FailRefusesTimesThatAreNotANumber) {
  FakeContext context;
  context.info.params = {{"times", "two"}};
  EXPECT_EQ(run("fail", context).verdict, RunVerdict::kFailed);
}

}  // namespace
}  // namespace carillon::tasktracker
