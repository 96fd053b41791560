#include "jobclient/cli/lts_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/time_text.h"

namespace carillon::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

WallTime lts_time(const std::string& text) { return parse_time(text).value(); }

std::int64_t lts_ms(const std::string& text) {
  return std::chrono::floor<std::chrono::milliseconds>(lts_time(text)).time_since_epoch().count();
}

const char* const kLtsNow = "2026-11-21T20:00:00Z";

LtsOptions lts_options() {
  LtsOptions options;
  options.zone = Zone::load("Asia/Shanghai").value();
  options.now = lts_time(kLtsNow);
  return options;
}

LtsRow lts_row(LtsQueue queue, const std::string& type, const std::string& task_id) {
  return {.queue = queue,
          .job_id = "A1",
          .job_type = type,
          .task_id = task_id,
          .real_task_id = task_id,
          .group = "orders"};
}

LtsRow lts_cron(const std::string& expression) {
  LtsRow row = lts_row(LtsQueue::kCron, "CRON", "nightly");
  row.cron = expression;
  return row;
}

LtsRow lts_repeat(std::int64_t count) {
  LtsRow row = lts_row(LtsQueue::kRepeat, "REPEAT", "poll");
  row.repeat_count = count;
  row.repeat_interval = 60'000;
  row.trigger_time = lts_ms("2026-11-21T19:30:20Z");
  return row;
}

// What LTS has made of a definition.
LtsRow lts_waiting(const LtsRow& definition, const std::string& time) {
  LtsRow row = definition;
  row.queue = LtsQueue::kWaiting;
  row.trigger_time = lts_ms(time);
  return row;
}

LtsEntry only_entry(const std::vector<LtsRow>& rows, const LtsOptions& options = lts_options()) {
  auto entries = read_lts_jobs(rows, options);
  EXPECT_EQ(entries.size(), 1u);
  return std::move(entries.at(0));
}

TEST(LtsJobs, CronDefinitionKeepsItsExpressionInTheLtsZone) {
  LtsRow row = lts_cron("0 30 2 * * ?");
  row.priority = 7;
  row.max_retry_times = 3;
  const LtsEntry entry = only_entry({row, lts_waiting(row, "2026-11-22T18:30:00Z")});
  const JobSpec& job = entry.job.value();
  EXPECT_EQ(job.task_id, "nightly");
  EXPECT_EQ(job.group, "orders");
  EXPECT_EQ(job.schedule.kind, ScheduleKind::kCron);
  EXPECT_EQ(job.schedule.cron, "0 30 2 * * ?");
  EXPECT_EQ(job.schedule.tz, "Asia/Shanghai");
  EXPECT_EQ(job.priority, 7);
  EXPECT_EQ(job.retries.max, 3);
  EXPECT_EQ(job.retries.base, std::chrono::seconds{30});
  EXPECT_EQ(job.overlap, Overlap::kSkip);
  EXPECT_EQ(job.misfire.policy, MisfirePolicy::kFireOnce);
  EXPECT_EQ(entry.waiting, 1);
  EXPECT_THAT(entry.notes, IsEmpty());
}

TEST(LtsJobs, MissingJobTypeIsInferredFromTheTable) {
  LtsRow cron = lts_cron("0 0 3 * * ?");
  LtsRow suspended = cron;
  suspended.queue = LtsQueue::kSuspended;
  suspended.task_id = suspended.real_task_id = "asleep";
  LtsRow repeat = lts_repeat(-1);
  for (LtsRow* row : {&cron, &suspended, &repeat}) row->job_type.clear();
  const auto entries = read_lts_jobs({cron, suspended, repeat}, lts_options());
  ASSERT_EQ(entries.size(), 3U);
  for (const LtsEntry& entry : entries) {
    ASSERT_TRUE(entry.job.ok()) << entry.job.error().message;
    const bool is_cron = entry.row.queue != LtsQueue::kRepeat;
    EXPECT_EQ(entry.job.value().schedule.kind,
              is_cron ? ScheduleKind::kCron : ScheduleKind::kEvery);
    EXPECT_THAT(entry.notes, Contains(HasSubstr("has no job_type in LTS")));
  }
}

TEST(LtsJobs, IndependentCyclesBecomeParallelOverlapAndFireAllMisfires) {
  LtsRow row = lts_cron("0 0/1 * * * ?");
  row.relies_on_prev_cycle = false;
  const LtsEntry entry = only_entry({row, lts_waiting(row, "2026-11-21T20:01:00Z")});
  const JobSpec& job = entry.job.value();
  EXPECT_EQ(job.overlap, Overlap::kParallel);
  EXPECT_EQ(job.misfire.policy, MisfirePolicy::kFireAll);
  EXPECT_THAT(entry.notes, ElementsAre("at most 1000 missed fires of the last 1d run here; "
                                       "LTS runs all missed fires"));
}

TEST(LtsJobs, OccurrencesMadeAheadByLtsAreNotImportedTwice) {
  LtsRow row = lts_cron("0 0/1 * * * ?");
  row.relies_on_prev_cycle = false;
  std::vector<LtsRow> rows{row};
  for (const char* time : {"2026-11-21T20:01:00Z", "2026-11-21T20:02:00Z"}) {
    rows.push_back(lts_waiting(row, time));
    rows.back().task_id += std::string{"_"} + time;
  }
  EXPECT_EQ(only_entry(rows).waiting, 2);
}

TEST(LtsJobs, OrphanedOccurrenceRunsOnce) {
  LtsRow row = lts_waiting(lts_cron("0 0/1 * * * ?"), "2026-11-21T20:01:00Z");
  row.task_id = "nightly_1122-040100";
  const LtsEntry entry = only_entry({row});
  EXPECT_EQ(entry.job.value().task_id, "nightly_1122-040100");
  EXPECT_EQ(entry.job.value().schedule.kind, ScheduleKind::kAt);
  EXPECT_EQ(entry.job.value().schedule.at, lts_time("2026-11-21T20:01:00Z"));
  EXPECT_THAT(entry.notes, ElementsAre(HasSubstr("definition is gone")));
}

TEST(LtsJobs, NotesThatLtsFiresInAnotherTimeZone) {
  const LtsRow row = lts_cron("0 30 2 * * ?");
  const LtsEntry entry = only_entry({row, lts_waiting(row, "2026-11-22T01:30:00Z")});
  EXPECT_THAT(entry.notes, ElementsAre(HasSubstr("--tz must be the zone")));
}

TEST(LtsJobs, RefusesAnInvalidOrNeverFiringCron) {
  EXPECT_THAT(only_entry({lts_cron("0 0 0 1 1 ? 2020")}).job.error().message,
              HasSubstr("its last year, 2020, has passed"));
  EXPECT_THAT(only_entry({lts_cron("0 0/70 * * * ?")}).job.error().message, HasSubstr("step 70"));
}

TEST(LtsJobs, IntervalJobKeepsTheGridOfItsFirstFire) {
  LtsRow row = lts_repeat(-1);
  row.trigger_time = lts_ms("2026-11-21T19:59:59Z");
  row.internal_ext_params = R"({"__LTS_Repeat_Job_First_Fire_Time":")" +
                            std::to_string(lts_ms("2026-11-21T19:30:20Z")) + R"("})";
  const LtsEntry entry = only_entry({row});
  const Schedule& schedule = entry.job.value().schedule;
  EXPECT_EQ(schedule.kind, ScheduleKind::kEvery);
  EXPECT_EQ(schedule.interval, std::chrono::minutes{1});
  EXPECT_FALSE(schedule.count.has_value());
  EXPECT_EQ(schedule.first, lts_time("2026-11-21T20:00:20Z"));
  EXPECT_EQ(entry.schedule, "every 1m");
}

TEST(LtsJobs, IntervalJobKeepsALaterFirstFire) {
  LtsRow row = lts_repeat(10);
  row.trigger_time = lts_ms("2026-11-23T00:00:00Z");
  EXPECT_EQ(only_entry({row}).job.value().schedule.first, lts_time("2026-11-23T00:00:00Z"));
}

TEST(LtsJobs, RefusesImplausibleTimesAndIntervals) {
  LtsRow repeat = lts_repeat(0);
  repeat.repeat_interval = 18'446'744'073'710'552;
  EXPECT_EQ(only_entry({repeat}).job.error().message,
            "has a repeat_interval of 18446744073710552 ms, which is more than 100 years");
  repeat.repeat_interval = INT64_MIN;
  EXPECT_EQ(only_entry({repeat}).job.error().message, "has no repeat_interval");
  repeat.repeat_interval = 60'000;
  repeat.trigger_time = INT64_MIN;
  EXPECT_EQ(
      only_entry({repeat}).job.error().message,
      "has a first fire of -9223372036854775808 ms, which is not a time between 1970 and 9999");
  LtsRow once = lts_waiting(lts_cron("0 0/1 * * * ?"), "2026-11-21T20:01:00Z");
  once.trigger_time = INT64_MIN;
  EXPECT_EQ(
      only_entry({once}).job.error().message,
      "has a trigger_time of -9223372036854775808 ms, which is not a time between 1970 and 9999");
}

TEST(LtsJobs, IntervalJobKeepsItsRemainingRuns) {
  LtsRow row = lts_repeat(5);
  row.repeated_count = 2;
  LtsRow executing = row;
  executing.queue = LtsQueue::kExecuting;
  const auto entries = read_lts_jobs({row, executing}, lts_options());
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].job.value().schedule.count, 2);
  EXPECT_EQ(entries[0].schedule, "every 1m, 2 times");
  EXPECT_THAT(entries[0].notes, Contains(HasSubstr("3 of its 5 runs")));
  EXPECT_THAT(entries[1].job.error().message, HasSubstr("the definition is imported"));
  row.repeated_count = 5;
  EXPECT_THAT(only_entry({row}).job.error().message, HasSubstr("all of its 5 runs"));
  row.repeated_count = INT64_MIN;
  EXPECT_EQ(only_entry({row}).job.value().schedule.count, 5);
}

TEST(LtsJobs, NotesThatLtsLostTheNextRun) {
  LtsRow row = lts_repeat(5);
  EXPECT_THAT(only_entry({row}).notes, Contains(HasSubstr("has lost its next run")));
  EXPECT_THAT(only_entry({row, lts_waiting(row, "2026-11-21T20:00:20Z")}).notes, IsEmpty());
  // Its next run is made when it is near.
  row.relies_on_prev_cycle = false;
  EXPECT_THAT(only_entry({row}).notes, Not(Contains(HasSubstr("has lost its next run"))));
}

TEST(LtsJobs, NotesWaitingRunsThatAreNotMadeUp) {
  const LtsRow row = lts_cron("0 30 2 * * ?");
  LtsRow waiting = lts_waiting(row, "2026-11-21T18:30:00Z");
  EXPECT_THAT(only_entry({row, waiting}).notes, ElementsAre(HasSubstr("overdue runs")));
  waiting.retry_times = 1;
  EXPECT_THAT(only_entry({row, waiting}).notes, ElementsAre(HasSubstr("waits for its retry")));
}

TEST(LtsJobs, RealTimeJobRunsNowAndTriggerTimeJobLater) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "mail-1");
  row.trigger_time = lts_ms("2026-11-21T19:00:00Z");
  EXPECT_EQ(only_entry({row}).job.value().schedule, Schedule{});
  row.job_type = "TRIGGER_TIME";
  const LtsEntry entry = only_entry({row});
  EXPECT_EQ(entry.job.value().schedule.kind, ScheduleKind::kAt);
  EXPECT_EQ(entry.schedule, "at 2026-11-21T19:00:00.000Z");
}

TEST(LtsJobs, RetriedJobKeepsItsTimeAndRemainingRetries) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "mail-1");
  row.trigger_time = lts_ms("2026-11-21T20:00:30Z");
  row.max_retry_times = 5;
  row.retry_times = 2;
  const JobSpec job = only_entry({row}).job.value();
  EXPECT_EQ(job.retries.max, 3);
  EXPECT_EQ(job.schedule.at, lts_time("2026-11-21T20:00:30Z"));
}

TEST(LtsJobs, NotesPrioritiesAndRetriesCutToTheLimits) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "x");
  row.priority = -5;
  row.max_retry_times = 25;
  LtsEntry entry = only_entry({row});
  EXPECT_EQ(entry.job.value().priority, 0);
  EXPECT_EQ(entry.job.value().retries.max, 10);
  EXPECT_THAT(entry.notes,
              ElementsAre(HasSubstr("priority -5 becomes 0"), HasSubstr("retries 25 become 10")));
  row.priority = 2'147'483'647;
  LtsOptions options = lts_options();
  options.retries_max = 30;
  options.retry_base = std::chrono::minutes{1};
  entry = only_entry({row}, options);
  EXPECT_EQ(entry.job.value().retries.base, std::chrono::minutes{1});
  EXPECT_EQ(entry.job.value().priority, kPriorityMax);
  EXPECT_EQ(entry.job.value().retries.max, 25);
}

TEST(LtsJobs, ExtParamsBecomeParams) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "x");
  row.ext_params = R"({"城市":"北京","lines":"a\nb","n":7,"nothing":null,"list":[1,2]})";
  EXPECT_THAT(only_entry({row}).job.value().params,
              ElementsAre(Pair("lines", "a\nb"), Pair("list", "[1,2]"), Pair("n", "7"),
                          Pair("城市", "北京")));
  EXPECT_THAT(only_entry({row}).notes,
              ElementsAre("param list is not text in LTS: its JSON text is kept",
                          "param n is not text in LTS: its JSON text is kept",
                          "param nothing is not text in LTS: it is null and left out"));
  for (const char* wrong : {"{", "[]", "7"}) {
    row.ext_params = wrong;
    EXPECT_THAT(only_entry({row}).job.error().message, HasSubstr("not a JSON object")) << wrong;
  }
}

TEST(LtsJobs, HandlerIsTheNodeGroupUnlessOneIsNamed) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "x");
  row.ext_params = R"({"shardField":"close"})";
  LtsOptions options = lts_options();
  EXPECT_EQ(only_entry({row}, options).job.value().run.handler, "orders");
  options.handler = "runner";
  EXPECT_EQ(only_entry({row}, options).job.value().run.handler, "runner");
  options.handler_from = "shardField";
  EXPECT_EQ(only_entry({row}, options).job.value().run.handler, "close");
  row.ext_params.clear();
  EXPECT_EQ(only_entry({row}, options).job.value().run.handler, "runner");
}

TEST(LtsJobs, ShellLineReplacesTheHandler) {
  LtsOptions options = lts_options();
  options.shell = "exec run-order";
  const JobSpec job =
      only_entry({lts_row(LtsQueue::kWaiting, "REAL_TIME", "x")}, options).job.value();
  EXPECT_EQ(job.run.kind, RunKind::kShell);
  EXPECT_EQ(job.run.shell, "exec run-order");
  EXPECT_EQ(job.run.handler, "");
}

TEST(LtsJobs, ExecutingJobsAreNotImported) {
  EXPECT_THAT(only_entry({lts_row(LtsQueue::kExecuting, "REAL_TIME", "x")}).job.error().message,
              HasSubstr("executes in LTS"));
}

TEST(LtsJobs, DefinitionWinsOverOtherRowsWithItsTaskId) {
  LtsRow suspended = lts_cron("0 0 3 * * ?");
  suspended.queue = LtsQueue::kSuspended;
  LtsRow once = lts_row(LtsQueue::kWaiting, "REAL_TIME", "nightly");
  const auto entries = read_lts_jobs({lts_cron("0 30 2 * * ?"), suspended, once}, lts_options());
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_TRUE(entries[0].job.ok());
  EXPECT_THAT(entries[1].job.error().message, HasSubstr("belongs to a cron job"));
  EXPECT_THAT(entries[2].job.error().message, HasSubstr("belongs to a cron job"));
  // Another group has task ids of its own.
  once.group = "mail";
  EXPECT_TRUE(read_lts_jobs({lts_cron("0 30 2 * * ?"), once}, lts_options())[1].job.ok());
}

TEST(LtsJobs, RefusesAReservedTaskId) {
  EXPECT_THAT(only_entry({lts_row(LtsQueue::kWaiting, "REAL_TIME", "job-382458616025710592")})
                  .job.error()
                  .message,
              HasSubstr("is reserved for jobs without a chosen task id"));
}

TEST(LtsJobs, NotesFeaturesWithoutACounterpart) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "x");
  row.internal_ext_params = R"({"__LTS_ignoreAddOnExecuting":"true"})";
  EXPECT_THAT(only_entry({row}).notes, ElementsAre(HasSubstr("__LTS_ignoreAddOnExecuting")));
}

TEST(LtsJobs, JobThatNeedsFeedbackReportsToItsSubmittersClientGroup) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "x");
  row.submit_group = "web";
  EXPECT_FALSE(only_entry({row}).job.value().need_feedback);
  row.needs_feedback = true;
  const LtsEntry entry = only_entry({row});
  EXPECT_TRUE(entry.job.value().need_feedback);
  EXPECT_EQ(entry.job.value().client_group, "web");
  EXPECT_THAT(entry.notes, ElementsAre(HasSubstr("kept for client group web")));
  row.submit_group.clear();
  EXPECT_FALSE(only_entry({row}).job.value().need_feedback);
  EXPECT_THAT(only_entry({row}).notes, ElementsAre(HasSubstr("nobody gets the result")));
}

TEST(LtsJobs, JobWithAnInvalidClientGroupIsImportedWithoutFeedback) {
  LtsRow row = lts_row(LtsQueue::kWaiting, "REAL_TIME", "x");
  row.needs_feedback = true;
  row.submit_group = "web shop";
  const LtsEntry entry = only_entry({row});
  EXPECT_FALSE(entry.job.value().need_feedback);
  EXPECT_EQ(entry.job.value().client_group, "");
  EXPECT_THAT(entry.notes,
              ElementsAre("needFeedback is left out, nobody gets the result: client_group is "
                          "'web shop', must have only letters, digits, dots, underscores and "
                          "hyphens"));
}

}  // namespace
}  // namespace carillon::cli
