#include "tests/support/simulation.h"

#include <gtest/gtest.h>

namespace carillon::testing {
namespace {

// A failure is repeated with the seed that it names.
class Simulated : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Simulated, EveryPromiseIsKeptWhateverDies) {
  const std::uint64_t seed = GetParam();
  Simulation simulation(seed, std::chrono::minutes{15});
  for (const std::string& what : simulation.run()) ADD_FAILURE() << "seed " << seed << ": " << what;
  EXPECT_GT(simulation.bundle().runs().size(), 100U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Simulated, ::testing::Range<std::uint64_t>(1, 51));

}  // namespace
}  // namespace carillon::testing
