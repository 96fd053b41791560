#include "shared/job/schedule.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/time_text.h"
#include "tests/unit/shared/job/parsed.h"

namespace carillon {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Optional;

const WallTime kSubmitted = time_of("2024-05-01T12:00:00.250Z");

CompiledSchedule compiled(const Schedule& schedule) {
  return CompiledSchedule::compile(schedule, kSubmitted).value();
}

std::string refusal_of(const Schedule& schedule) {
  const auto result = CompiledSchedule::compile(schedule, kSubmitted);
  return result.ok() ? "accepted" : result.error().message;
}

Schedule cron(const std::string& expression, const std::string& tz = "UTC") {
  return {.kind = ScheduleKind::kCron, .cron = expression, .tz = tz};
}

Schedule every(Duration interval) { return {.kind = ScheduleKind::kEvery, .interval = interval}; }

Schedule fixed_delay(Duration interval) {
  return {.kind = ScheduleKind::kFixedDelay, .interval = interval};
}

TEST(CompiledSchedule, NowFiresWhenSubmitted) {
  CompiledSchedule schedule = compiled({.kind = ScheduleKind::kNow});
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(kSubmitted));
  EXPECT_EQ(schedule.next_fire(kSubmitted), std::nullopt);
}

TEST(CompiledSchedule, AtFiresOnceAtItsTime) {
  const WallTime at = kSubmitted + hours{3};
  CompiledSchedule schedule = compiled({.kind = ScheduleKind::kAt, .at = at});
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(at));
  EXPECT_THAT(schedule.next_fire(at - microseconds{1}), Optional(at));
  EXPECT_EQ(schedule.next_fire(at), std::nullopt);
  EXPECT_EQ(schedule.count_fires(kSubmitted, at, 10), 1);
}

TEST(CompiledSchedule, AtFiresEvenIfItsTimeHasPassed) {
  const WallTime at = kSubmitted - hours{3};
  CompiledSchedule schedule = compiled({.kind = ScheduleKind::kAt, .at = at});
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(at));
}

TEST(CompiledSchedule, ManualNeverFires) {
  CompiledSchedule schedule = compiled({.kind = ScheduleKind::kManual});
  EXPECT_EQ(schedule.first_fire(kSubmitted), std::nullopt);
  EXPECT_EQ(schedule.next_fire(kSubmitted), std::nullopt);
  EXPECT_EQ(schedule.next_after_end(kSubmitted), std::nullopt);
  EXPECT_EQ(schedule.count_fires(kSubmitted, kSubmitted + hours{24}, 10), 0);
}

TEST(CompiledSchedule, CronFiresInItsZone) {
  CompiledSchedule schedule = compiled(cron("0 0 2 * * ?", "Asia/Shanghai"));
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(time_of("2024-05-01T18:00:00Z")));
  EXPECT_THAT(schedule.next_fire(time_of("2024-05-01T18:00:00Z")),
              Optional(time_of("2024-05-02T18:00:00Z")));
  EXPECT_THAT(schedule.next_after_end(time_of("2024-05-04T18:00:00Z")),
              Optional(time_of("2024-05-05T18:00:00Z")));
}

TEST(CompiledSchedule, CronAppliesItsDstRule) {
  Schedule twice = cron("0 30 1 * * ?", "America/New_York");
  twice.dst = DstRule::kTwice;
  CompiledSchedule schedule = compiled(twice);
  EXPECT_EQ(
      schedule.count_fires(time_of("2024-11-03T04:00:00Z"), time_of("2024-11-03T12:00:00Z"), 10),
      2);
}

TEST(CompiledSchedule, CronCountsFiresUpToTheLimit) {
  CompiledSchedule schedule = compiled(cron("* * * * * ?"));
  const WallTime noon = time_of("2024-05-01T12:00:00Z");
  EXPECT_EQ(schedule.count_fires(noon, noon + seconds{90}, 1000), 90);
  EXPECT_EQ(schedule.count_fires(noon, noon + seconds{90}, 50), 50);
  EXPECT_EQ(schedule.count_fires(noon, noon, 50), 0);
  EXPECT_EQ(schedule.count_fires(noon, noon - seconds{5}, 50), 0);
  EXPECT_EQ(schedule.count_fires(noon, noon + seconds{90}, 0), 0);
}

TEST(CompiledSchedule, CronCountsEverySecondOverTenYears) {
  CompiledSchedule schedule = compiled(cron("* * * * * ?", "Europe/Berlin"));
  const WallTime from = time_of("2024-05-01T12:34:56.789Z");
  EXPECT_EQ(schedule.count_fires(from, from + hours{24 * 3650}, 1LL << 60), 3650LL * 86'400);
  EXPECT_EQ(schedule.count_fires(from, from + hours{24 * 3650}, 12'345'678), 12'345'678);
}

// Zones whose clocks change at midnight, by half an hour, by a day, and not at all.
TEST(CompiledSchedule, CronCountMatchesNextFire) {
  for (const char* tz : {"UTC", "Europe/Berlin", "America/New_York", "America/Havana",
                         "Australia/Lord_Howe", "Pacific/Apia", "Asia/Beirut"}) {
    for (const char* expression : {"0 */7 * * * ?", "30 0/20 0-3,22-23 * * ?", "0 0 0 * * ?",
                                   "0 30 23 L * ?", "15 15 0,12 ? * MON,SUN", "0 0 1 29 2 ?"}) {
      for (const DstRule rule : {DstRule::kAuto, DstRule::kSkip, DstRule::kOnce, DstRule::kTwice}) {
        SCOPED_TRACE(std::string{tz} + ", " + expression + ", rule " +
                     std::to_string(static_cast<int>(rule)));
        Schedule wanted = cron(expression, tz);
        wanted.dst = rule;
        CompiledSchedule schedule = compiled(wanted);
        const WallTime from = time_of("2011-03-01T10:11:12.5Z");
        const WallTime until = time_of("2012-04-05T20:00:00Z");
        std::int64_t fires = 0;
        for (auto fire = schedule.next_fire(from); *fire <= until; ++fires) {
          fire = schedule.next_fire(*fire);
        }
        EXPECT_EQ(schedule.count_fires(from, until, 1LL << 60), fires);
      }
    }
  }
}

TEST(CompiledSchedule, RefusesAnInvalidCronAndQuotesIt) {
  EXPECT_EQ(refusal_of(cron("0 0 24 * * ?")), "cron '0 0 24 * * ?': hour 24 is out of range 0-23");
  EXPECT_EQ(refusal_of(cron("0 0 0 1 1 ? 2020")),
            "cron '0 0 0 1 1 ? 2020': has no future fire: its last year, 2020, has passed");
}

TEST(CompiledSchedule, RefusesACronWithoutAZone) {
  EXPECT_EQ(refusal_of(cron("0 0 2 * * ?", "")),
            "cron '0 0 2 * * ?' has no time zone, set tz to one, like UTC");
  EXPECT_THAT(refusal_of(cron("0 0 2 * * ?", "Mars/Olympus")),
              ::testing::HasSubstr("time zone 'Mars/Olympus'"));
}

TEST(CompiledSchedule, IntervalFiresAtOnceAndThenOnItsGrid) {
  CompiledSchedule schedule = compiled(every(seconds{10}));
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(kSubmitted));
  EXPECT_THAT(schedule.next_fire(kSubmitted), Optional(kSubmitted + seconds{10}));
  EXPECT_THAT(schedule.next_fire(kSubmitted + microseconds{9'999'999}),
              Optional(kSubmitted + seconds{10}));
  EXPECT_THAT(schedule.next_after_end(kSubmitted + seconds{25}),
              Optional(kSubmitted + seconds{30}));
}

TEST(CompiledSchedule, IntervalStartsAtItsFirstTime) {
  Schedule later = every(minutes{1});
  later.first = kSubmitted + hours{1};
  CompiledSchedule schedule = compiled(later);
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(kSubmitted + hours{1}));
  EXPECT_THAT(schedule.next_fire(kSubmitted + hours{1}),
              Optional(kSubmitted + hours{1} + minutes{1}));
}

TEST(CompiledSchedule, IntervalKeepsTheGridOfAPastFirstTime) {
  Schedule earlier = every(minutes{10});
  earlier.first = time_of("2024-05-01T00:05:00Z");
  CompiledSchedule schedule = compiled(earlier);
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(time_of("2024-05-01T12:05:00Z")));
}

TEST(CompiledSchedule, IntervalCountsFiresWithoutIterating) {
  CompiledSchedule schedule = compiled(every(milliseconds{1}));
  EXPECT_EQ(schedule.count_fires(kSubmitted, kSubmitted + hours{24 * 365}, 1LL << 60),
            365LL * 24 * 3600 * 1000);
  EXPECT_EQ(schedule.count_fires(kSubmitted, kSubmitted + hours{24 * 365}, 1000), 1000);
  EXPECT_EQ(schedule.count_fires(kSubmitted - hours{1}, kSubmitted, 1000), 1);
  EXPECT_EQ(schedule.count_fires(kSubmitted - hours{2}, kSubmitted - hours{1}, 1000), 0);
  EXPECT_EQ(schedule.count_fires(kSubmitted + hours{1}, kSubmitted, 1000), 0);
}

TEST(CompiledSchedule, IntervalCountMatchesNextFire) {
  CompiledSchedule schedule = compiled(every(milliseconds{333}));
  const WallTime until = kSubmitted + seconds{10};
  std::int64_t fires = 0;
  for (auto fire = schedule.next_fire(kSubmitted); *fire <= until; ++fires) {
    fire = schedule.next_fire(*fire);
  }
  EXPECT_EQ(schedule.count_fires(kSubmitted, until, 1000), fires);
}

TEST(CompiledSchedule, IntervalEndsWithTheYear2199) {
  CompiledSchedule schedule = compiled(every(hours{24 * 366 * 100}));
  EXPECT_THAT(schedule.next_fire(kSubmitted), Optional(kSubmitted + hours{24 * 366 * 100}));
  EXPECT_EQ(schedule.next_fire(time_of("2150-01-01T00:00:00Z")), std::nullopt);
  EXPECT_EQ(schedule.next_fire(WallTime::max()), std::nullopt);
}

TEST(CompiledSchedule, FixedDelayCountsFromTheEndOfTheLastRun) {
  CompiledSchedule schedule = compiled(fixed_delay(seconds{30}));
  EXPECT_THAT(schedule.first_fire(kSubmitted), Optional(kSubmitted));
  EXPECT_EQ(schedule.next_fire(kSubmitted), std::nullopt);
  EXPECT_THAT(schedule.next_after_end(kSubmitted + seconds{7}), Optional(kSubmitted + seconds{37}));
  EXPECT_EQ(schedule.next_after_end(WallTime::max()), std::nullopt);
}

TEST(CompiledSchedule, FixedDelayWaitsForItsFirstTimeDespiteEarlierRuns) {
  Schedule later = fixed_delay(seconds{30});
  later.first = kSubmitted + hours{1};
  CompiledSchedule schedule = compiled(later);
  EXPECT_THAT(schedule.next_after_end(kSubmitted + minutes{1}), Optional(kSubmitted + hours{1}));
}

TEST(CompiledSchedule, RefusesIntervalsThatAreTooShortOrTooLong) {
  EXPECT_EQ(refusal_of(every(Duration{0})), "every is 0 us, must be between 1 ms and 100 years");
  EXPECT_EQ(refusal_of(every(microseconds{-5})),
            "every is -5 us, must be between 1 ms and 100 years");
  EXPECT_EQ(refusal_of(fixed_delay(microseconds{999})),
            "fixed_delay is 999 us, must be between 1 ms and 100 years");
  EXPECT_EQ(refusal_of(every(Duration::max())),
            "every is 9223372036854775807 us, must be between 1 ms and 100 years");
  EXPECT_EQ(refusal_of(every(milliseconds{1})), "accepted");
}

TEST(CompiledSchedule, RefusesTimesOutside1970To2199) {
  EXPECT_EQ(refusal_of({.kind = ScheduleKind::kAt, .at = time_of("2200-01-01T00:00:00Z")}),
            "at is outside the years 1970-2199");
  Schedule schedule = every(seconds{1});
  schedule.first = time_of("1969-12-31T23:59:59Z");
  EXPECT_EQ(refusal_of(schedule), "first is outside the years 1970-2199");
}

TEST(CompiledSchedule, RefusesAnUnknownScheduleKind) {
  EXPECT_EQ(refusal_of({.kind = static_cast<ScheduleKind>(99)}),
            "schedule kind 99 is unknown to this version");
}

TEST(CompiledSchedule, FitsIn240Bytes) { EXPECT_LE(sizeof(CompiledSchedule), 240U); }

}  // namespace
}  // namespace carillon
