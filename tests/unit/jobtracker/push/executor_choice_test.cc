#include "jobtracker/push/executor_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;

struct Choice {
  Catalog catalog;
  Executors executors;
  SeededRandom random{7};
  ExecutorHealth health{executors};
  ExecutorChoice choice{catalog, executors, health, random};

  std::vector<std::string> order() {
    std::vector<std::string> addresses{"one", "two"};
    choice.prefer_another(JobId{1}, addresses);
    return addresses;
  }
};

TEST(ExecutorChoice, TriesTheFailedExecutorLastForTheNextAttemptOnly) {
  Choice test;
  test.choice.failed_at(JobId{1}, "one", SteadyTime{hours{2}});
  test.choice.tidy(SteadyTime{hours{2}});
  EXPECT_THAT(test.order(), ElementsAre("two", "one"));
  EXPECT_THAT(test.order(), ElementsAre("one", "two"));
}

TEST(ExecutorChoice, ForgetsAFailureThatIsNotRetried) {
  Choice test;
  test.choice.failed_at(JobId{1}, "one", SteadyTime{hours{2}});
  test.choice.tidy(SteadyTime{hours{2} + minutes{2}});
  EXPECT_THAT(test.order(), ElementsAre("one", "two"));
}

}  // namespace
}  // namespace carillon::jobtracker
