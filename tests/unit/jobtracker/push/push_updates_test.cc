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

TEST(Push, AnUpdatedJobWaitsForTheRunOfTheOneBeforeAlsoAfterARestart) {
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

}  // namespace
}  // namespace carillon::jobtracker
