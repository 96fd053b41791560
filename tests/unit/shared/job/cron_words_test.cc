#include "shared/job/cron_words.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(CronWords, SaysDailyTimes) {
  EXPECT_EQ(cron_words("0 0 2 * * ?"), "every day at 02:00");
  EXPECT_EQ(cron_words("30 2 * * *"), "every day at 02:30");
  EXPECT_EQ(cron_words("15 0 2 * * ?"), "every day at 02:00:15");
  EXPECT_EQ(cron_words("@daily"), "every day at 00:00");
}

TEST(CronWords, SaysPeriods) {
  EXPECT_EQ(cron_words("* * * * *"), "every minute");
  EXPECT_EQ(cron_words("*/10 * * * *"), "every 10 minutes");
  EXPECT_EQ(cron_words("0 0/15 * * * ?"), "every 15 minutes");
  EXPECT_EQ(cron_words("*/5 * * * * ?"), "every 5 seconds");
  EXPECT_EQ(cron_words("0 * * * *"), "every hour");
  EXPECT_EQ(cron_words("5 */2 * * *"), "every 2 hours at minute 5");
}

TEST(CronWords, SaysDaysOfTheWeekOfBothKinds) {
  EXPECT_EQ(cron_words("30 8 * * MON-FRI"), "Monday to Friday at 08:30");
  EXPECT_EQ(cron_words("0 8 * * 1"), "Monday at 08:00");
  EXPECT_EQ(cron_words("0 0 8 ? * 2"), "Monday at 08:00");
  EXPECT_EQ(cron_words("0 8 * * 1,5"), "Monday and Friday at 08:00");
}

TEST(CronWords, SaysDaysOfMonthsAndYears) {
  EXPECT_EQ(cron_words("0 3 1 * *"), "day 1 of every month at 03:00");
  EXPECT_EQ(cron_words("0 0 3 L * ?"), "the last day of every month at 03:00");
  EXPECT_EQ(cron_words("@yearly"), "day 1 of January at 00:00");
}

TEST(CronWords, SaysNothingOfWhatIsNotSimple) {
  EXPECT_EQ(cron_words("0 9-17 * * *"), "");
  EXPECT_EQ(cron_words("0 0 2 ? * 6#3"), "");
  EXPECT_EQ(cron_words("nonsense"), "");
}

}  // namespace
}  // namespace carillon
