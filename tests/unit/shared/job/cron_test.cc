#include "shared/job/cron.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/time_text.h"
#include "shared/job/cron_note.h"
#include "tests/unit/shared/job/parsed.h"

namespace carillon {
namespace {

using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

Cron cron_of(const std::string& expression) { return Cron::parse(expression).value(); }

LocalTime local_of(int y, unsigned m, unsigned d, int second_of_day) {
  return std::chrono::local_days{year{y} / static_cast<int>(m) / static_cast<int>(d)} +
         seconds{second_of_day};
}

std::string why_it_never_fires(const std::string& expression, const std::string& after,
                               const std::string& zone, DstRule rule) {
  const Status status = cron_of(expression).check_will_fire(time_of(after), zone_of(zone), rule);
  return status.ok() ? "it fires" : status.error().message;
}

// The note of the first fire after a time, with the rule `auto`.
std::string note_after(const std::string& expression, const std::string& zone,
                       const std::string& after, DstRule rule = DstRule::kAuto) {
  const Cron cron = cron_of(expression);
  const auto fire = cron.next(time_of(after), zone_of(zone), rule);
  return dst_note(fire.value(), zone_of(zone), cron);
}

TEST(Cron, NextFireIsStrictlyAfterTheGivenTime) {
  const Cron cron = cron_of("* * * * * ?");
  const WallTime whole = time_of("2024-01-01T00:00:00Z");
  EXPECT_EQ(cron.next(whole, Zone::utc(), DstRule::kAuto), whole + seconds{1});
  EXPECT_EQ(cron.next(whole - Duration{1}, Zone::utc(), DstRule::kAuto), whole);
  EXPECT_EQ(cron.next(whole + Duration{1}, Zone::utc(), DstRule::kAuto), whole + seconds{1});
}

TEST(Cron, FiresFrom1970Through2199) {
  const Cron cron = cron_of("* * * * * ?");
  const WallTime first = sys_days{year{1970} / 1 / 1};
  const WallTime end = sys_days{year{2200} / 1 / 1};
  EXPECT_EQ(cron.next(WallTime::min(), Zone::utc(), DstRule::kAuto), first);
  EXPECT_EQ(cron.next(end - seconds{2}, Zone::utc(), DstRule::kAuto), end - seconds{1});
  EXPECT_EQ(cron.next(end - seconds{1}, Zone::utc(), DstRule::kAuto), std::nullopt);
  EXPECT_EQ(cron.next(WallTime::max(), Zone::utc(), DstRule::kAuto), std::nullopt);
}

TEST(Cron, FiresTwiceInARepeatedHourOfItsLastDay) {
  const Cron cron = cron_of("0 30 2 27 10 ? 2024");
  const WallTime first = time_of("2024-10-27T00:30:00Z");
  const Zone berlin = zone_of("Europe/Berlin");
  EXPECT_EQ(cron.next(first, berlin, DstRule::kTwice), time_of("2024-10-27T01:30:00Z"));
  EXPECT_EQ(cron.next(first, berlin, DstRule::kOnce), std::nullopt);
  EXPECT_EQ(cron.next(first + std::chrono::hours{1}, berlin, DstRule::kTwice), std::nullopt);
}

TEST(Cron, FindsAFireAfterManyDstChanges) {
  const Cron cron = cron_of("0 30 2 29 2 ? 2196");
  EXPECT_EQ(cron.next(time_of("1970-01-01T00:00:00Z"), zone_of("America/New_York"), DstRule::kAuto),
            time_of("2196-02-29T07:30:00Z"));
}

TEST(Cron, FiresAtTheEndOfADstGap) {
  const Cron cron = cron_of("0 30 2 * * ?");
  const WallTime end_of_gap = time_of("2024-03-31T01:00:00Z");
  const Zone berlin = zone_of("Europe/Berlin");
  EXPECT_EQ(cron.next(end_of_gap - Duration{1}, berlin, DstRule::kOnce), end_of_gap);
  EXPECT_EQ(cron.next(end_of_gap - seconds{1}, berlin, DstRule::kOnce), end_of_gap);
  EXPECT_EQ(cron.next(end_of_gap, berlin, DstRule::kOnce), time_of("2024-04-01T00:30:00Z"));
}

TEST(Cron, ResolvesDstRuleAutoByTheHourField) {
  const auto stands_for = [](const std::string& field) {
    return cron_of("0 0 " + field + " * * ?").resolve(DstRule::kAuto);
  };
  EXPECT_EQ(stands_for("*"), DstRule::kTwice);
  EXPECT_EQ(stands_for("*/3"), DstRule::kTwice);
  EXPECT_EQ(stands_for("0/3"), DstRule::kTwice);
  EXPECT_EQ(stands_for("/3"), DstRule::kTwice);
  EXPECT_EQ(stands_for("1/3"), DstRule::kOnce);
  EXPECT_EQ(stands_for("2"), DstRule::kOnce);
  EXPECT_EQ(stands_for("0-23"), DstRule::kOnce);
  EXPECT_EQ(stands_for("*/3,2"), DstRule::kOnce);
  EXPECT_EQ(cron_of("*/5 * * * *").resolve(DstRule::kAuto), DstRule::kTwice);
  EXPECT_EQ(cron_of("*/5 2 * * *").resolve(DstRule::kAuto), DstRule::kOnce);
  EXPECT_EQ(cron_of("*/5 2 * * *").resolve(DstRule::kSkip), DstRule::kSkip);
}

TEST(Cron, MatchesOnlyTheTimesItNames) {
  const Cron cron = cron_of("0 30 9 ? * MON-FRI");
  EXPECT_TRUE(cron.matches(local_of(2024, 1, 1, 34200)));
  EXPECT_FALSE(cron.matches(local_of(2024, 1, 1, 34201)));
  EXPECT_FALSE(cron.matches(local_of(2024, 1, 6, 34200)));
  EXPECT_FALSE(cron.matches(local_of(2200, 1, 1, 34200)));
}

TEST(Cron, ReportsThatItsLastYearHasPassed) {
  EXPECT_EQ(
      why_it_never_fires("0 0 0 1 1 ? 2018,2020", "2024-01-01T00:00:00Z", "UTC", DstRule::kAuto),
      "has no future fire: its last year, 2020, has passed");
  EXPECT_EQ(why_it_never_fires("0 0 0 1 1 ? 2025", "2024-01-01T00:00:00Z", "UTC", DstRule::kAuto),
            "it fires");
}

TEST(Cron, ReportsThatItsLastTimeIsSkippedByDst) {
  EXPECT_EQ(why_it_never_fires("0 30 2 31 3 ? 2024", "2024-01-01T00:00:00Z", "Europe/Berlin",
                               DstRule::kSkip),
            "has no future fire: none of its dates and times is left in Europe/Berlin");
  EXPECT_EQ(why_it_never_fires("0 30 2 31 3 ? 2024", "2024-01-01T00:00:00Z", "Europe/Berlin",
                               DstRule::kAuto),
            "it fires");
}

TEST(DstNote, IsEmptyOnOrdinaryDays) {
  EXPECT_EQ(note_after("0 30 2 * * ?", "Europe/Berlin", "2024-06-01T00:00:00Z"), "");
  EXPECT_EQ(note_after("0 30 2 * * ?", "Europe/Berlin", "2024-03-29T12:00:00Z"), "");
  EXPECT_EQ(note_after("0 30 2 * * ?", "Europe/Berlin", "2024-03-31T12:00:00Z"), "");
  EXPECT_EQ(note_after("0 30 2 * * ?", "UTC", "2024-03-30T12:00:00Z"), "");
}

TEST(DstNote, ExplainsAFireAtTheEndOfAGap) {
  EXPECT_EQ(note_after("0 30 2 * * ?", "Europe/Berlin", "2024-03-30T12:00:00Z"),
            "replaces a time skipped from 02:00 to 03:00");
  EXPECT_EQ(note_after("0 12 * * *", "Pacific/Apia", "2011-12-30T00:00:00Z"),
            "replaces a time skipped from 00:00 on 12-30 to 00:00");
}

TEST(DstNote, MarksOtherFiresOnTheDayOfADstChange) {
  EXPECT_EQ(note_after("0 0 1 * * ?", "Europe/Berlin", "2024-03-30T12:00:00Z"),
            "clocks go forward 1 h at 02:00");
  EXPECT_EQ(note_after("0 0 3 * * ?", "Europe/Berlin", "2024-03-30T12:00:00Z"),
            "clocks go forward 1 h at 02:00");
  EXPECT_EQ(note_after("0 0 9 * * ?", "Australia/Lord_Howe", "2024-10-05T12:00:00Z"),
            "clocks go forward 30 min at 02:00");
  EXPECT_EQ(note_after("0 0 9 * * ?", "Europe/Berlin", "2024-10-26T12:00:00Z"),
            "clocks go back 1 h at 03:00");
}

TEST(DstNote, NumbersTheTwoFiresOfARepeatedHour) {
  EXPECT_EQ(note_after("0 30 2 * * ?", "Europe/Berlin", "2024-10-26T12:00:00Z", DstRule::kTwice),
            "first 02:30 of two, clocks go back 1 h at 03:00");
  EXPECT_EQ(note_after("0 30 2 * * ?", "Europe/Berlin", "2024-10-27T00:30:00Z", DstRule::kTwice),
            "second 02:30 of two, clocks go back 1 h at 03:00");
}

TEST(DstNote, NamesTheDateOfADstChangeAtMidnight) {
  EXPECT_EQ(note_after("30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00Z"),
            "first 23:30 of two, clocks go back 1 h at 00:00 on 02-18");
}

}  // namespace
}  // namespace carillon
