#include "jobtracker/push/managed_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::xxl::ManagedJob;

TEST(ManagedSpec, MapsAllXxlJobFieldsToAPushJob) {
  const auto spec =
      managed_spec({.name = "Import",
                    .author = "ann",
                    .alarm_email = "ann@example.com, ,bob@example.com,ann@example.com",
                    .schedule_type = "CRON",
                    .schedule_conf = "0 0 2 * * ?",
                    .misfire = "FIRE_ONCE_NOW",
                    .route = "ROUND",
                    .handler = "import",
                    .param = "day=1",
                    .block = "COVER_EARLY",
                    .timeout_s = 5,
                    .retries = 2,
                    .glue_type = "BEAN"},
                   "billing");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec.value().group, "billing");
  EXPECT_EQ(spec.value().description, "Import");
  EXPECT_EQ(spec.value().owner, "ann");
  EXPECT_THAT(spec.value().alarm, ElementsAre("ann@example.com", "bob@example.com"));
  EXPECT_EQ(spec.value().dispatch, Dispatch::kPush);
  EXPECT_EQ(spec.value().schedule.cron, "0 0 2 * * ?");
  EXPECT_EQ(spec.value().run.handler, "import");
  EXPECT_EQ(spec.value().payload, "day=1");
  EXPECT_EQ(spec.value().push.route, Route::kRound);
  EXPECT_EQ(spec.value().push.block, Block::kCoverEarly);
  EXPECT_EQ(spec.value().overlap, Overlap::kCancelRunning);
  EXPECT_EQ(spec.value().misfire.policy, MisfirePolicy::kFireOnce);
  EXPECT_EQ(spec.value().timeout, std::chrono::seconds{5});
  EXPECT_EQ(spec.value().retries.max, 2);
}

TEST(ManagedSpec, MapsFixedRateManualAndScriptJobs) {
  const auto every = managed_spec({.name = "n",
                                   .author = "a",
                                   .schedule_type = "FIX_RATE",
                                   .schedule_conf = "30",
                                   .glue_type = "GLUE_SHELL",
                                   .glue_source = "echo 1"},
                                  "billing");
  ASSERT_TRUE(every.ok()) << every.error().message;
  EXPECT_EQ(every.value().schedule.interval, std::chrono::seconds{30});
  EXPECT_EQ(every.value().run.kind, RunKind::kScript);
  EXPECT_EQ(every.value().run.script_language, "bash");
  const auto manual = managed_spec(
      {.name = "n", .author = "a", .schedule_type = "NONE", .handler = "x"}, "billing");
  ASSERT_TRUE(manual.ok()) << manual.error().message;
  EXPECT_EQ(manual.value().schedule.kind, ScheduleKind::kManual);
}

TEST(ManagedSpec, UpdateKeepsTheScriptAndTheChildJobs) {
  JobSpec before;
  before.run = {.kind = RunKind::kScript, .script_language = "python", .script_source = "print(1)"};
  before.children = {{.group = "billing", .task_id = "next"}};
  const auto spec = managed_spec({.name = "New",
                                  .author = "ann",
                                  .schedule_type = "NONE",
                                  .handler = "ignored",
                                  .glue_type = "BEAN"},
                                 "billing", &before);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec.value().run, before.run);
  EXPECT_EQ(spec.value().children, before.children);
  EXPECT_EQ(spec.value().description, "New");
}

TEST(ManagedSpec, UpdateDoesNotTurnAHandlerIntoAScript) {
  JobSpec before;
  before.run = {.handler = "import"};
  const auto spec = managed_spec({.name = "n",
                                  .author = "a",
                                  .handler = "importAll",
                                  .glue_type = "GLUE_SHELL",
                                  .glue_source = "echo 1"},
                                 "billing", &before);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec.value().run.kind, RunKind::kHandler);
  EXPECT_EQ(spec.value().run.handler, "importAll");
  EXPECT_EQ(spec.value().run.script_source, "");
}

TEST(ManagedSpec, UpdateKeepsTheAlarmRecipientsUnlessOthersAreGiven) {
  JobSpec before;
  before.alarm = {"http://hooks.example/1"};
  const auto kept = managed_spec({.name = "n", .author = "a", .handler = "x"}, "billing", &before);
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_EQ(kept.value().alarm, before.alarm);
  const auto none = managed_spec({.name = "n", .author = "a", .alarm_email = "", .handler = "x"},
                                 "billing", &before);
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_THAT(none.value().alarm, IsEmpty());
}

struct RefusedJob {
  ManagedJob job;
  const char* why;
};

class ManagedSpecRefusal : public ::testing::TestWithParam<RefusedJob> {};

TEST_P(ManagedSpecRefusal, NamesTheField) {
  const auto spec = managed_spec(GetParam().job, "billing");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.error().message, HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, ManagedSpecRefusal,
    ::testing::Values(
        RefusedJob{{.schedule_type = "FIX_DELAY", .handler = "x"}, "scheduleType"},
        RefusedJob{{.schedule_type = "FIX_RATE", .schedule_conf = "1x", .handler = "x"},
                   "scheduleConf is '1x'"},
        RefusedJob{{}, "executorHandler is ''"},
        RefusedJob{{.name = "n", .author = "a", .handler = " \t"}, "executorHandler is ' "},
        RefusedJob{{.name = " ", .author = "a", .handler = "x"}, "name is ' ', must be "},
        RefusedJob{{.name = "n", .handler = "x"}, "author is '', must be whose job it is"},
        RefusedJob{{.misfire = "NONSENSE", .handler = "x"}, "misfireStrategy is 'NONSENSE'"},
        RefusedJob{{.alarm_email = "ann@example.com,nobody", .handler = "x"}, "alarmEmail: "},
        RefusedJob{{.route = "NEAREST", .handler = "x"}, "executorRouteStrategy"},
        RefusedJob{{.handler = "x", .block = "x"}, "executorBlockStrategy"},
        RefusedJob{{.glue_type = "GLUE_COBOL"}, "glueType"}));

}  // namespace
}  // namespace carillon::jobtracker
