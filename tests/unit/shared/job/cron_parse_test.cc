#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/job/cron.h"

namespace carillon {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const std::string& expression) {
  const auto cron = Cron::parse(expression);
  return cron.ok() ? "accepted" : cron.error().message;
}

bool mean_the_same(const std::string& one, const std::string& other) {
  return Cron::parse(one).value() == Cron::parse(other).value();
}

struct Refusal {
  const char* name;
  const char* expression;
  const char* reason;
};

class CronRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(CronRefuses, InvalidExpressionsWithFieldAndReason) {
  const Refusal& refusal = GetParam();
  EXPECT_EQ(refusal_of(refusal.expression),
            std::string{"cron '"} + refusal.expression + "': " + refusal.reason);
}

constexpr const char* kFields =
    ", needs 5 (unix: minute hour day month weekday) or 6 to 7 "
    "(quartz: second minute hour day month weekday [year])";
constexpr const char* kQuestionMark =
    " contains a '?', which is allowed only alone in a day field of a quartz expression";

INSTANTIATE_TEST_SUITE_P(
    Expressions, CronRefuses,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"HourTooHigh", "0 0 24 * * ?", "hour 24 is out of range 0-23"},
        {"SecondTooHigh", "60 0 0 * * ?", "second 60 is out of range 0-59"},
        {"MinuteTooHigh", "0 60 0 * * ?", "minute 60 is out of range 0-59"},
        {"DayZero", "0 0 0 0 * ?", "day-of-month 0 is out of range 1-31"},
        {"MonthZero", "0 0 0 1 0 ?", "month 0 is out of range 1-12"},
        {"MonthTooHigh", "0 0 0 1 13 ?", "month 13 is out of range 1-12"},
        {"YearTooLow", "0 0 0 1 1 ? 1969", "year 1969 is out of range 1970-2199"},
        {"YearTooHigh", "0 0 0 1 1 ? 2200", "year 2200 is out of range 1970-2199"},
        {"HugeNumber", "0 0 99999999999999999999999 * * ?",
         "hour 99999999999999999999 is out of range 0-23"},
        {"EndOfRange", "0 0 20-24 * * ?", "hour 24 is out of range 0-23"},
        {"WeekdayZeroInQuartz", "0 0 0 ? * 0", "day-of-week 0 is out of range 1-7"},
        {"WeekdayEightInUnix", "0 0 * * 8", "day-of-week 8 is out of range 0-7"},
        {"StepZero", "0 */0 * * * ?", "minute step 0 is out of range 1-59"},
        {"StepZeroInUnix", "*/0 * * * *", "minute step 0 is out of range 1-59"},
        {"StepTooHigh", "0 0 0/24 * * ?", "hour step 24 is out of range 1-23"},
        {"WeekdayStepTooHigh", "0 0 0 ? * */8", "day-of-week step 8 is out of range 1-7"},
        {"NoStep", "0 0/ * * * ?", "minute '0/' has no number after the /"},
        {"TwoSteps", "0 0/5/5 * * * ?", "minute '0/5/5' has no number after the /"},
        {"NamedStep", "0 0 0 ? * MON/TUE", "day-of-week 'MON/TUE' has no number after the /"},
        {"TrailingComma", "0 0 0 1, * ?", "day-of-month '1,' has an empty list item"},
        {"LeadingComma", ",1 0 0 * * ?", "second ',1' has an empty list item"},
        {"DoubleComma", "0 1,,2 * * * ?", "minute '1,,2' has an empty list item"},
        {"Letter", "0 0 x * * ?", "hour 'x' is not a number"},
        {"TrailingLetter", "0 1x * * * ?", "minute '1x' is not a number"},
        {"Sign", "0 +1 * * * ?", "minute '+1' is not a number"},
        {"UnknownMonth", "0 0 0 1 FOO ?", "month 'FOO' is neither a number nor a name JAN-DEC"},
        {"LongMonth", "0 0 0 1 MARCH ?", "month 'MARCH' is neither a number nor a name JAN-DEC"},
        {"UnknownWeekday", "0 0 0 ? * MONDAY",
         "day-of-week 'MONDAY' is neither a number nor a name SUN-SAT"},
        {"MonthNameAsWeekday", "0 0 0 ? * JAN",
         "day-of-week 'JAN' is neither a number nor a name SUN-SAT"},
        {"WeekdayNameAsDay", "0 0 0 MON * ?", "day-of-month 'MON' is not a number"},
        {"OpenRange", "0 0 1- * * ?", "hour '' is not a number"},
        {"RangeFromStar", "0 0 *-5 * * ?", "hour '*' is not a number"},
        {"TwoRanges", "0 0 1-2-3 * * ?", "hour '2-3' is not a number"},
        {"BothQuestionMarks", "0 0 0 ? * ?",
         "day-of-month and day-of-week are both '?' (put a value or * into one of them)"},
        {"NoQuestionMark", "0 0 0 * * *",
         "neither day-of-month nor day-of-week is '?', write '0 0 0 * * ?'"},
        {"QuestionMarkInHour", "0 0 ? * * ?",
         "hour '?' contains a '?', which is allowed only alone in a day field of a quartz "
         "expression"},
        {"QuestionMarkInUnix", "0 0 ? * 1",
         "day-of-month '?' contains a '?', which is allowed only alone in a day field of a quartz "
         "expression"},
        {"QuestionMarkInList", "0 0 0 ?,1 * MON",
         "day-of-month '?,1' contains a '?', which is allowed only alone in a day field of a "
         "quartz expression"},
        {"LastInHour", "0 0 L * * ?", "hour 'L' is not a number"},
        {"LastInMonth", "0 0 0 1 L ?", "month 'L' is neither a number nor a name JAN-DEC"},
        {"LastInUnixDay", "0 0 L * *", "day-of-month 'L' is not a number"},
        {"LastInUnixWeekday", "0 0 * * 5L",
         "day-of-week '5L' is neither a number nor a name SUN-SAT"},
        {"NearestInUnix", "0 0 15W * *", "day-of-month '15W' is not a number"},
        {"NthInUnix", "0 0 * * 5#2", "day-of-week '5#2' is neither a number nor a name SUN-SAT"},
        {"NthInDay", "0 0 0 5#2 * ?", "day-of-month '5#2' is not a number"},
        {"LastOfDay", "0 0 0 5L * ?", "day-of-month '5L' is not a number"},
        {"NearestInWeekday", "0 0 0 ? * 5W",
         "day-of-week '5W' is neither a number nor a name SUN-SAT"},
        {"NearestAlone", "0 0 0 W * ?",
         "day-of-month 'W' needs one day before the W, as in 15W or LW"},
        {"NearestOfRange", "0 0 0 1-5W * ?",
         "day-of-month '1-5W' needs one day before the W, as in 15W or LW"},
        {"NearestTooHigh", "0 0 0 32W * ?", "day-of-month 32 is out of range 1-31"},
        {"OffsetTooHigh", "0 0 0 L-31 * ?", "day-of-month L-n offset 31 is out of range 0-30"},
        {"LastWithoutMinus", "0 0 0 L3 * ?", "day-of-month 'L3' is not one of L, L-n, LW, L-nW"},
        {"LastWithStep", "0 0 0 L/2 * ?", "day-of-month 'L/2' is not one of L, L-n, LW, L-nW"},
        {"NthZero", "0 0 0 ? * 5#0", "day-of-week #n occurrence 0 is out of range 1-5"},
        {"NthSix", "0 0 0 ? * 5#6", "day-of-week #n occurrence 6 is out of range 1-5"},
        {"NthNothing", "0 0 0 ? * 5#", "day-of-week '5#' has no number after the #"},
        {"NthOfEight", "0 0 0 ? * 8#1", "day-of-week 8 is out of range 1-7"},
        {"LastOfEight", "0 0 0 ? * 8L", "day-of-week 8 is out of range 1-7"},
        {"YearsBackwards", "0 0 0 1 1 ? 2026-2024",
         "year range '2026-2024' runs backwards; years do not wrap"},
        {"HoursBackwardsInUnix", "0 22-4 * * *",
         "hour range '22-4' runs backwards; unix ranges do not wrap"},
        {"WeekdaysBackwardsInUnix", "0 0 * * FRI-SUN",
         "day-of-week range 'FRI-SUN' runs backwards; unix ranges do not wrap"},
        {"BareStepInUnix", "/5 * * * *", "minute '/5' has nothing before the / (write */5)"},
        {"FebruaryThirtieth", "0 0 0 30 2 ?",
         "never fires: 1970-2199 has no date with day-of-month 30, month 2, day-of-week ?"},
        {"FebruaryThirtiethInUnix", "0 0 30 2 *",
         "never fires: 1970-2199 has no date with day-of-month 30, month 2, day-of-week *"},
        {"NearestToNoDay", "0 0 0 31W 2,4 ?",
         "never fires: 1970-2199 has no date with day-of-month 31W, month 2,4, day-of-week ?"},
        {"LeapDayInOtherYear", "0 0 0 29 2 ? 2023",
         "never fires: 1970-2199 has no date with day-of-month 29, month 2, day-of-week ?, year "
         "2023"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(CronParse, RefusesAWrongNumberOfFields) {
  EXPECT_EQ(refusal_of(""), std::string{"cron '': empty"} + kFields);
  EXPECT_EQ(refusal_of("   "), std::string{"cron '   ': empty"} + kFields);
  EXPECT_EQ(refusal_of("daily"), std::string{"cron 'daily': only 1 field"} + kFields);
  EXPECT_EQ(refusal_of("0 0 0 *"), std::string{"cron '0 0 0 *': only 4 fields"} + kFields);
  EXPECT_EQ(refusal_of("0 0 0 * * ? * *"),
            std::string{"cron '0 0 0 * * ? * *': more than 7 fields"} + kFields);
}

TEST(CronParse, RefusesAMisplacedQuestionMark) {
  EXPECT_THAT(refusal_of("0 0 0 * * ?L"),
              HasSubstr(std::string{"day-of-week '?L'"} + kQuestionMark));
  EXPECT_THAT(refusal_of("0 0 0 * * ?/2"), HasSubstr(kQuestionMark));
  EXPECT_THAT(refusal_of("? 0 0 * * ?"), HasSubstr(kQuestionMark));
  EXPECT_THAT(refusal_of("0 0 0 1 ? ?"), HasSubstr(kQuestionMark));
  EXPECT_THAT(refusal_of("0 0 0 1 1 ? ?"), HasSubstr(kQuestionMark));
}

TEST(CronParse, RefusesUnknownMacrosAndReboot) {
  EXPECT_EQ(refusal_of("@fortnightly"),
            "cron '@fortnightly': no such macro (use one of @hourly @daily @midnight @weekly "
            "@monthly @yearly @annually)");
  EXPECT_EQ(refusal_of("@reboot"),
            "cron '@reboot': @reboot is not supported: the start of a machine does not fire jobs");
}

TEST(CronParse, TruncatesLongExpressionsInErrors) {
  const std::string message = refusal_of(std::string(5000, '*'));
  EXPECT_THAT(message, HasSubstr("longer than 4096 bytes"));
  EXPECT_LT(message.size(), 200U);
}

TEST(CronParse, AcceptsAnyWhitespaceBetweenFields) {
  EXPECT_TRUE(mean_the_same(" 0\t0  0 * * ?\n", "0 0 0 * * ?"));
}

TEST(CronParse, AcceptsNamesInAnyCase) {
  EXPECT_TRUE(mean_the_same("0 0 0 ? jan-MAR,Dec mon-Fri", "0 0 0 ? 1-3,12 2-6"));
  EXPECT_TRUE(mean_the_same("0 0 0 ? * fril", "0 0 0 ? * 6L"));
  EXPECT_TRUE(mean_the_same("0 0 0 l-2w * ?", "0 0 0 L-2W * ?"));
}

TEST(CronParse, CountsWeekdaysFrom1InQuartzAnd0InUnix) {
  EXPECT_TRUE(mean_the_same("0 0 0 ? * 1", "0 0 0 ? * SUN"));
  EXPECT_TRUE(mean_the_same("0 0 * * 0", "0 0 * * SUN"));
  EXPECT_TRUE(mean_the_same("0 0 * * 7", "0 0 * * SUN"));
}

TEST(CronParse, ReadsEveryFormOfAStep) {
  EXPECT_TRUE(mean_the_same("/15 * * * * ?", "*/15 * * * * ?"));
  EXPECT_TRUE(mean_the_same("0/15 * * * * ?", "*/15 * * * * ?"));
  EXPECT_TRUE(mean_the_same("0-59/15 * * * * ?", "0,15,30,45 * * * * ?"));
  EXPECT_TRUE(mean_the_same("0 0 0 ? * /3", "0 0 0 ? * 1,4,7"));
  EXPECT_TRUE(mean_the_same("0 0 0 1 * ? /100", "0 0 0 1 * ? 1970,2070,2170"));
  EXPECT_TRUE(mean_the_same("0 0 0 1 5/4 ?", "0 0 0 1 5,9 ?"));
}

TEST(CronParse, WrapsRangesOfEveryQuartzFieldButTheYear) {
  EXPECT_TRUE(mean_the_same("58-1 * * * * ?", "58,59,0,1 * * * * ?"));
  EXPECT_TRUE(mean_the_same("0 58-1 * * * ?", "0 58,59,0,1 * * * ?"));
  EXPECT_TRUE(mean_the_same("0 0 22-4/2 * * ?", "0 0 22,0,2,4 * * ?"));
  EXPECT_TRUE(mean_the_same("0 0 0 30-2 * ?", "0 0 0 30,31,1,2 * ?"));
  EXPECT_TRUE(mean_the_same("0 0 0 1 NOV-FEB ?", "0 0 0 1 11,12,1,2 ?"));
  EXPECT_TRUE(mean_the_same("0 0 0 ? * FRI-MON", "0 0 0 ? * 6,7,1,2"));
}

TEST(CronParse, ReadsAMissingYearAsEveryYear) {
  EXPECT_TRUE(mean_the_same("0 0 0 * * ?", "0 0 0 * * ? *"));
}

TEST(CronParse, ReadsMacrosAsTheirUnixExpressions) {
  EXPECT_TRUE(mean_the_same("@hourly", "0 * * * *"));
  EXPECT_TRUE(mean_the_same("@daily", "0 0 * * *"));
  EXPECT_TRUE(mean_the_same("@midnight", "0 0 * * *"));
  EXPECT_TRUE(mean_the_same("@weekly", "0 0 * * 0"));
  EXPECT_TRUE(mean_the_same("@monthly", "0 0 1 * *"));
  EXPECT_TRUE(mean_the_same("@yearly", "0 0 1 1 *"));
  EXPECT_TRUE(mean_the_same("@annually", "0 0 1 1 *"));
}

TEST(CronParse, ParsedCronFitsIn128Bytes) { EXPECT_LE(sizeof(Cron), 128U); }

}  // namespace
}  // namespace carillon
