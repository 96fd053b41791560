#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// A task tracker on which everything fails is handed little, if that is wanted; and no other one
// is.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::SizeIs;
using wire::RunOutcome;

constexpr int kAfter = 5;

// Two task trackers, and a new job each 100 ms, which is not tried again.
struct Two {
  explicit Two(int after = kAfter)
      : bundle({.tracker = {.dispatcher = {.isolation = {.after = after}}}}),
        healthy(bundle.add_worker({.name = "healthy"})),
        broken(bundle.add_worker({.name = "broken"})) {
    breaks(broken);
  }

  static void breaks(FakeWorker& worker) {
    worker.behaviour = [](const wire::HandedJob&, const JobSpec&) {
      return FakeRun{.outcome = RunOutcome::kException};
    };
  }
  static void mends(FakeWorker& worker) {
    worker.behaviour = [](const wire::HandedJob&, const JobSpec&) { return FakeRun{}; };
  }
  // As many runs as it began meanwhile.
  std::size_t begun_in(FakeWorker& worker, Duration time) {
    const std::size_t before = worker.runs().size();
    for (const auto end = bundle.now() + time; bundle.now() < end;) {
      bundle.submit(job_now("job-" + std::to_string(++jobs)));
      bundle.run_for(milliseconds{100});
    }
    return worker.runs().size() - before;
  }
  std::string state_of(const std::string& name) {
    for (const wire::Row& row : bundle.query({.what = "nodes"})) {
      if (std::get<std::string>(row.at(0).second) != name) continue;
      for (const auto& [field, value] : row) {
        if (field == "state") return std::get<std::string>(value);
      }
    }
    return "none";
  }

  TrackerBundle bundle;
  FakeWorker& healthy;
  FakeWorker& broken;
  int jobs = 0;
};

TEST(Isolation, IsolatedWorkerTriesOneJobAMinuteUntilOneSucceeds) {
  Two two;
  EXPECT_LE(two.begun_in(two.broken, seconds{30}), 2 * kAfter);
  EXPECT_EQ(two.state_of("broken"), "isolated");
  EXPECT_EQ(two.state_of("healthy"), "alive");
  EXPECT_EQ(two.bundle.stat("workers_isolated"), 1);
  EXPECT_LE(two.begun_in(two.broken, minutes{5}), 6U);
  EXPECT_GE(two.broken.runs().size(), kAfter + 4U) << "it is tried";

  Two::mends(two.broken);
  two.begun_in(two.broken, seconds{70});
  EXPECT_EQ(two.state_of("broken"), "alive");
  EXPECT_GE(two.begun_in(two.broken, seconds{10}), 30U) << "one like the other";
}

TEST(Isolation, IsOffByDefault) {
  Two two{0};
  EXPECT_GE(two.begun_in(two.broken, seconds{30}), 100U);
  EXPECT_EQ(two.state_of("broken"), "alive");
}

TEST(Isolation, FailingJobsAloneIsolateNoWorker) {
  Two two;
  Two::mends(two.broken);
  for (FakeWorker* worker : two.bundle.workers()) {
    worker->behaviour = [](const wire::HandedJob&, const JobSpec& spec) {
      const bool fails = spec.task_id.starts_with("bad");
      return FakeRun{.outcome = fails ? RunOutcome::kException : RunOutcome::kSucceeded};
    };
  }
  two.bundle.submit(job_every("good", seconds{10}));
  two.bundle.submit(job_every("bad", milliseconds{200}));
  two.bundle.submit(job_every("bad too", milliseconds{200}));
  two.bundle.run_for(minutes{3});
  EXPECT_EQ(two.bundle.stat("workers_isolated"), 0);
}

TEST(Isolation, FailuresOnAllWorkersIsolateNoWorker) {
  Two two;
  Two::breaks(two.healthy);
  two.begun_in(two.broken, seconds{30});
  EXPECT_EQ(two.bundle.stat("workers_isolated"), 0);
}

TEST(Isolation, LastWorkerOfAGroupGetsJobsThoughIsolated) {
  Two two;
  two.begun_in(two.broken, seconds{30});
  ASSERT_EQ(two.state_of("broken"), "isolated");
  two.healthy.die();
  two.bundle.run_for(seconds{5});
  EXPECT_GE(two.begun_in(two.broken, seconds{10}), 90U);
}

TEST(Isolation, TrialIsOneJobRegardlessOfItsOutcome) {
  Two two;
  two.begun_in(two.broken, seconds{30});
  ASSERT_EQ(two.state_of("broken"), "isolated");
  two.broken.behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.outcome = RunOutcome::kLater};
  };
  const std::size_t begun = two.begun_in(two.broken, minutes{3});
  EXPECT_GE(begun, 2U);
  EXPECT_LE(begun, 4U);
}

TEST(Isolation, ReregisteredWorkerStaysIsolated) {
  Two two;
  two.begun_in(two.broken, seconds{30});
  ASSERT_EQ(two.state_of("broken"), "isolated");
  two.broken.send_register_again();
  EXPECT_LE(two.begun_in(two.broken, seconds{20}), 1U);
  two.broken.freeze(seconds{10});
  EXPECT_LE(two.begun_in(two.broken, seconds{25}), 1U) << "it was dead meanwhile";
  EXPECT_EQ(two.state_of("broken"), "isolated");
}

TEST(Isolation, IsolatedWorkerGetsJobsWhileTheOthersDrain) {
  Two two;
  two.begun_in(two.broken, seconds{30});
  ASSERT_EQ(two.state_of("broken"), "isolated");
  two.healthy.behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = minutes{5}};
  };
  two.begun_in(two.broken, seconds{2});
  two.healthy.leave();
  EXPECT_GE(two.begun_in(two.broken, minutes{2}), 500U);
}

// What began before it was gone still succeeds.
TEST(Isolation, FailureOfASharedDependencyIsolatesNoWorker) {
  Two two;
  Two::mends(two.broken);
  two.healthy.behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = seconds{2}};
  };
  two.begun_in(two.broken, seconds{10});
  Two::breaks(two.healthy);
  Two::breaks(two.broken);
  two.begun_in(two.broken, seconds{20});
  EXPECT_EQ(two.bundle.stat("workers_isolated"), 0);
}

}  // namespace
}  // namespace carillon::jobtracker
