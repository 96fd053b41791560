#include "jobtracker/push/executor_calls.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/state/id_source.h"
#include "jobtracker/state/xxl_number.h"
#include "jobtracker/store/partitions.h"

namespace carillon::jobtracker {
namespace {

using ::testing::HasSubstr;
using Kind = net::PostOutcome::Kind;

RunVerdict verdict(const std::string& body, Block block = Block::kSerialExecution,
                   int status = 200) {
  return verdict_on_run({.kind = Kind::kAnswered, .status = status, .body = body}, block);
}

// As each library words it: Java, pyxxl, Go (an array), npm's xxl-job.
class DiscardedRun : public ::testing::TestWithParam<const char*> {};

TEST_P(DiscardedRun, CountsAsDiscardedOnlyIfItsJobDiscardsLaterRuns) {
  EXPECT_EQ(verdict(GetParam(), Block::kDiscardLater).answer, RunAnswer::kDiscarded);
  EXPECT_EQ(verdict(GetParam(), Block::kSerialExecution).answer, RunAnswer::kRefused);
  EXPECT_EQ(verdict(GetParam(), Block::kCoverEarly).answer, RunAnswer::kRefused);
}

INSTANTIATE_TEST_SUITE_P(
    Executors, DiscardedRun,
    ::testing::Values(
        R"({"code":500,"msg":"block strategy effect：Discard Later"})",
        R"({"code":500,"msg":"The same job [RunData(jobId=7)] is already executing and this has been discarded."})",
        R"([{"logId":1,"logDateTim":2,"executeResult":{"code":500,"msg":"There are tasks running"},)"
        R"("handleCode":500,"handleMsg":"There are tasks running"}])",
        R"({"code":500,"msg":"There is already have a same job is running."})"));

TEST(ExecutorJob, NumberIsTheXxlJobNumberOfTheTaskId) {
  EXPECT_EQ(xxl_number("xxl-17"), 17);
  EXPECT_EQ(xxl_number("xxl-2147483647"), 2147483647);
  for (const char* task_id : {"xxl-2147483648", "xxl-0", "xxl--1", "xxl-017", "xxl-17a", "xxl-",
                              "xxl-+1", "old-17", "17", ""}) {
    EXPECT_EQ(xxl_number(task_id), 0) << task_id;
  }
  EXPECT_EQ(executor_job(DefinitionId{3}, "xxl-17", JobId{5}), 17);
}

TEST(ExecutorJob, NumberOfOtherJobsNeverCollidesWithXxlJobNumbers) {
  EXPECT_EQ(executor_job(DefinitionId{17}, "orders", JobId{5}), (1 << 29) + 17);
  const std::int64_t highest = executor_job(DefinitionId{INT32_MAX}, "orders", JobId{5});
  EXPECT_GE(highest, 1 << 29);
  EXPECT_LT(highest, 1 << 30);
  for (std::int64_t id = 1; id < 1000; ++id) {
    const std::int64_t number = executor_job(DefinitionId{}, "xxl-17", JobId{id});
    EXPECT_GE(number, 1 << 30);
    EXPECT_LE(number, INT32_MAX);
  }
}

TEST(RunVerdict, IsARefusalForOtherReasonsThoughTheJobDiscards) {
  for (const char* body : {R"({"code":500,"msg":"job handler [echo] not found."})",
                           R"({"code":500})", R"([{"logId":1,"handleCode":500}])", "[]", "[7",
                           R"([{"logId":1,"handleCode":500,"handleMsg":"Task not registered"}])"}) {
    SCOPED_TRACE(body);
    EXPECT_EQ(verdict(body, Block::kDiscardLater).answer, RunAnswer::kRefused);
  }
}

TEST(RunVerdict, QuotesTheReasonOfARefusalInAnArray) {
  EXPECT_EQ(verdict(R"([{"logId":1,"handleCode":500,"handleMsg":"Task not registered"}])").reason,
            "Task not registered");
  EXPECT_EQ(verdict("[]").reason, "an array");
}

TEST(RunVerdict, IsUnknownIfTheAnswerCannotBeRead) {
  for (const char* body : {"", "ok", "<html>", "{}", R"({"msg":"fine"})", R"({"code":"so-so"})"}) {
    SCOPED_TRACE(body);
    EXPECT_EQ(verdict(body).answer, RunAnswer::kUnknown);
    EXPECT_EQ(verdict(body, Block::kSerialExecution, 502).answer, RunAnswer::kUnknown);
  }
}

TEST(RunVerdict, RefusalNamesAnExecutorThatSpeaksHessian) {
  using namespace std::string_literals;
  for (const std::string& body :
       {"H\x02\x00R\x91"s, "H\x02\x00"s + "FH"s, "r\x01\x00S\x00\x02okz"s, "R\x02ok"s,
        "C0,com.xxl.rpc.remoting.net.params.XxlRpcResponse\x93\x09requestId"s}) {
    SCOPED_TRACE(body);
    EXPECT_EQ(verdict(body).answer, RunAnswer::kRefused);
    EXPECT_THAT(verdict(body).reason, HasSubstr("speaks Hessian (xxl-job before 2.2)"));
  }
  for (const char* body : {"Refused\n", "HTTP is fine", "run", "R"}) {
    EXPECT_EQ(verdict(body).answer, RunAnswer::kUnknown) << body;
  }
}

TEST(RunVerdict, IsARefusalIfNoExecutorServesTheAddress) {
  for (const int status : {302, 400, 404, 405, 501}) {
    const RunVerdict found = verdict("<html>", Block::kSerialExecution, status);
    EXPECT_EQ(found.answer, RunAnswer::kRefused) << status;
    EXPECT_THAT(found.reason, HasSubstr(std::to_string(status)));
  }
}

TEST(LogIds, GrowWithTimeAndOutrunItInABurst) {
  const WallTime noon =
      std::chrono::sys_days{std::chrono::year{2026} / 11 / 22} + std::chrono::hours{12};
  const std::int64_t id = IdSource::first_of(noon);
  const GroupId group{70};
  std::int64_t last = next_log_id(0, id, group);
  EXPECT_EQ(partition_of_log_id(last), partition_of(group));
  EXPECT_EQ(log_time_ms(last), 1795348800000);
  for (int i = 1; i <= 64; ++i) {
    const std::int64_t next = next_log_id(last, id, group);
    ASSERT_GT(next, last);
    last = next;
  }
  EXPECT_EQ(log_time_ms(last), 1795348800001);
  EXPECT_LT(last, kLogIdMax);
}

TEST(LogIds, OfAnOlderVersionYieldTheirTime) {
  EXPECT_EQ(log_time_ms(std::int64_t{91281600000} << 22), 1704067200000 + 91281600000);
}

}  // namespace
}  // namespace carillon::jobtracker
