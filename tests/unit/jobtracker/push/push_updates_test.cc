#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// What a pushed job keeps when it is submitted again with other settings, as updateJob does.
namespace carillon::jobtracker {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::SizeIs;

JobSpec managed(const std::string& task_id, Route route = Route::kFirst) {
  JobSpec job = pushed(task_id, route);
  job.schedule = {.kind = ScheduleKind::kManual};
  job.overlap = Overlap::kQueue;
  job.replace_on_exist = true;
  return job;
}

void trigger(Pushed& test, const std::string& task_id) {
  const auto answer =
      test.bundle.act(wire::Act{.verb = wire::Verb::kTrigger, .group = "app", .task_id = task_id});
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(answer));
}

TEST(Push, UpdatedJobWaitsForItsPreviousRunAfterARestart) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = minutes{5};
  test.submit(managed("orders"));
  trigger(test, "orders");
  ASSERT_TRUE(test.bundle.run_until([&] { return one.running.size() == 1; }));
  test.submit(managed("orders"));
  test.bundle.restart_after(seconds{1});
  test.bundle.run_for(seconds{1});
  trigger(test, "orders");
  test.bundle.run_for(minutes{4});
  EXPECT_THAT(one.calls, SizeIs(1)) << test.bundle.story("orders");
  test.bundle.run_for(minutes{2});
  EXPECT_THAT(one.calls, SizeIs(2)) << test.bundle.story("orders");
}

// Who ran it.
std::string run_once(Pushed& test, const std::string& task_id) {
  const std::size_t before = test.bundle.log(task_id).size();
  trigger(test, task_id);
  EXPECT_TRUE(test.bundle.run_until([&] { return test.bundle.log(task_id).size() > before; }));
  return test.bundle.log(task_id).back().node;
}

TEST(Push, ConsistentHashUsesTheXxlJobIdAcrossUpdates) {
  Pushed test;
  for (const std::string& address : {kOne, kTwo, kThree}) test.executor(address);
  for (int i = 0; i < 4; ++i) {
    test.submit(managed("xxl-17", Route::kConsistentHash));
    test.submit(managed("xxl-3", Route::kConsistentHash));
    EXPECT_EQ(run_once(test, "xxl-17"), kTwo);
    EXPECT_EQ(run_once(test, "xxl-3"), kOne);
  }
  for (const auto& call : test.bundle.executors.at(kTwo).calls) EXPECT_EQ(call.job_id, 17);
  for (const auto& call : test.bundle.executors.at(kOne).calls) EXPECT_EQ(call.job_id, 3);
}

TEST(Push, ConsistentHashFallsBackToTheTaskId) {
  Pushed test;
  for (const std::string& address : {kOne, kTwo, kThree}) test.executor(address);
  for (const std::string task : {"orders", "mails", "bills"}) {
    test.submit(managed(task, Route::kConsistentHash));
    const std::string first = run_once(test, task);
    for (int i = 0; i < 5; ++i) {
      test.submit(managed(task, Route::kConsistentHash));
      EXPECT_EQ(run_once(test, task), first) << task;
    }
  }
}

TEST(Push, RouteMemorySurvivesUpdatesAndRestarts) {
  for (const Route route : {Route::kRound, Route::kLeastRecentlyUsed}) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    for (const std::string& address : {kOne, kTwo, kThree}) test.executor(address);
    test.submit(managed("orders", route));
    std::vector<std::string> called;
    for (int i = 0; i < 9; ++i) {
      called.push_back(run_once(test, "orders"));
      test.submit(managed("orders", route));
      if (i % 2 == 0) test.bundle.restart_after(seconds{1});
      test.bundle.run_for(seconds{1});
    }
    EXPECT_THAT(std::set<std::string>(called.begin(), called.begin() + 3), SizeIs(3));
    for (std::size_t i = 3; i < called.size(); ++i) EXPECT_EQ(called[i], called[i - 3]) << i;
    EXPECT_THAT(test.bundle.tables().routes, SizeIs(1));
  }
}

}  // namespace
}  // namespace carillon::jobtracker
