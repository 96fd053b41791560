// A worker whose node group was split: it works for several job trackers at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/job/bucket.h"
#include "tests/unit/tasktracker/worker_bundle.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two job trackers with two parts each, of four; and a job for each part.
struct PartsBundle : WorkerBundle {
  explicit PartsBundle(int threads = 4) : WorkerBundle(Options{.threads = threads, .trackers = 2}) {
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
};

TEST(Parts, OfAGroupAreWorkedForAtAllItsJobTrackers) {
  PartsBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  EXPECT_EQ(b.one().registrations[0].session, b.two().registrations[0].session);
  const auto first = PartsBundle::job_of(0);
  const auto second = PartsBundle::job_of(3);
  b.one().submit(first, WorkerBundle::handler("noop"));
  b.two().submit(second, WorkerBundle::handler("noop"));
  EXPECT_TRUE(b.until([&] { return b.one().result_of(first) && b.two().result_of(second); }));
  EXPECT_THAT(b.one().results, SizeIs(1));
  EXPECT_THAT(b.two().results, SizeIs(1));
}

TEST(Parts, OfOneWithoutAnyAreAskedForAgainAndAgain) {
  PartsBundle b;
  b.two().sends_elsewhere = true;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 2; }));
  b.two().sends_elsewhere = false;
  const auto job = PartsBundle::job_of(2);
  b.two().submit(job, WorkerBundle::handler("noop"));
  EXPECT_TRUE(b.until([&] { return b.two().result_of(job) != nullptr; }));
}

TEST(Parts, AreFoundThoughTheFirstJobTrackerHasNone) {
  PartsBundle b;
  b.one().sends_elsewhere = true;
  b.start();
  const auto job = PartsBundle::job_of(2);
  b.two().submit(job, WorkerBundle::handler("noop"));
  EXPECT_TRUE(b.until([&] { return b.two().result_of(job) != nullptr; }));
}

TEST(Parts, ThatGoToAnotherTakeTheirResultsThere) {
  PartsBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  const auto job = PartsBundle::job_of(1);
  b.one().submit(job, WorkerBundle::handler("hold", "500ms"));
  ASSERT_TRUE(b.until([&] { return b.holding == 1; }));
  b.one().disconnect();
  b.own_from_now_on(1, {0, 1, 2, 3}, 2);
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 2; }));
  EXPECT_THAT(b.two().registrations.back().holding, SizeIs(1)) << "so that it is adopted there";
  EXPECT_TRUE(b.until([&] { return b.two().result_of(job) != nullptr; }));
  EXPECT_THAT(b.one().results, IsEmpty());
}

TEST(Parts, AreTakenFromTheNewestOwnerOnly) {
  PartsBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  // It has taken all, and the other one does not know it yet.
  b.own_from_now_on(1, {0, 1, 2, 3}, 2);
  ASSERT_TRUE(b.until([&] { return b.two().registrations.size() >= 2; }));
  const auto old = PartsBundle::job_of(0);
  b.one().push(old, WorkerBundle::handler("noop"));
  const auto now = PartsBundle::job_of(0, old + 1);
  b.two().submit(now, WorkerBundle::handler("noop"));
  ASSERT_TRUE(b.until([&] { return b.two().result_of(now) != nullptr; }));
  EXPECT_EQ(b.one().result_of(old), nullptr);
  EXPECT_EQ(b.two().result_of(old), nullptr);
}

TEST(Parts, WithAllTheWorkGetAllThreads) {
  PartsBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  std::int64_t job = 0;
  for (int i = 0; i < 4; ++i) {
    job = PartsBundle::job_of(0, job + 1);
    b.one().submit(job, WorkerBundle::handler("hold", "60s"));
  }
  EXPECT_TRUE(b.until([&] { return b.holding == 4; }));
}

TEST(Parts, AreAllLeftAtTheEnd) {
  PartsBundle b;
  b.start();
  ASSERT_TRUE(b.until_both_know_it());
  const auto job = PartsBundle::job_of(3);
  b.two().submit(job, WorkerBundle::handler("hold", "200ms"));
  ASSERT_TRUE(b.until([&] { return b.holding == 1; }));
  b.worker->request_stop(std::chrono::seconds{30});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_NE(b.two().result_of(job), nullptr);
  EXPECT_TRUE(b.one().said_bye);
  EXPECT_TRUE(b.two().said_bye);
}

}  // namespace
}  // namespace carillon::tasktracker
