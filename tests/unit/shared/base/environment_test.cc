#include "shared/base/environment.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "shared/base/folders.h"

namespace carillon {
namespace {

TEST(Environment, TreatsAnEmptyVariableAsNotSet) {
  const Environment environment{{{"A", "1"}, {"B", ""}}};
  EXPECT_EQ(environment.get("A"), "1");
  EXPECT_EQ(environment.get("B"), std::nullopt);
  EXPECT_EQ(environment.get("C"), std::nullopt);
}

TEST(Environment, ReadsTheVariablesOfTheProcess) {
  ASSERT_EQ(setenv("CARILLON_ENVIRONMENT_TEST", "a=b", 1), 0);
  EXPECT_EQ(Environment::of_process().get("CARILLON_ENVIRONMENT_TEST"), "a=b");
  ASSERT_EQ(unsetenv("CARILLON_ENVIRONMENT_TEST"), 0);
  EXPECT_EQ(Environment::of_process().get("CARILLON_ENVIRONMENT_TEST"), std::nullopt);
}

TEST(Folders, FollowTheEnvironment) {
  const Environment environment{
      {{"XDG_STATE_HOME", "/state"}, {"XDG_RUNTIME_DIR", "/run/user/1"}, {"HOME", "/home/ann"}}};
  EXPECT_EQ(state_folder(environment, "jobtracker").value(), "/state/carillon/jobtracker");
  EXPECT_EQ(runtime_folder(environment), "/run/user/1/carillon");
}

TEST(Folders, FallBackToHomeAndTmp) {
  const Environment environment{{{"HOME", "/home/ann"}}};
  EXPECT_EQ(state_folder(environment, "jobtracker").value(),
            "/home/ann/.local/state/carillon/jobtracker");
  EXPECT_EQ(runtime_folder(environment).find("/tmp/carillon-"), 0u);
}

}  // namespace
}  // namespace carillon
