#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

wire::Row group_row(const std::string& name, std::int64_t due) {
  return {{"group", name},      {"kind", std::string{"pull"}},
          {"waiting", due + 1}, {"executing", std::int64_t{2}},
          {"due", due},         {"nodes", std::int64_t{1}}};
}

wire::Row minute_row(const std::string& at, const std::string& group, std::int64_t ended) {
  return {{"at", at},
          {"group", group},
          {"submitted", std::int64_t{11}},
          {"started", std::int64_t{12}},
          {"ended", ended},
          {"failed", std::int64_t{3}},
          {"lateness_p50_ms", std::int64_t{4}},
          {"lateness_p95_ms", std::int64_t{50}},
          {"lateness_p99_ms", std::int64_t{600}}};
}

// Two groups; the figures of two minutes.
wire::Message two_busy_groups(const wire::Message& request) {
  const auto& query = std::get<wire::Query>(request);
  if (query.what == "groups")
    return wire::Rows{.rows = {group_row("quiet", 0), group_row("busy", 700)}};
  if (query.what == "nodes") {
    const auto node = [](const char* state) {
      return wire::Row{{"group", std::string{"busy"}},
                       {"state", std::string{state}},
                       {"threads", std::int64_t{8}},
                       {"free", std::int64_t{6}}};
    };
    return wire::Rows{.rows = {node("alive"), node("gone")}};
  }
  if (query.what == "figures") {
    return wire::Rows{.rows = {minute_row("2026-11-21T07:00:00.000Z", "busy", 1),
                               minute_row("2026-11-21T07:00:00.000Z", "quiet", 1),
                               minute_row("2026-11-21T07:01:00.000Z", "busy", 99)}};
  }
  return wire::Rows{.rows = {{{"jobs_submitted_total", std::int64_t{5}},
                              {"attempts_ended_total", std::int64_t{6}}}}};
}

TEST(Top, ShowsGroupsWithTheLastMinuteTheBusiestFirst) {
  Cli cli(two_busy_groups);
  EXPECT_EQ(cli.run({"top", "--once"}), kDone) << cli.err.str();
  const std::string text = cli.out.str();
  EXPECT_THAT(text, AllOf(HasSubstr("groups 2  workers 1  threads 2 of 8  running 4  due 700"),
                          HasSubstr("last minute: started 12, ended 99, failed 3\n"),
                          HasSubstr("GROUP"), HasSubstr("LATE P99 MS"), Not(HasSubstr("\x1b"))));
  EXPECT_LT(text.find("busy"), text.find("quiet"));
  EXPECT_EQ(cli.pauses, 0);
  const auto asked = cli.tracker.asked<wire::Query>();
  for (const wire::Query& query : asked) {
    if (query.what == "figures") {
      EXPECT_GT(query.since_us, 0);
    }
  }
}

TEST(Top, JsonIsOneArrayWithARowForEachGroup) {
  Cli cli(two_busy_groups);
  EXPECT_EQ(cli.run({"top", "-o", "json"}), kDone) << cli.err.str();
  EXPECT_THAT(cli.out.str(), HasSubstr("{\"group\":\"busy\",\"kind\":\"pull\",\"workers\":1,"
                                       "\"threads\":8,\"free\":6,\"executing\":2,\"due\":700,"));
  EXPECT_THAT(cli.out.str(), HasSubstr("\"ended\":99,\"failed\":3"));
  EXPECT_EQ(cli.out.str().front(), '[');
}

TEST(Top, EndsWithTheErrorOfTheJobTracker) {
  Cli cli([](const wire::Message&) -> wire::Message {
    return wire::ErrorReply{Error{ErrorCode::kInvalidArgument, "unknown question 'figures'"}};
  });
  EXPECT_EQ(cli.run({"top", "--once"}), kRefused);
  EXPECT_THAT(cli.err.str(), HasSubstr("unknown question"));
}

}  // namespace
}  // namespace carillon::cli
