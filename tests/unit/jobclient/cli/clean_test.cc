#include "jobclient/cli/clean.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobclient/cli/report.h"
#include "shared/base/time_text.h"
#include "tests/unit/jobclient/cli/fake_tracker.h"

// The verbs clean and report.
namespace carillon::cli {
namespace {

using ::testing::HasSubstr;

// Two steps of 5 rows each; a history of 600 rows, the newest with the number 1600.
wire::Message two_steps(const wire::Message& request) {
  if (const auto* act = std::get_if<wire::Act>(&request))
    return wire::Acted{.count = 5, .next = act->after == 0 ? 2000 : 0};
  const auto& query = std::get<wire::Query>(request);
  const std::int64_t first = query.after.empty() ? 1600 : std::stoll(query.after) - 1;
  const std::int64_t rows = std::min<std::int64_t>({query.limit, 400, first - 1000});
  wire::Rows page{.rows = std::vector<Row>(static_cast<std::size_t>(rows))};
  if (rows == std::min<std::int64_t>(query.limit, 400))
    page.next = std::to_string(first - rows + 1);
  return page;
}

TEST(Clean, ContinuesUntilNoRowsAreLeft) {
  Cli cli(two_steps);
  EXPECT_EQ(cli.run({"clean", "--group", "ops", "--task-id", "nightly", "--all"}), kDone);
  EXPECT_EQ(cli.out.str(), "10 rows removed\n");
  const auto asked = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].verb, wire::Verb::kCleanHistory);
  EXPECT_EQ(asked[0].group, "ops");
  EXPECT_EQ(asked[0].task_id, "nightly");
  EXPECT_EQ(asked[0].before, 0);
  EXPECT_EQ(asked[1].after, 2000);
}

TEST(Clean, KeepsTheNewestRows) {
  Cli cli(two_steps);
  EXPECT_EQ(cli.run({"clean", "--keep", "500", "-o", "json"}), kDone);
  EXPECT_EQ(cli.out.str(), "{\"removed\":10}\n");
  EXPECT_EQ(cli.tracker.asked<wire::Act>()[0].before, 1101);
}

TEST(Clean, SendsNothingWhenThereAreFewerRowsThanToKeep) {
  Cli cli(two_steps);
  EXPECT_EQ(cli.run({"clean", "--keep", "1000"}), kDone);
  EXPECT_EQ(cli.out.str(), "0 rows removed\n");
  EXPECT_TRUE(cli.tracker.asked<wire::Act>().empty());
}

TEST(Clean, RefusesANegativeNumberOfRowsToKeep) {
  FakeTracker tracker(two_steps);
  const auto client = tracker.open({}).value();
  const auto removed = client->clean_history({.group = "ops", .keep = -1});
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().message, "CleanRule.keep is -1, must be 0 or more");
  EXPECT_TRUE(tracker.asked<wire::Act>().empty());
}

TEST(Clean, AcceptsATimeOrAnAge) {
  Cli cli(two_steps);
  EXPECT_EQ(cli.run({"clean", "--older-than", "2026-11-01T00:00:00Z"}), kDone);
  EXPECT_EQ(cli.tracker.asked<wire::Act>()[0].until_us,
            parse_time("2026-11-01T00:00:00Z").value().time_since_epoch().count());
}

TEST(Clean, RequiresExactlyOneRule) {
  Cli cli(two_steps);
  EXPECT_EQ(cli.run({"clean"}), kWrongInput);
  EXPECT_EQ(cli.run({"clean", "--all", "--keep", "5"}), kWrongInput);
  EXPECT_EQ(cli.run({"clean", "--older-than", "3 apples"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--older-than '3 apples' is neither"));
  EXPECT_TRUE(cli.tracker.asked<wire::Act>().empty());
}

wire::Message two_groups(const wire::Message&) {
  const auto row = [](const std::string& group) {
    return Row{{"group", group},
               {"succeeded", std::int64_t{5}},
               {"failed", std::int64_t{2}},
               {"retried", std::int64_t{3}},
               {"skipped", std::int64_t{1}},
               {"missed", std::int64_t{0}},
               {"expired", std::int64_t{0}},
               {"cancelled", std::int64_t{0}}};
  };
  return wire::Rows{.rows = {row("mail"), row("ops")}};
}

TEST(Report, SumsTheGroupsOfADay) {
  Cli cli(two_groups);
  EXPECT_EQ(cli.run({"report", "--days", "2", "--tz", "Asia/Shanghai", "-o", "jsonl"}), kDone);
  const auto asked = cli.tracker.asked<wire::Query>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].what, "counts");
  EXPECT_EQ(asked[0].until_us, asked[1].since_us);
  EXPECT_EQ(asked[1].until_us - asked[1].since_us, Duration{std::chrono::hours{24}}.count());
  EXPECT_THAT(format_time(WallTime{Duration{asked[1].since_us}}), HasSubstr("T16:00:00.000Z"));
  EXPECT_THAT(cli.out.str(),
              HasSubstr("\"runs\":20,\"succeeded\":10,\"failed\":4,\"retried\":6,\"skipped\":2,"));
}

TEST(Report, HasARowForEachGroup) {
  Cli cli(two_groups);
  EXPECT_EQ(cli.run({"report", "--days", "1", "--by-group", "-o", "jsonl"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("\"group\":\"mail\",\"runs\":10,"));
  EXPECT_THAT(cli.out.str(), HasSubstr("\"group\":\"ops\",\"runs\":10,"));
}

}  // namespace
}  // namespace carillon::cli
