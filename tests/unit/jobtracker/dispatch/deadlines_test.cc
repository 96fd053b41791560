#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Start deadlines: a job that waits beyond its own expires, though nobody comes to run it.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec with_deadline(JobSpec spec, Duration deadline) {
  spec.start_deadline = deadline;
  return spec;
}

std::vector<LogEntry> expired(const TrackerBundle& bundle, const std::string& task_id = {}) {
  auto all = bundle.log(task_id);
  std::erase_if(all, [](const LogEntry& entry) { return entry.state != LogState::kExpired; });
  return all;
}

TEST(Deadlines, UnclaimedJobExpiresAndFreesItsTaskId) {
  TrackerBundle bundle;
  const auto answer = bundle.submit(with_deadline(job_now("a"), seconds{2}));
  bundle.run_for(milliseconds{1990});
  EXPECT_THAT(bundle.log("a"), IsEmpty());
  bundle.run_for(milliseconds{50});
  ASSERT_THAT(bundle.log("a"), SizeIs(1));
  const LogEntry entry = bundle.log("a")[0];
  EXPECT_EQ(entry.state, LogState::kExpired);
  EXPECT_EQ(entry.job_id, answer.job_id);
  EXPECT_EQ(entry.attempt, 0);
  EXPECT_EQ(entry.count, 1);
  EXPECT_TRUE(entry.final);
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_EQ(bundle.submit(job_now("a")).status, wire::SubmitStatus::kAccepted);
}

TEST(Deadlines, AtJobExpiresRelativeToItsScheduledTime) {
  TrackerBundle bundle;
  const WallTime at = bundle.now() + hours{1};
  bundle.submit(with_deadline(job_at("a", at), minutes{1}));
  bundle.run_to(at + seconds{59});
  EXPECT_THAT(bundle.log("a"), IsEmpty());
  bundle.run_to(at + seconds{61});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Deadlines, ExpiredFireMakesWayForTheNextFire) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    JobSpec job = job_cron("a", "0 * * * * ?");
    job.overlap = overlap;
    bundle.submit(with_deadline(job, seconds{5}));
    bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + minutes{5} + seconds{30});
    const auto all = expired(bundle, "a");
    ASSERT_THAT(all, SizeIs(5));
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_EQ(all[i].trigger_time - all[i - 1].trigger_time, minutes{1});
      EXPECT_LE(all[i].ended_at, all[i].trigger_time + seconds{6});
    }
    bundle.add_worker();
    bundle.run_for(minutes{3});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(3));
    EXPECT_THAT(expired(bundle, "a"), SizeIs(5));
  }
}

TEST(Deadlines, FixedDelayCountsFromTheExpiry) {
  TrackerBundle bundle;
  bundle.submit(with_deadline(job_fixed_delay("a", seconds{30}), seconds{10}));
  bundle.run_for(minutes{4});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(6)) << "every 40 s";
}

TEST(Deadlines, HoldAfterARestart) {
  TrackerBundle bundle;
  bundle.submit(with_deadline(job_now("short"), seconds{20}));
  bundle.submit(with_deadline(job_now("long"), minutes{2}));
  bundle.submit(with_deadline(job_every("d", hours{1}), minutes{2}));
  bundle.run_for(seconds{5});
  bundle.restart_after(minutes{1});
  bundle.run_for(seconds{1});
  EXPECT_THAT(expired(bundle), SizeIs(1)) << "its time passed while no job tracker ran";
  bundle.run_for(minutes{1});
  EXPECT_THAT(expired(bundle, "long"), SizeIs(1));
  EXPECT_THAT(expired(bundle, "d"), SizeIs(1));
}

TEST(Deadlines, HoldForRowsThatAreNotInMemory) {
  for (const bool restart : {false, true}) {
    TrackerBundle bundle({.tracker = {.dispatcher = {.preload = {.capacity = 100},
                                                     .deadlines = {.capacity = 50},
                                                     .refill = 50}}});
    // All threads are busy for long.
    runs_take(bundle.add_worker({.threads = 1}), hours{2});
    bundle.run_for(seconds{1});
    bundle.submit(std::vector<JobSpec>(900, job_now("")));
    JobSpec last = with_deadline(job_now(""), seconds{30});
    last.priority = 900;
    bundle.submit(std::vector<JobSpec>(300, last));
    bundle.run_for(seconds{1});
    if (restart) bundle.restart_after(seconds{1});
    bundle.run_for(seconds{28});
    EXPECT_THAT(expired(bundle), IsEmpty());
    bundle.run_for(seconds{3});
    EXPECT_THAT(expired(bundle), SizeIs(300)) << "many times of what is remembered";
    EXPECT_THAT(bundle.waiting(), SizeIs(899));
  }
}

TEST(Deadlines, EvictedDeadlineExpiresBeforeLaterOnes) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.deadlines = {.capacity = 10}}}});
  bundle.submit(with_deadline(job_now("a"), minutes{1}));
  for (int i = 0; i < 10; ++i) bundle.submit(with_deadline(job_now(""), seconds{20 + 2 * i}));
  for (int i = 0; i < 60; ++i) {
    bundle.submit(with_deadline(job_now(""), seconds{90}));
    bundle.run_for(seconds{1});
  }
  bundle.run_for(seconds{2});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(1));
  EXPECT_THAT(expired(bundle), SizeIs(11));
}

TEST(Deadlines, FireQueuedBehindThePreviousRunExpires) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 4}), minutes{5});
  JobSpec job = job_every("a", seconds{20});
  job.overlap = Overlap::kQueue;
  bundle.submit(with_deadline(job, seconds{30}));
  bundle.run_for(seconds{115});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(4)) << "those of 20, 40, 60 and 80 s";
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
}

TEST(Deadlines, JobStartedInTimeDoesNotExpire) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), minutes{1});
  bundle.submit(with_deadline(job_now("a"), seconds{5}));
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_THAT(expired(bundle), IsEmpty());
}

TEST(Deadlines, RetryDoesNotExpire) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const wire::HandedJob& job, const auto&) {
    return FakeRun{.outcome = job.id.attempt == 1 ? wire::RunOutcome::kException
                                                  : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = with_deadline(job_now("a"), seconds{5});
  job.retries = {.max = 1, .base = minutes{1}};
  bundle.submit(job);
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(2));
  EXPECT_THAT(expired(bundle), IsEmpty());
}

TEST(Deadlines, ReturnedUnstartedJobStillExpires) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, hours{1});
  bundle.submit(with_deadline(job_now("a"), seconds{10}));
  bundle.submit(with_deadline(job_every("d", minutes{1}), seconds{10}));
  bundle.run_for(seconds{2});
  ASSERT_THAT(worker.handed(), SizeIs(2));
  for (const wire::AttemptId& id : worker.handed()) worker.give_back(id);
  worker.leave();
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.waiting(), SizeIs(2));
  EXPECT_THAT(expired(bundle), IsEmpty());
  bundle.run_for(seconds{4});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(1));
  EXPECT_THAT(expired(bundle, "d"), SizeIs(1));
  bundle.add_worker({.name = "other"});
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs_of("d"), SizeIs(2)) << "nothing is stuck behind it";
}

TEST(Deadlines, ExpiryOfAReturnedRunReleasesTheQueuedFires) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 1});
  runs_take(worker, hours{1});
  JobSpec job = job_every("a", seconds{20});
  job.overlap = Overlap::kQueue;
  bundle.submit(with_deadline(job, seconds{30}));
  bundle.run_for(seconds{2});
  ASSERT_THAT(worker.handed(), SizeIs(1));
  const wire::AttemptId first = worker.handed()[0];
  worker.leave();
  worker.give_back(first);
  bundle.run_for(seconds{26});
  bundle.restart_after(milliseconds{100});
  bundle.run_for(seconds{7});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(1));
  bundle.add_worker({.name = "other"});
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_EQ(bundle.runs_of("a")[0].trigger_time, expired(bundle)[0].trigger_time + seconds{20});
}

TEST(Deadlines, JobPostponedByItsHandlerDoesNotExpire) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  worker.behaviour = [](const auto&, const auto&) {
    return FakeRun{.outcome = wire::RunOutcome::kLater, .later = minutes{1}};
  };
  bundle.submit(with_deadline(job_now("a"), seconds{10}));
  bundle.run_for(seconds{2});
  worker.leave();
  bundle.run_for(minutes{5});
  EXPECT_THAT(expired(bundle), IsEmpty());
  bundle.add_worker({.name = "other"});
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(2));
}

TEST(Deadlines, SuspendedJobExpiresOnlyAfterItIsResumed) {
  TrackerBundle bundle;
  bundle.submit(with_deadline(job_now("a"), seconds{5}));
  bundle.act(wire::Verb::kSuspend, "a");
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.log("a"), IsEmpty());
  bundle.act(wire::Verb::kResume, "a");
  bundle.run_for(seconds{1});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(1));
}

TEST(Deadlines, DeadlineOfATriggeredJobCountsFromTheTrigger) {
  TrackerBundle bundle;
  bundle.submit(with_deadline(job_at("a", bundle.now() + seconds{10}), seconds{20}));
  bundle.run_for(seconds{5});
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_for(seconds{19});
  EXPECT_THAT(bundle.log("a"), IsEmpty());
  bundle.run_for(seconds{2});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(1));
}

TEST(Deadlines, AreReadAgainWhenTheStoreIsBack) {
  TrackerBundle bundle;
  bundle.submit(with_deadline(job_now("a"), seconds{5}));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{20};
  bundle.run_for(seconds{21});
  EXPECT_THAT(expired(bundle, "a"), SizeIs(1));
}

}  // namespace
}  // namespace carillon::jobtracker
