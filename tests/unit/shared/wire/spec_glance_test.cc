#include "shared/wire/spec_glance.h"

#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/unit/shared/wire/random_message.h"

namespace carillon::wire {
namespace {

TEST(SpecGlance, MatchesTheDecodedSpec) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomFill random(seed);
    JobSpec spec;
    random.fill(spec);
    const std::string bytes = encode_spec(spec);
    const JobSpec decoded = decode_spec(bytes).value();
    EXPECT_EQ(glance_at_spec(bytes), glance_of(decoded));
  }
}

TEST(SpecGlance, ShowsDefaultsForAnEmptySpec) {
  EXPECT_EQ(glance_at_spec(encode_spec(JobSpec{})), SpecGlance{});
}

TEST(SpecGlance, ShowsDefaultsForInvalidBytes) {
  EXPECT_EQ(glance_at_spec(""), SpecGlance{});
  EXPECT_EQ(glance_at_spec("\xC1 no map"), SpecGlance{});
  const std::string bytes =
      encode_spec({.run = {.kind = RunKind::kShell}, .start_deadline = std::chrono::hours{1}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    glance_at_spec(bytes.substr(0, size));
  }
}

}  // namespace
}  // namespace carillon::wire
