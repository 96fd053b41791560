// A worker whose node group was split: it works for several job trackers at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/job/bucket.h"
#include "tests/integration/tasktracker/worker_bundle.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two job trackers with two parts each, of four; and a job for each part.
struct SplitGroupBundle : WorkerBundle {
  explicit SplitGroupBundle(bool stop_without_lease = false)
      : WorkerBundle(
            Options{.threads = 4, .trackers = 2, .stop_without_lease = stop_without_lease}) {
    for (std::size_t which = 0; which < 2; ++which) {
      own(which, which == 0 ? std::vector{0, 1} : std::vector{2, 3}, 1);
      trackers[which]->tracker_session = 50 + static_cast<std::int64_t>(which);
    }
  }

  void own(std::size_t which, const std::vector<int>& parts, std::int64_t epoch) {
    trackers[which]->parts = 4;
    trackers[which]->owned.clear();
    for (const int part : parts) {
      trackers[which]->owned.push_back({.part = part, .epoch = epoch});
    }
  }
  // A session of it that looks after others than before, and knows nobody.
  void own_from_now_on(std::size_t which, const std::vector<int>& parts, std::int64_t epoch) {
    own(which, parts, epoch);
    trackers[which]->tracker_session += 10;
    trackers[which]->knows_session = false;
  }
  // The first number from `from` on whose job is of that part.
  static std::int64_t job_of(int part, std::int64_t from = 1) {
    while (part_of_bucket(bucket_of("t" + std::to_string(from)), 4) != part) ++from;
    return from;
  }
  FakeTracker& one() { return *trackers[0]; }
  FakeTracker& two() { return *trackers[1]; }
  bool until_both_know_it() {
    return until([&] { return !one().registrations.empty() && !two().registrations.empty(); });
  }
  bool until_registered(int times) {
    return until([&] { return ready >= times; });
  }
  bool until_holding(int runs) {
    return until([&] { return holding >= runs; });
  }
  void pass(Duration duration) {
    const SteadyTime end = clock.steady_now() + duration;
    EXPECT_TRUE(until([&] { return clock.steady_now() > end; }));
  }
};

// It stops what it runs without a lease. The runs end when they are told to, so their results tell
// why: kLater without a lease, kKilled otherwise.
struct StoppingParts : SplitGroupBundle {
  StoppingParts() : SplitGroupBundle(true) {
    one().lease = kLong;
    two().lease = kLong;
  }

  static constexpr Duration kShort = milliseconds{300};  // has ended after kEnough
  static constexpr Duration kEnough = milliseconds{600};
  static constexpr Duration kLong = std::chrono::seconds{60};

  void start_run(FakeTracker& tracker, std::int64_t job) {
    const int before = holding;
    tracker.submit(job, handler("hold", "60s"));
    ASSERT_TRUE(until_holding(before + 1));
  }
  wire::RunOutcome outcome_of(std::int64_t job) {
    const wire::RunResult* result = nullptr;
    EXPECT_TRUE(until([&] {
      result = one().result_of(job);
      if (result == nullptr) result = two().result_of(job);
      return result != nullptr;
    })) << "it was not stopped";
    return result == nullptr ? wire::RunOutcome{} : result->outcome;
  }

  const std::int64_t of_one = job_of(0);
  const std::int64_t of_two = job_of(2);
};

TEST(SplitGroup, AreServedAtAllJobTrackersOfTheGroup) {
  SplitGroupBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  EXPECT_EQ(b.one().registrations[0].session, b.two().registrations[0].session);
  const auto first = SplitGroupBundle::job_of(0);
  const auto second = SplitGroupBundle::job_of(3);
  b.one().submit(first, WorkerBundle::handler("noop"));
  b.two().submit(second, WorkerBundle::handler("noop"));
  EXPECT_TRUE(b.until([&] { return b.one().result_of(first) && b.two().result_of(second); }));
  EXPECT_THAT(b.one().results, SizeIs(1));
  EXPECT_THAT(b.two().results, SizeIs(1));
}

TEST(SplitGroup, UnreachablePartitionsAreLoggedOnce) {
  SplitGroupBundle b;
  b.own(1, {2}, 1);
  ::testing::internal::CaptureStderr();
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  b.pass(std::chrono::seconds{7});
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string said = "own partitions of this group are unreachable";
  ASSERT_THAT(log, ::testing::HasSubstr(said));
  EXPECT_THAT(log, ::testing::HasSubstr("parts=1  of=4"));
  EXPECT_EQ(log.find(said), log.rfind(said));
}

TEST(SplitGroup, TrackerWithoutPartitionsIsAskedRepeatedly) {
  SplitGroupBundle b;
  b.two().redirects = true;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 2; }));
  b.two().redirects = false;
  const auto job = SplitGroupBundle::job_of(2);
  b.two().submit(job, WorkerBundle::handler("noop"));
  EXPECT_TRUE(b.until([&] { return b.two().result_of(job) != nullptr; }));
}

TEST(SplitGroup, TrackerWithoutPartitionsIsAskedSoonAfterAnotherStops) {
  SplitGroupBundle b;
  b.two().redirects = true;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 12; })) << "seldom by now";
  const std::size_t before = b.two().registrations.size();
  const SteadyTime told = b.clock.steady_now();
  b.one().say_that_it_stops();
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= before + 5; }));
  EXPECT_LT(b.clock.steady_now(), told + milliseconds{1000}) << "four of 250 ms, and more";
}

// Or it would have no owner, though this one has the worker: whatever it handed out would be
// refused, and no result sent.
TEST(SplitGroup, LateRedirectDoesNotTakePartitionsFromTheirOwner) {
  SplitGroupBundle b;
  b.two().redirects = true;
  b.start();
  ASSERT_TRUE(b.until([&] { return !b.two().registrations.empty(); }));
  b.two().redirects = false;
  ASSERT_TRUE(b.until_registered(2));
  b.two().redirect_again();
  const auto job = SplitGroupBundle::job_of(2);
  b.two().submit(job, WorkerBundle::handler("noop"));
  EXPECT_TRUE(b.until([&] { return b.two().result_of(job) != nullptr; }));
}

TEST(SplitGroup, AreFoundWhenTheFirstJobTrackerOwnsNone) {
  SplitGroupBundle b;
  b.one().redirects = true;
  b.start();
  const auto job = SplitGroupBundle::job_of(2);
  b.two().submit(job, WorkerBundle::handler("noop"));
  EXPECT_TRUE(b.until([&] { return b.two().result_of(job) != nullptr; }));
}

TEST(SplitGroup, MovedPartitionsTakeTheirResultsToTheNewOwner) {
  SplitGroupBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  const auto job = SplitGroupBundle::job_of(1);
  b.one().submit(job, WorkerBundle::handler("hold", "500ms"));
  ASSERT_TRUE(b.until([&] { return b.holding == 1; }));
  b.one().disconnect();
  b.own_from_now_on(1, {0, 1, 2, 3}, 2);
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 2; }));
  EXPECT_THAT(b.two().registrations.back().holding, SizeIs(1)) << "so that it is adopted there";
  EXPECT_TRUE(b.until([&] { return b.two().result_of(job) != nullptr; }));
  EXPECT_THAT(b.one().results, IsEmpty());
}

TEST(SplitGroup, AcceptJobsFromTheNewestOwnerOnly) {
  SplitGroupBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  // It has taken all, and the other one does not know it yet.
  b.own_from_now_on(1, {0, 1, 2, 3}, 2);
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 2; }));
  const auto old = SplitGroupBundle::job_of(0);
  b.one().push(old, WorkerBundle::handler("noop"));
  const auto now = SplitGroupBundle::job_of(0, old + 1);
  b.two().submit(now, WorkerBundle::handler("noop"));
  ASSERT_TRUE(b.until([&] { return b.two().result_of(now) != nullptr; }));
  EXPECT_EQ(b.one().result_of(old), nullptr);
  EXPECT_EQ(b.two().result_of(old), nullptr);
}

TEST(SplitGroup, GetAllThreadsWhenTheyHaveAllTheWork) {
  SplitGroupBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  std::int64_t job = 0;
  for (int i = 0; i < 4; ++i) {
    job = SplitGroupBundle::job_of(0, job + 1);
    b.one().submit(job, WorkerBundle::handler("hold", "60s"));
  }
  EXPECT_TRUE(b.until([&] { return b.holding == 4; }));
}

TEST(SplitGroup, ShutdownSaysGoodbyeToEveryJobTracker) {
  SplitGroupBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  const auto job = SplitGroupBundle::job_of(3);
  b.two().submit(job, WorkerBundle::handler("hold", "200ms"));
  ASSERT_TRUE(b.until([&] { return b.holding == 1; }));
  b.worker->request_stop(std::chrono::seconds{30});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_NE(b.two().result_of(job), nullptr);
  EXPECT_EQ(b.one().byes, 1);
  EXPECT_EQ(b.two().byes, 1);
}

TEST(SplitGroup, RunsContinueWhileTheirPartitionMovesToANewOwner) {
  StoppingParts b;
  b.own(0, {0, 1, 2, 3}, 1);
  b.two().redirects = true;
  b.start();
  ASSERT_TRUE(b.until_registered(1));
  b.start_run(b.one(), b.of_one);
  b.start_run(b.one(), b.of_two);
  b.own(1, {2, 3}, 2);
  b.two().redirects = false;
  ASSERT_TRUE(b.until_registered(2));
  b.one().kill(b.of_one);
  b.two().kill(b.of_two);
  EXPECT_EQ(b.outcome_of(b.of_one), wire::RunOutcome::kKilled);
  EXPECT_EQ(b.outcome_of(b.of_two), wire::RunOutcome::kKilled);
}

TEST(SplitGroup, RunsContinueWhileTheirOwnOwnerAnswers) {
  StoppingParts b;
  b.one().lease = StoppingParts::kShort;
  b.start();
  ASSERT_TRUE(b.until_registered(2));
  b.start_run(b.two(), b.of_two);
  b.start_run(b.one(), b.of_one);
  b.one().is_silent = true;
  b.pass(StoppingParts::kEnough);
  b.one().is_silent = false;
  EXPECT_EQ(b.outcome_of(b.of_one), wire::RunOutcome::kLater);
  b.two().kill(b.of_two);
  EXPECT_EQ(b.outcome_of(b.of_two), wire::RunOutcome::kKilled);
}

TEST(SplitGroup, RunsStopWhenTheirOwnerIsLostAfterAnother) {
  StoppingParts b;
  b.one().lease = StoppingParts::kShort;
  b.two().lease = StoppingParts::kShort;
  b.start();
  ASSERT_TRUE(b.until_registered(2));
  b.one().is_silent = true;
  b.pass(StoppingParts::kEnough);
  b.start_run(b.two(), b.of_two);
  b.two().is_silent = true;
  b.pass(StoppingParts::kEnough);
  b.two().is_silent = false;
  EXPECT_EQ(b.outcome_of(b.of_two), wire::RunOutcome::kLater);
}

TEST(SplitGroup, RunsWithoutAnOwnerStopAfterTheLease) {
  StoppingParts b;
  b.one().lease = std::chrono::seconds{3};
  b.two().lease = StoppingParts::kShort;
  b.start();
  ASSERT_TRUE(b.until_registered(2));
  b.start_run(b.two(), b.of_two);
  b.two().redirects = true;
  b.two().knows_session = false;
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 2; }));
  b.pass(StoppingParts::kEnough);
  // Takes the result.
  b.own_from_now_on(0, {0, 1, 2, 3}, 2);
  EXPECT_EQ(b.outcome_of(b.of_two), wire::RunOutcome::kLater);
}

}  // namespace
}  // namespace carillon::tasktracker
