#include "jobtracker/push/rhythm.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Those of the registrations, each in seconds after the first one, that break the rhythm.
std::vector<int> broken_by(const std::vector<int>& registrations) {
  Rhythm rhythm;
  const WallTime first{std::chrono::hours{400'000}};
  EXPECT_FALSE(rhythm.is_broken_by(first));
  std::vector<int> found;
  for (const int after : registrations) {
    if (rhythm.is_broken_by(first + seconds{after})) found.push_back(after);
  }
  return found;
}

TEST(Rhythm, IsBrokenOnceByAnEarlyRegistration) {
  EXPECT_THAT(broken_by({30, 60, 90, 102, 132, 162, 192}), ElementsAre(102));
  EXPECT_THAT(broken_by({30, 60, 61, 91, 121}), ElementsAre(61));
  EXPECT_THAT(broken_by({5, 35, 65}), ElementsAre(5)) << "as long as no period is known";
}

TEST(Rhythm, IsNotBrokenByMissedRegistrations) {
  EXPECT_THAT(broken_by({30, 90, 120, 150, 180}), IsEmpty());
  EXPECT_THAT(broken_by({30, 60, 120, 150, 240, 270, 330, 390, 420}), IsEmpty());
  EXPECT_THAT(broken_by({60, 90, 120}), IsEmpty()) << "the first";
  EXPECT_THAT(broken_by({10, 20, 40, 50, 60, 70}), IsEmpty());
}

TEST(Rhythm, DetectsARestartAfterMissedRegistrations) {
  EXPECT_THAT(broken_by({30, 60, 120, 180, 203}), ElementsAre(203));
}

TEST(Rhythm, IsBrokenOnceAfterOverestimatingThePeriod) {
  EXPECT_THAT(broken_by({60, 120, 150, 180, 240, 270, 300}), ElementsAre(150));
  EXPECT_THAT(broken_by({60, 120, 150, 210, 240, 300, 330, 360}), ElementsAre(150));
}

TEST(Rhythm, LearnsThePeriodOfAReplacementProcess) {
  EXPECT_THAT(broken_by({30, 60, 70, 80, 90, 100}), ElementsAre(70)) << "a faster one";
  EXPECT_THAT(broken_by({10, 20, 25, 55, 85, 97}), ElementsAre(25, 97)) << "a slower one";
  EXPECT_THAT(broken_by({5, 10, 15, 20, 23}), ElementsAre(5, 23)) << "of a very fast one";
}

TEST(Rhythm, AcceptsAnOnTimeRegistrationAfterALateOne) {
  EXPECT_THAT(broken_by({10, 20, 33, 40, 50}), IsEmpty());
  EXPECT_THAT(broken_by({30, 60, 102, 120, 150}), IsEmpty());
  EXPECT_THAT(broken_by({30, 60, 102, 114}), ElementsAre(114)) << "it is not";
}

TEST(Rhythm, IgnoresRegistrationsAlreadySeen) {
  EXPECT_THAT(broken_by({30, 60, 60, 30, 90, 120}), IsEmpty());
}

TEST(Rhythm, LearnsNoPeriodLongerThanAnyExecutorUses) {
  EXPECT_THAT(broken_by({80, 160, 190, 220}), IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
