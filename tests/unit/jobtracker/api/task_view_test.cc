#include "jobtracker/api/task_view.h"

#include <gtest/gtest.h>

#include "jobtracker/api/job_results.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

wire::Row row_with_next_fire(const char* next) { return {{"next_fire", std::string{next}}}; }

JobSpec spec_with(Schedule schedule) { return {.schedule = std::move(schedule)}; }

TEST(NextFires, OfAnIntervalAreItsIntervalApart) {
  const Schedule schedule{.kind = ScheduleKind::kEvery, .interval = std::chrono::hours{1}};
  const Json fires =
      next_fires(spec_with(schedule), row_with_next_fire("2026-11-29T08:12:34.567Z"));
  ASSERT_EQ(fires.size(), 10U);
  EXPECT_EQ(fires[0], "2026-11-29T08:12:34.567Z");
  EXPECT_EQ(fires[1], "2026-11-29T09:12:34.567Z");
  EXPECT_EQ(fires[9], "2026-11-29T17:12:34.567Z");
}

// The first fire may be long past, and off the grid that counts from it: an interval can change.
TEST(NextFires, OfAnIntervalGoOnFromTheNextOneWhateverTheFirstWas) {
  const Schedule schedule{.kind = ScheduleKind::kEvery,
                          .interval = std::chrono::minutes{7},
                          .first = parse_time("2026-01-01T00:00:00Z").value()};
  const Json fires =
      next_fires(spec_with(schedule), row_with_next_fire("2026-11-29T08:00:00.000Z"));
  ASSERT_EQ(fires.size(), 10U);
  EXPECT_EQ(fires[1], "2026-11-29T08:07:00.000Z");
  EXPECT_EQ(fires[2], "2026-11-29T08:14:00.000Z");
}

TEST(NextFires, OfCronAreThoseOfItsZone) {
  const Schedule schedule{
      .kind = ScheduleKind::kCron, .cron = "0 30 2 * * ?", .tz = "Europe/Berlin"};
  const Json fires =
      next_fires(spec_with(schedule), row_with_next_fire("2027-03-27T01:30:00.000Z"));
  ASSERT_EQ(fires.size(), 10U);
  EXPECT_EQ(fires[1], "2027-03-28T01:00:00.000Z");  // the clocks go forward at 02:00
  EXPECT_EQ(fires[2], "2027-03-29T00:30:00.000Z");
}

TEST(NextFires, EndWithTheSchedule) {
  const Schedule last{.kind = ScheduleKind::kCron, .cron = "0 0 12 31 12 ? 2026", .tz = "UTC"};
  const Json fires = next_fires(spec_with(last), row_with_next_fire("2026-12-31T12:00:00.000Z"));
  EXPECT_EQ(fires, Json::array({"2026-12-31T12:00:00.000Z"}));
  EXPECT_TRUE(next_fires(spec_with(last), {{"next_fire", std::monostate{}}}).empty());
}

TEST(NextFires, OfAFixedDelayAreOnlyTheNextOne) {
  const Schedule schedule{.kind = ScheduleKind::kFixedDelay, .interval = std::chrono::hours{1}};
  EXPECT_EQ(next_fires(spec_with(schedule), row_with_next_fire("2026-11-29T08:00:00.000Z")).size(),
            1U);
}

wire::Row ended(std::int64_t attempt, const char* state) {
  return {{"attempt", attempt}, {"state", std::string{state}}};
}

TEST(Results, AreTheNewestStateAndTheShareOfRunsThatSucceeded) {
  Json item{{"last_result", nullptr}, {"success_rate", nullptr}};
  add_results(item, {ended(0, "skipped"), ended(1, "failed"), ended(2, "succeeded"),
                     ended(1, "succeeded"), ended(1, "succeeded")});
  EXPECT_EQ(item["last_result"], "skipped");
  EXPECT_DOUBLE_EQ(item["success_rate"].get<double>(), 0.75);
}

TEST(Results, AreNullWithoutRuns) {
  Json item{{"last_result", nullptr}, {"success_rate", nullptr}};
  add_results(item, {});
  EXPECT_TRUE(item["last_result"].is_null());
  EXPECT_TRUE(item["success_rate"].is_null());
  add_results(item, {ended(0, "missed")});
  EXPECT_EQ(item["last_result"], "missed");
  EXPECT_TRUE(item["success_rate"].is_null());
}

}  // namespace
}  // namespace carillon::jobtracker::api
