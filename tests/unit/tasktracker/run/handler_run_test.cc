#include "tasktracker/run/handler_run.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::SizeIs;

struct HandlerRunBundle {
  ManualClock clock;
  RunControl control{clock};
  JobInfo job{.task_id = "t", .attempt = 3, .params = {{"a", "1"}}, .payload = "p"};

  HandlerRunBundle() { control.begin({JobId{1}, 1}, 1000); }
  RunEnd run(const JobRunner& runner) { return run_handler(runner, job, control); }
  std::vector<wire::OutputChunk> output() {
    std::vector<wire::OutputChunk> chunks;
    control.output().take(chunks);
    return chunks;
  }
};

TEST(HandlerRun, GivesTheHandlerItsJob) {
  HandlerRunBundle b;
  const RunEnd end = b.run([](JobContext& context) {
    EXPECT_EQ(context.job().payload, "p");
    EXPECT_EQ(context.job().attempt, 3);
    EXPECT_EQ(context.param("a"), "1");
    EXPECT_EQ(context.param("b"), std::nullopt);
    EXPECT_FALSE(context.is_stopping());
    return RunReport::succeeded("fine");
  });
  EXPECT_EQ(end.outcome, wire::RunOutcome::kSucceeded);
  EXPECT_EQ(end.message, "fine");
}

TEST(HandlerRun, TurnsAnExceptionIntoAFailedAttempt) {
  HandlerRunBundle b;
  const RunEnd end = b.run([](JobContext&) -> RunReport { throw std::runtime_error("no disk"); });
  EXPECT_EQ(end.outcome, wire::RunOutcome::kException);
  EXPECT_EQ(end.message, "the handler threw: no disk");
}

TEST(HandlerRun, TurnsAnythingThrownIntoAFailedAttempt) {
  HandlerRunBundle b;
  const RunEnd end = b.run([](JobContext&) -> RunReport { throw 42; });
  EXPECT_EQ(end.outcome, wire::RunOutcome::kException);
}

TEST(HandlerRun, KeepsTheVerdictsOfTheHandler) {
  HandlerRunBundle b;
  EXPECT_EQ(b.run([](JobContext&) { return RunReport::failed("x"); }).outcome,
            wire::RunOutcome::kFailed);
  EXPECT_EQ(b.run([](JobContext&) { return RunReport::exception("x"); }).outcome,
            wire::RunOutcome::kException);
  const RunEnd later = b.run([](JobContext&) { return RunReport::later(seconds{9}, "busy"); });
  EXPECT_EQ(later.outcome, wire::RunOutcome::kLater);
  EXPECT_EQ(later.later, seconds{9});
}

TEST(HandlerRun, DelaysALaterVerdictByAtLeast100Milliseconds) {
  HandlerRunBundle b;
  EXPECT_EQ(b.run([](JobContext&) { return RunReport::later(Duration{0}); }).later,
            milliseconds{100});
}

TEST(HandlerRun, DelaysALaterVerdictByAtMostAHundredYears) {
  HandlerRunBundle b;
  EXPECT_EQ(b.run([](JobContext&) { return RunReport::later(Duration::max()); }).later,
            std::chrono::hours{100 * 365 * 24});
}

TEST(HandlerRun, KeepsLogLinesWithTheJob) {
  HandlerRunBundle b;
  (void)b.run([](JobContext& context) {
    context.log("first");
    context.log("second");
    context.write("raw");
    return RunReport::succeeded();
  });
  const auto chunks = b.output();
  ASSERT_THAT(chunks, SizeIs(2));
  EXPECT_EQ(chunks[0].stream, wire::Stream::kLog);
  EXPECT_EQ(chunks[0].bytes, "first\nsecond\n");
  EXPECT_EQ(chunks[1].bytes, "raw");
}

TEST(HandlerRun, TellsTheHandlerToStop) {
  HandlerRunBundle b;
  b.control.stop(StopReason::kKilled, "by ann", false).request_stop();
  (void)b.run([](JobContext& context) {
    EXPECT_TRUE(context.is_stopping());
    EXPECT_FALSE(context.wait(std::chrono::hours{1})) << "returns at once";
    return RunReport::succeeded();
  });
}

TEST(HandlerRun, StopDoesNotAffectTheTokenOfAnEarlierRun) {
  HandlerRunBundle b;
  const std::stop_token earlier = b.control.stop_token();
  b.control.begin({JobId{2}, 1}, 1000);
  b.control.stop(StopReason::kKilled, {}, false).request_stop();
  EXPECT_FALSE(earlier.stop_requested());
  b.control.begin({JobId{3}, 1}, 1000);
  EXPECT_EQ(b.control.reason(), StopReason::kNone);
  EXPECT_FALSE(b.control.stop_token().stop_requested());
}

}  // namespace
}  // namespace carillon::tasktracker
