#include "shared/base/time_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

WallTime at(int year, unsigned month, unsigned day, Duration of_day) {
  return WallTime{std::chrono::sys_days{std::chrono::year{year} / static_cast<int>(month) /
                                        static_cast<int>(day)} +
                  of_day};
}

TEST(DurationText, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("250us").value(), Duration{250});
  EXPECT_EQ(parse_duration("500ms").value(), milliseconds{500});
  EXPECT_EQ(parse_duration("3s").value(), seconds{3});
  EXPECT_EQ(parse_duration("5m").value(), minutes{5});
  EXPECT_EQ(parse_duration("36h").value(), hours{36});
  EXPECT_EQ(parse_duration("2d").value(), hours{48});
}

TEST(DurationText, SumsUnitsInDescendingOrder) {
  EXPECT_EQ(parse_duration("1h30m").value(), minutes{90});
  EXPECT_EQ(parse_duration("1d2h3m4s5ms6us").value(),
            hours{26} + minutes{3} + seconds{4} + milliseconds{5} + Duration{6});
  EXPECT_FALSE(parse_duration("30m1h").ok());
  EXPECT_FALSE(parse_duration("1m1m").ok());
}

TEST(DurationText, ReportsAMissingUnit) {
  EXPECT_EQ(parse_duration("5").error().message,
            "'5' is a number without a unit (write 5s for seconds, or one of ms, s, m, h, d)");
  EXPECT_THAT(parse_duration("1h30").error().message, HasSubstr("without a unit"));
}

TEST(DurationText, RefusesZeroAndNegativeDurations) {
  EXPECT_THAT(parse_duration("0").error().message, HasSubstr("zero, a duration must be longer"));
  EXPECT_THAT(parse_duration("0s").error().message, HasSubstr("zero, a duration must be longer"));
  EXPECT_THAT(parse_duration("0h0m").error().message, HasSubstr("zero, a duration must be longer"));
  EXPECT_THAT(parse_duration("-5s").error().message, HasSubstr("negative"));
}

TEST(DurationText, RefusesAndQuotesInvalidText) {
  for (const char* text : {"", "s", "3 apples", "3 s", "1.5s", "3S", "five minutes", "3sx", "+3s",
                           "\xff", "3\xc2\xb5s"}) {
    SCOPED_TRACE(text);
    const auto refused = parse_duration(text);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message,
              "'" + std::string{text} + "' is not a duration (write 500ms, 3s, 5m or 1h30m)");
  }
}

TEST(DurationText, RefusesDurationsThatOverflow) {
  EXPECT_EQ(parse_duration("106751991d").value(), hours{24} * std::int64_t{106751991});
  EXPECT_THAT(parse_duration("106751992d").error().message, HasSubstr("too long"));
  EXPECT_THAT(parse_duration("106751991d24h").error().message, HasSubstr("too long"));
  EXPECT_FALSE(parse_duration("99999999999999999999s").ok());
}

TEST(DurationText, WritesTheShortestTextThatReadsBack) {
  EXPECT_EQ(format_duration(Duration{}), "0s");
  EXPECT_EQ(format_duration(minutes{90}), "1h30m");
  EXPECT_EQ(format_duration(milliseconds{1500}), "1s500ms");
  EXPECT_EQ(format_duration(hours{48}), "2d");
  EXPECT_EQ(format_duration(-seconds{5}), "-5s");
  for (const std::int64_t micros : {1LL, 999LL, 1'000LL, 60'000'000LL, 86'399'999'999LL,
                                    86'400'000'001LL, 9'223'372'036'854'775'807LL}) {
    SCOPED_TRACE(micros);
    EXPECT_EQ(parse_duration(format_duration(Duration{micros})).value(), Duration{micros});
  }
}

TEST(DurationText, WritesTheMinimumDuration) {
  EXPECT_EQ(format_duration(Duration::min()), "-106751991d4h54s775ms808us");
}

TEST(TimeText, ReadsUtcAndOffsets) {
  const WallTime time = at(2026, 11, 21, hours{8});
  EXPECT_EQ(parse_time("2026-11-21T08:00:00Z").value(), time);
  EXPECT_EQ(parse_time("2026-11-21t08:00:00z").value(), time);
  EXPECT_EQ(parse_time("2026-11-21 08:00:00Z").value(), time);
  EXPECT_EQ(parse_time("2026-11-21T16:00:00+08:00").value(), time);
  EXPECT_EQ(parse_time("2026-11-20T20:30:00-11:30").value(), time);
  EXPECT_EQ(parse_time("2026-11-21T08:00:00-00:00").value(), time);
}

TEST(TimeText, ReadsFractionsToMicroseconds) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.5Z").value(), WallTime{milliseconds{500}});
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.123456Z").value(), WallTime{Duration{123456}});
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.1234569Z").value(), WallTime{Duration{123456}});
  EXPECT_EQ(parse_time("1969-12-31T23:59:59.999999Z").value(), WallTime{Duration{-1}});
}

TEST(TimeText, ReadsALeapSecondAsTheNextMinute) {
  EXPECT_EQ(parse_time("2016-12-31T23:59:60Z").value(), at(2017, 1, 1, {}));
}

TEST(TimeText, RefusesInvalidTimesWithTheReason) {
  const auto why = [](const char* text) { return parse_time(text).error().message; };
  EXPECT_THAT(why("tomorrow"),
              HasSubstr("'tomorrow' is not a time: it does not start with a date"));
  EXPECT_THAT(why("2026-02-29T00:00:00Z"), HasSubstr("this day does not exist"));
  EXPECT_THAT(why("2026-13-01T00:00:00Z"), HasSubstr("this day does not exist"));
  EXPECT_THAT(why("2026-11-21"), HasSubstr("no time of day"));
  EXPECT_THAT(why("2026-11-21T08:00Z"), HasSubstr("hours, minutes and seconds are needed"));
  EXPECT_THAT(why("2026-11-21T24:00:00Z"), HasSubstr("this time of day does not exist"));
  EXPECT_THAT(why("2026-11-21T08:60:00Z"), HasSubstr("this time of day does not exist"));
  EXPECT_THAT(why("2026-11-21T08:00:00.Z"), HasSubstr("digits must follow the decimal point"));
  EXPECT_THAT(why("2026-11-21T08:00:00"), HasSubstr("must end with Z or an offset"));
  EXPECT_THAT(why("2026-11-21T08:00:00+0800"), HasSubstr("must end with Z or an offset"));
  EXPECT_THAT(why("2026-11-21T08:00:00+24:00"), HasSubstr("must end with Z or an offset"));
  EXPECT_THAT(why("2026-11-21T08:00:00Zoo"), HasSubstr("must end with Z or an offset"));
}

TEST(TimeText, WritesUtcTruncatedToMilliseconds) {
  const WallTime time = at(2026, 11, 21, hours{8} + Duration{123987});
  EXPECT_EQ(format_time(time), "2026-11-21T08:00:00.123Z");
  EXPECT_EQ(format_time(WallTime{Duration{-1}}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(at(999, 1, 2, {})), "0999-01-02T00:00:00.000Z");
}

TEST(TimeText, RoundTripsWrittenTimes) {
  for (const std::int64_t micros :
       {0LL, -1'000LL, 1'795'248'000'123'000LL, 253'402'300'799'999'000LL}) {
    SCOPED_TRACE(micros);
    const WallTime time{Duration{micros}};
    EXPECT_EQ(parse_time(format_time(time)).value(), time);
  }
}

}  // namespace
}  // namespace carillon
