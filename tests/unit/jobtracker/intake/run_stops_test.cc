#include "jobtracker/intake/run_stops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Runs that go on at a task tracker that was taken for dead, though their job has ended.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeWorker;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using wire::Verb;

// A run of it is at that one, which has just begun.
FakeWorker& run_long(TrackerBundle& bundle, const JobSpec& job) {
  FakeWorker& worker = bundle.add_worker({.name = "first", .threads = 1});
  runs_take(worker, minutes{5});
  bundle.submit(job);
  EXPECT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  return worker;
}

void suspend(TrackerBundle& bundle) { bundle.act(Verb::kSuspend, "a"); }

void cancel(TrackerBundle& bundle) { bundle.act(Verb::kCancel, "a"); }

void kill(TrackerBundle& bundle) { bundle.act(Verb::kKill, "a"); }

void replace(TrackerBundle& bundle) {
  JobSpec other = job_every("a", hours{1});
  other.schedule.first = bundle.now() + hours{1};
  other.replace_on_exist = true;
  EXPECT_EQ(bundle.submit(other).status, wire::SubmitStatus::kAccepted);
}

struct Ending {
  const char* name;
  JobSpec job;
  void (*end)(TrackerBundle&);
};

std::vector<Ending> endings() {
  return {{"a schedule is suspended", job_every("a", hours{1}), suspend},
          {"a schedule is cancelled", job_every("a", hours{1}), cancel},
          {"a schedule is replaced", job_every("a", hours{1}), replace},
          {"a run of a schedule is killed", job_every("a", hours{1}), kill},
          {"a job is cancelled", job_now("a"), cancel},
          {"a job is killed", job_now("a"), kill},
          {"a job is replaced", job_now("a"), replace}};
}

TEST(RunStops, ReachALostRunHoweverItsJobEnds) {
  for (const auto& [name, job, end] : endings()) {
    SCOPED_TRACE(name);
    TrackerBundle bundle;
    FakeWorker& worker = run_long(bundle, job);
    worker.cut_off(seconds{8});
    bundle.run_for(seconds{5});
    ASSERT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost));
    end(bundle);
    ASSERT_EQ(worker.busy(), 1);
    bundle.run_for(seconds{8});
    EXPECT_EQ(worker.busy(), 0);
  }
}

TEST(RunStops, ReachALostRunThatATriggeredRunSupersedes) {
  TrackerBundle bundle;
  JobSpec job = carillon::testing::job_fixed_delay("a", hours{1});
  job.overlap = Overlap::kCancelRunning;
  FakeWorker& worker = run_long(bundle, job);
  worker.cut_off(seconds{8});
  bundle.run_for(seconds{5});
  ASSERT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost));
  bundle.act(Verb::kTrigger, "a");
  bundle.add_worker({.name = "second"});
  bundle.run_for(seconds{8});
  EXPECT_EQ(worker.busy(), 0) << bundle.story("a");
}

TEST(RunStops, ReachARunThatIsLostAfterASuspend) {
  TrackerBundle bundle;
  FakeWorker& worker = run_long(bundle, job_every("a", hours{1}));
  suspend(bundle);
  worker.cut_off(seconds{8});
  bundle.run_for(seconds{5});
  ASSERT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost));
  ASSERT_TRUE(bundle.log("a").back().final);
  ASSERT_EQ(worker.busy(), 1);
  bundle.run_for(seconds{8});
  EXPECT_EQ(worker.busy(), 0);
}

TEST(RunStops, ReachALostRunOnceAnotherWorkerCompletesItsJob) {
  TrackerBundle bundle;
  FakeWorker& worker = run_long(bundle, job_now("a"));
  worker.cut_off(seconds{8});
  bundle.add_worker({.name = "second"});
  bundle.run_for(seconds{5});
  ASSERT_TRUE(bundle.is_empty());
  ASSERT_EQ(worker.busy(), 1);
  bundle.run_for(seconds{8});
  EXPECT_EQ(worker.busy(), 0);
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

TEST(RunStops, LeaveALostRunAloneWhileItsJobContinues) {
  TrackerBundle bundle;
  FakeWorker& worker = run_long(bundle, job_now("a"));
  worker.cut_off(seconds{8});
  runs_take(bundle.add_worker({.name = "second"}), minutes{1});
  bundle.run_for(seconds{15});
  EXPECT_EQ(worker.busy(), 1);
  bundle.run_for(minutes{2});
  EXPECT_EQ(worker.busy(), 0);
}

// The suspension is on disk before the claim that was asked for meanwhile.
TEST(RunStops, ReachALostRunDuringASecondClaim) {
  TrackerBundle bundle;
  FakeWorker& worker = run_long(bundle, job_every("a", hours{1}));
  runs_take(bundle.add_worker({.name = "busy", .threads = 1}), hours{1});
  bundle.submit(job_now("b"));
  worker.cut_off(seconds{12});
  bundle.run_for(seconds{5});
  ASSERT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{2};
  bundle.client.act({.verb = Verb::kSuspend, .group = "default", .task_id = "a"});
  FakeWorker& second = bundle.add_worker({.name = "second"});
  bundle.run_for(seconds{1});
  ASSERT_EQ(bundle.stat("jobs_claimed_total"), 3);
  bundle.run_for(seconds{5});
  ASSERT_EQ(second.busy(), 0);
  ASSERT_THAT(states(bundle.log("a")), Contains(LogState::kCancelled));
  bundle.run_for(seconds{5});
  EXPECT_EQ(worker.busy(), 0);
}

// The clock was set back while it ran.
TEST(RunStops, SuspendSparesARunThoughTheClockMovedBack) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 2});
  runs_take(worker, minutes{30});
  bundle.submit(job_cron("a", "0 0 * * * ?"));
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }, hours{2}));
  const WallTime began = bundle.now();
  bundle.run_for(minutes{1});
  bundle.clock.set_wall(bundle.now() - minutes{10});
  bundle.run_to(began - milliseconds{500});
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(bundle.act(wire::Verb::kSuspend, "a")));
  ASSERT_LT(bundle.now(), began);
  bundle.run_for(seconds{5});
  EXPECT_EQ(worker.busy(), 1) << bundle.story("a");
}

// A session hands a fire out early and ends, its task tracker is cut off, and the next session is
// told in the last moment before the fire that it is not wanted any more. The runs that followed.
std::vector<carillon::testing::RunRecord> called_off_while_cut_off(Duration away, Duration before,
                                                                   void (*act)(TrackerBundle&)) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 4});
  runs_take(worker, seconds{2});
  JobSpec job = job_every("a", seconds{10});
  job.schedule.first = bundle.now() + seconds{5};
  const WallTime fire = *job.schedule.first;
  bundle.submit(job);
  bundle.run_to(fire - milliseconds{700});
  bundle.tracker().expect_pause(true);
  bundle.run_for(milliseconds{500});
  bundle.tracker().stop();
  bundle.run_for(milliseconds{1});
  bundle.kill_tracker();
  worker.cut_off(away);
  bundle.run_for(milliseconds{5});
  bundle.start_tracker();
  bundle.run_to(fire - before);
  act(bundle);
  bundle.run_to(fire + seconds{8});
  return bundle.runs();
}

TEST(RunStops, LeaveARunThatStartedBeforeItsTaskTrackerReconnected) {
  for (const auto act : {suspend, replace}) {
    for (const milliseconds away : {milliseconds{400}, milliseconds{1000}}) {
      SCOPED_TRACE(away.count());
      const auto runs = called_off_while_cut_off(away, milliseconds{100}, act);
      ASSERT_EQ(runs.size(), 1U);
      EXPECT_FALSE(runs[0].was_killed);
    }
  }
}

TEST(RunStops, PreventTheStartIfTheTaskTrackerReconnectsInTime) {
  for (const auto act : {suspend, replace})
    EXPECT_EQ(called_off_while_cut_off(milliseconds{50}, milliseconds{150}, act).size(), 0U);
}

}  // namespace
}  // namespace carillon::jobtracker
