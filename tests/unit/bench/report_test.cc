#include "tests/bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/environment.h"

namespace carillon::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Report two_rounds() {
  return {.workload = "drain",
          .store = "sqlite",
          .durability = "synchronous=FULL",
          .settings = {"jobs=1000"},
          .machine = "2 cores",
          .date = "2026-11-23T07:00:00.000Z",
          .version = "1.2.3",
          .rounds = {{{"drained", "jobs/s", 100}}, {{"drained", "jobs/s", 300}}}};
}

TEST(Report, JsonHasResultsDateVersionAndMachine) {
  const std::string json = to_json(two_rounds());
  EXPECT_THAT(json, HasSubstr(R"("date": "2026-11-23T07:00:00.000Z")"));
  EXPECT_THAT(json, HasSubstr(R"("version": "1.2.3")"));
  EXPECT_THAT(json, HasSubstr(R"("machine": "2 cores")"));
  EXPECT_THAT(json, HasSubstr(R"("jobs": "1000")"));
  EXPECT_THAT(json, HasSubstr(R"("median": 200.0)"));
}

TEST(Report, TextHasTheMedianAndTheExtremes) {
  EXPECT_THAT(to_text(two_rounds()), HasSubstr("200 jobs/s  (100 .. 300)"));
}

TEST(Report, OmitsUnusedSettings) {
  const Verb workload{
      .name = "flow",
      .options = {{.name = "seconds", .kind = OptionKind::kNumber, .fallback = "60"},
                  {.name = "maximum", .kind = OptionKind::kNumber, .fallback = "0"},
                  {.name = "rate", .kind = OptionKind::kNumber, .fallback = "0"},
                  {.name = "at-least", .kind = OptionKind::kNumber, .fallback = "90"}}};
  const Program program{.name = "bench", .verbs = {workload}};
  const auto parsed =
      parse_configuration(program, {"flow", "--rate", "5", "--at-least", "0"}, Environment{});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(settings_of(workload, parsed.value().configuration),
              ElementsAre("seconds=60", "rate=5", "at-least=0"));
}

}  // namespace
}  // namespace carillon::bench
