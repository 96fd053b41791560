#include "shared/wire/alarm_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::wire {
namespace {

using ::testing::HasSubstr;

AlarmMessage two_jobs() {
  constexpr WallTime kDue{std::chrono::sys_days{std::chrono::year{2026} / 11 / 22}};
  AlarmLine nightly{.task_id = "nightly", .failures = 3, .job_id = JobId{72}, .attempt = 2};
  nightly.description = "backs the shop up";
  nightly.owner = "ann";
  nightly.state = "failed";
  nightly.trigger_time = kDue;
  nightly.ended_at = kDue + std::chrono::seconds{5};
  nightly.node = "worker-1";
  nightly.exit_code = 1;
  nightly.message = "disk \"full\"\xFF";
  AlarmLine other = nightly;
  other.task_id = "other";
  other.failures = 1;
  return {.id = 9, .group = "ops", .jobs = {nightly, other}};
}

TEST(AlarmMessage, SubjectCountsTheFailuresAndNamesTheJobs) {
  AlarmMessage message = two_jobs();
  EXPECT_EQ(alarm_subject(message), "[carillon] ops: 4 failures of nightly and 1 other job");
  message.others = 96;
  EXPECT_EQ(alarm_subject(message),
            "[carillon] ops: 100 failures of nightly and at least 2 other jobs");
  message = {.group = "ops", .jobs = {message.jobs.back()}};
  EXPECT_EQ(alarm_subject(message), "[carillon] ops: 1 failure of other");
}

TEST(AlarmMessage, TextDescribesEachFailure) {
  AlarmMessage message = two_jobs();
  message.others = 96;
  EXPECT_THAT(alarm_text(message), HasSubstr("\nnightly (backs the shop up), owner ann: failed, 3 "
                                             "times\n"
                                             "  job       72, attempt 2\n"
                                             "  node      worker-1\n"
                                             "  due       2026-11-22T00:00:00.000Z\n"
                                             "  ended     2026-11-22T00:00:05.000Z\n"
                                             "  exit      1\n"
                                             "  message   disk \"full\"\xFF\n"));
  EXPECT_THAT(alarm_text(message), HasSubstr("\nAnd 96 failures of other jobs.\n"));
}

TEST(AlarmMessage, JsonIsOneObject) {
  AlarmMessage message = two_jobs();
  message.jobs.pop_back();
  EXPECT_EQ(alarm_json(message),
            "{\"alarm_id\":\"9\",\"group\":\"ops\",\"failures\":3,\"text\":\"[carillon] ops: 3 "
            "failures of nightly\",\"jobs\":[{\"task_id\":\"nightly\",\"description\":\"backs the "
            "shop up\",\"owner\":\"ann\",\"failures\":3,\"job_id\":\"72\",\"attempt\":2,"
            "\"state\":\"failed\",\"trigger_time\":\"2026-11-22T00:00:00.000Z\",\"ended_at\":"
            "\"2026-11-22T00:00:05.000Z\",\"node\":\"worker-1\",\"exit_code\":1,\"message\":\"disk "
            "\\\"full\\\"\xEF\xBF\xBD\"}],\"others\":0,\"conditions\":[]}");
}

TEST(AlarmMessage, ConditionsComeFirstAndNeedNoFailure) {
  const WallTime at = two_jobs().jobs[0].ended_at;
  AlarmMessage message{.id = 9, .group = "ops"};
  message.conditions = {
      {.condition = "late",
       .is_over = true,
       .since = at - std::chrono::seconds{5},
       .at = at,
       .text = "late is over after 5s: 0 due jobs"},
      {.condition = "unserved", .since = at, .at = at, .text = "unserved: nobody"}};
  EXPECT_EQ(alarm_subject(message),
            "[carillon] ops: late is over after 5s: 0 due jobs; unserved: nobody");
  EXPECT_EQ(alarm_text(message),
            "Node group ops, late is over after 5s: 0 due jobs\n"
            "  over      2026-11-22T00:00:05.000Z\n"
            "Node group ops, unserved: nobody\n"
            "  since     2026-11-22T00:00:05.000Z\n");
  EXPECT_THAT(
      alarm_json(message),
      HasSubstr("\"jobs\":[],\"others\":0,\"conditions\":[{\"condition\":\"late\",\"is_over\":"
                "true,\"since\":\"2026-11-22T00:00:00.000Z\",\"at\":\"2026-11-22T00:00:05."
                "000Z\",\"text\":\"late is over after 5s: 0 due jobs\"},"));
  message.jobs = two_jobs().jobs;
  EXPECT_THAT(alarm_subject(message), HasSubstr("; unserved: nobody; 4 failures of nightly and"));
  EXPECT_THAT(alarm_text(message), HasSubstr("05.000Z\n\n4 failures in node group ops that "));
}

}  // namespace
}  // namespace carillon::wire
