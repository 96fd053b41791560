#include "jobtracker/push/executor_registry.h"

#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Who is in service, whoever was told.
namespace carillon::jobtracker {
namespace {

using std::chrono::seconds;

TEST(ExecutorRegistry, WhoIsListedByHandStaysListedThoughItSaysThatItGoes) {
  Pushed test;
  test.bundle.executors.add(kOne);
  wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
  act.addresses = {kOne};
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(test.bundle.act(std::move(act))));
  EXPECT_TRUE(test.register_at(kOne, true).ok());
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kOne);
}

TEST(ExecutorRegistry, KnowsWhatAnotherJobTrackerWasTold) {
  Pushed test;
  test.executor(kOne);
  test.bundle.executors.add(kTwo);
  const ClusterView view{.trackers = {{.session = SessionId{1}}, {.session = SessionId{2}}},
                         .proven = test.bundle.clock.steady_now() + seconds{60}};
  test.bundle.tracker().on_cluster(view);
  ASSERT_EQ(test.bundle.tables().executors.size(), 1U);
  const GroupId app = test.bundle.tables().executor_groups.begin()->first;
  // As the other stores it.
  Batch batch;
  batch.operations.emplace_back(RemoveExecutor{.group = app, .address = kOne});
  batch.operations.emplace_back(
      PutExecutor{{.group = app, .address = kTwo, .registered_at = test.bundle.now()}});
  ASSERT_TRUE(std::holds_alternative<Committed>(test.bundle.database.apply(batch)));
  test.bundle.run_for(seconds{3});
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_EQ(test.calls_of(kOne), 0U) << "it went";
  EXPECT_EQ(test.bundle.log("orders")[0].node, kTwo) << "it came";
}

}  // namespace
}  // namespace carillon::jobtracker
