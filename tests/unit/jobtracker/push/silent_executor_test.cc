// Executors that are frozen: they accept connections, and neither answer nor register.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kOps = "ops@example.com";

TEST(SilentExecutor, RaisesAnAlarmAndItsRunsRestartOnAnotherExecutor) {
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    carillon::testing::TrackerBundle::Options options;
    options.tracker.alarms.recipients = {kOps};
    options.tracker.pusher.silence = minutes{2};
    Pushed test{.bundle = carillon::testing::TrackerBundle(options)};
    auto& one = test.executor(kOne);
    auto& two = test.executor(kTwo);
    test.keep_registering(kOne);
    test.keep_registering(kTwo);
    one.run_time = minutes{10};
    JobSpec job = pushed("orders");
    job.push.block = Block::kSerialExecution;
    job.overlap = Overlap::kQueue;
    ASSERT_EQ(test.submit(job).status, wire::SubmitStatus::kAccepted);
    test.bundle.run_for(seconds{10});
    ASSERT_THAT(one.taken, SizeIs(1));
    one.hangs = true;
    if (restarts) test.bundle.restart_after(seconds{1});
    // It is silent after 90 s; then its run has two minutes.
    test.bundle.run_for(minutes{3});
    ASSERT_THAT(test.bundle.courier.to(kOps), SizeIs(1));
    EXPECT_THAT(test.bundle.courier.to(kOps)[0].subject,
                HasSubstr("silent: 1 executor with runs: " + kOne));
    EXPECT_THAT(two.taken, SizeIs(0));
    test.bundle.run_for(minutes{1});
    EXPECT_THAT(two.taken, SizeIs(1)) << test.bundle.story("orders");
    one.hangs = false;  // Its result comes late.
    test.bundle.run_for(minutes{10});
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
    EXPECT_EQ(test.bundle.log("orders").back().attempt, 2);
    EXPECT_EQ(test.bundle.stat("executor_late_results_total"), 1);
    EXPECT_THAT(one.taken, SizeIs(1));
  }
}

}  // namespace
}  // namespace carillon::jobtracker
