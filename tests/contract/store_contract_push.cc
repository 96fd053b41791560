#include "tests/contract/store_contract.h"

// The tables of the push side.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(StoreContract, KeepsExecutorsByGroupAndAddress) {
  const ExecutorGroup group{.group = group_, .token = "t\xC3\xB6ken"};
  ExecutorRow first{.group = group_, .address = "http://a:1/", .registered_at = kNow};
  const ExecutorRow second{.group = group_,
                           .address = "http://A:1/",
                           .is_manual = true,
                           .has_trigger = true,
                           .place = 1000};
  committed({PutExecutorGroup{group}, ChangeExecutor{first}, ChangeExecutor{second}});
  const auto known = [this] { return ask<ExecutorsAnswer>(ReadExecutors{}); };
  EXPECT_THAT(known().groups, ElementsAre(group));
  EXPECT_THAT(known().executors, ElementsAre(second, first));
  EXPECT_TRUE(ask<StartAnswer>(ReadStart{}).groups.front().served);

  first.registered_at += 30 * kSecond;
  first.reports_busy_state = true;
  committed({ChangeExecutor{first}, ChangeExecutor{first}});
  EXPECT_THAT(known().executors, ElementsAre(second, first));
  const auto start = ask<StartAnswer>(ReadStart{});
  EXPECT_THAT(start.executor_groups, ElementsAre(group));
  EXPECT_THAT(start.executors, ElementsAre(second, first));

  const ChangeExecutor removal{{.group = group_, .address = first.address}, ExecutorWord::kRemoved};
  ChangeExecutor unknown = removal;
  unknown.row.address = "unknown";
  committed({removal, removal, unknown});
  EXPECT_THAT(known().executors, ElementsAre(second));
  // In the order in which it was said.
  committed({removal, ChangeExecutor{first}});
  EXPECT_THAT(known().executors, ElementsAre(second, first));
  ChangeExecutor left{{.group = group_, .address = second.address}, ExecutorWord::kLeft};
  committed({left, ChangeExecutor{first}});
  EXPECT_THAT(known().executors, ElementsAre(second, first)) << "it is on a list";
  left.row = first;
  left.row.registered_at -= kSecond;
  committed({left});
  EXPECT_THAT(known().executors, ElementsAre(second, first)) << "it has registered since";
  left.row.registered_at = first.registered_at;
  committed({left});
  EXPECT_THAT(known().executors, ElementsAre(second));
  left.row.registered_at = WallTime::max();
  committed({ChangeExecutor{first}, left});
  EXPECT_THAT(known().executors, ElementsAre(second));
}

TEST_P(StoreContract, KeepsExecutorCallsUntilTheyAreRemoved) {
  PushRun call{.log_id = 64 * 7 + 1, .group = group_, .job = JobId{7}, .attempt = 2};
  call.shard = 1;
  call.shards = 3;
  call.address = "http://a:1/";
  call.failures = 1;
  call.called_at = kNow;
  PushRun other = call;
  other.log_id += 64;
  const auto calls = [this] { return ask<StartAnswer>(ReadStart{}).push_runs; };
  other.is_taken = true;
  committed({PutPushRun{other}, PutPushRun{call}});
  EXPECT_THAT(calls(), ElementsAre(call, other));

  call.code = 500;
  call.message = std::string(5000, 'x') + "\xFF";
  committed({PutPushRun{call}});
  ASSERT_THAT(calls(), ::testing::SizeIs(2));
  EXPECT_EQ(calls()[0].code, 500);
  EXPECT_EQ(calls()[0].message.substr(0, 4000), std::string(4000, 'x'));
  EXPECT_LE(calls()[0].message.size(), 4096U);

  committed({RemovePushRun{call.log_id}, RemovePushRun{call.log_id}, RemovePushRun{1}});
  EXPECT_THAT(calls(), ElementsAre(other));

  call.message = "short";
  committed({RemovePushRun{other.log_id}, PutPushRun{other}, PutPushRun{call}});
  EXPECT_THAT(calls(), ElementsAre(call)) << "what is removed stays away";
}

TEST_P(StoreContract, KeepsRouteMemoryPerDefinition) {
  const RouteRow one{.definition = DefinitionId{1}, .group = group_, .memory = "3\n1 2 http://a/"};
  const RouteRow two{.definition = DefinitionId{2}, .group = group_, .memory = "4"};
  const auto routes = [this] { return ask<StartAnswer>(ReadStart{}).routes; };
  committed({PutRoute{two}, PutRoute{one}});
  EXPECT_THAT(routes(), ElementsAre(one, two));
  committed({PutRoute{{.definition = DefinitionId{1}, .group = group_}}});
  EXPECT_THAT(routes(), ElementsAre(two));
  // The last one in a batch counts.
  committed({PutRoute{{.definition = DefinitionId{1}, .group = group_}}, PutRoute{one},
             PutRoute{one}, PutRoute{{.definition = DefinitionId{2}, .group = group_}}});
  EXPECT_THAT(routes(), ElementsAre(one));
}

TEST_P(StoreContract, MovesRouteMemoryToTheReplacingDefinition) {
  const Definition first = new_definition("nightly");
  const Definition second = new_definition("nightly");
  RouteRow memory{.definition = first.id, .group = group_, .memory = "3"};
  committed({AddDefinition{.definition = first}, PutRoute{memory}});
  const auto replaced = [&](std::int32_t version) {
    return ChangeDefinition{
        .id = first.id, .expected_version = version, .routes_to = second.id, .group = group_};
  };
  const auto routes = [this] { return ask<StartAnswer>(ReadStart{}).routes; };
  committed({replaced(first.version + 1)});  // It is another one: nothing happens.
  EXPECT_THAT(routes(), ElementsAre(memory));
  committed({replaced(first.version), AddDefinition{.definition = second}});
  memory.definition = second.id;
  EXPECT_THAT(routes(), ElementsAre(memory));
}

TEST_P(StoreContract, KeepsExecutorResultsForOtherJobTrackers) {
  const ExecutorResult first{.id = 1, .log_id = 65, .code = 200, .message = "rows=14"};
  const ExecutorResult second{
      .id = 2, .log_id = 66, .code = 500, .message = "bad \xF0\x9F\x98\x80"};
  committed({PutExecutorResult{second}, PutExecutorResult{first}});
  const auto results = [this](std::int64_t limit) {
    return ask<ExecutorResultsAnswer>(ReadExecutorResults{.limit = limit}).rows;
  };
  EXPECT_THAT(results(9), ElementsAre(first, second));
  EXPECT_THAT(results(1), ElementsAre(first));
  const auto part = [this](std::int64_t after) {
    return ask<ExecutorResultsAnswer>(ReadExecutorResults{.after = after, .limit = 1});
  };
  EXPECT_EQ(part(0).next, 1);
  EXPECT_THAT(part(1).rows, ElementsAre(second));
  EXPECT_EQ(part(1).next, 2);
  EXPECT_EQ(part(2), ExecutorResultsAnswer{}) << "that was all";
  committed({RemoveExecutorResult{1}, RemoveExecutorResult{1}, RemoveExecutorResult{9}});
  EXPECT_THAT(results(9), ElementsAre(second));
}

TEST_P(StoreContract, WritesALogRowWithoutEndingAJob) {
  LogEntry entry = new_log(new_job());
  entry.executor_log = 77;
  committed({AddLog{entry}});
  EXPECT_THAT(history(), ElementsAre(entry));
}

}  // namespace
}  // namespace carillon::jobtracker
