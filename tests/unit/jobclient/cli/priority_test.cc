#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobclient/cli/act.h"
#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::HasSubstr;

wire::Message is_moved(const wire::Message&) { return wire::Acted{.message = "moved"}; }

TEST(PriorityVerb, NamesATaskOrAJob) {
  Cli cli(is_moved);
  EXPECT_EQ(cli.run({"priority", "report", "10", "--group", "ops"}), kDone);
  EXPECT_EQ(cli.run({"priority", "--job", "7211", "0", "-o", "json"}), kDone);
  EXPECT_EQ(cli.out.str(), "moved\n{\"message\":\"moved\"}\n");
  const auto asked = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].verb, wire::Verb::kSetPriority);
  EXPECT_EQ(asked[0].task_id, "report");
  EXPECT_EQ(asked[0].group, "ops");
  EXPECT_EQ(asked[0].priority, 10);
  EXPECT_EQ(asked[1].task_id, "");
  EXPECT_EQ(asked[1].job_id, JobId{7211});
  EXPECT_EQ(asked[1].priority, 0);
}

TEST(PriorityVerb, RefusesWhatNamesNoPriority) {
  for (const auto& [arguments, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"priority"}, "priority needs PRIORITY"},
           {{"priority", "5"}, "give a task id or --job ID"},
           {{"priority", "report", "1000"}, "priority is '1000', must be 0 to 999"},
           {{"priority", "report", "-1"}, "-1"},
           {{"priority", "report", "high"}, "priority is 'high', must be 0 to 999"},
           {{"priority", "a", "5", "--job", "7"}, "contradict each other"},
           {{"priority", "a", "b", "5"}, "unexpected argument '5'"}}) {
    SCOPED_TRACE(why);
    Cli cli(is_moved);
    EXPECT_EQ(cli.run(arguments), kWrongInput);
    EXPECT_THAT(cli.err.str(), HasSubstr(why));
    EXPECT_EQ(cli.tracker.asked<wire::Act>().size(), 0u);
  }
}

}  // namespace
}  // namespace carillon::cli
