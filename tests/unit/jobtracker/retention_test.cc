#include "jobtracker/retention.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A job tracker that keeps its history for ten seconds.
class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() : bundle_({.tracker = {.retention = {.log = seconds{10}}}}) {
    auto& worker = bundle_.add_worker({.threads = 1500});
    worker.behaviour = [](const auto&, const auto&) { return FakeRun{.time = milliseconds{1}}; };
    look_at_commits();
  }

  // The steps of each commit that has any, by how much they may delete.
  void look_at_commits() {
    bundle_.connection().on_commit = [this](const Batch& batch) {
      std::vector<std::int64_t> steps;
      for (const Operation& operation : batch.operations) {
        if (const auto* step = std::get_if<Purge>(&operation)) steps.push_back(step->limit);
      }
      if (!steps.empty()) commits_.push_back(std::move(steps));
    };
  }

  void run_jobs(std::size_t count) {
    const std::size_t ended_before = ended_;
    ended_ += count;
    while (count > 0) {
      const std::size_t some = std::min<std::size_t>(count, 1000);
      (void)bundle_.submit(std::vector<JobSpec>(some, job_now({})));
      count -= some;
    }
    ASSERT_TRUE(bundle_.run_until([&] {
      return bundle_.stat("attempts_ended_total") >= static_cast<std::int64_t>(ended_);
    })) << ended_before;
  }

  TrackerBundle bundle_;
  std::vector<std::vector<std::int64_t>> commits_;
  std::size_t ended_ = 0;
};

TEST_F(RetentionTest, DeletesExpiredRowsInSteps) {
  run_jobs(2500);
  commits_.clear();
  ASSERT_TRUE(bundle_.run_until([&] { return !commits_.empty(); }));
  bundle_.run_for(seconds{1});
  EXPECT_THAT(bundle_.log(), IsEmpty());
  EXPECT_THAT(commits_, SizeIs(3));
  EXPECT_THAT(commits_, Each(std::vector{Retention::kRowsLeast})) << "nothing ends meanwhile";
}

TEST_F(RetentionTest, SendsOneStepAtATimeDuringAStoreOutage) {
  run_jobs(10);
  commits_.clear();
  bundle_.connection().away_until = bundle_.clock.steady_now() + minutes{30};
  bundle_.run_for(minutes{40});
  EXPECT_THAT(commits_, Each(SizeIs(1)));
  EXPECT_THAT(bundle_.log(), IsEmpty()) << "and goes on afterwards";
}

TEST_F(RetentionTest, KeepsPaceWithEndingJobs) {
  run_jobs(6000);
  bundle_.run_for(seconds{15});
  commits_.clear();
  // A commit that is long beside what ends in it.
  bundle_.connection().work_time = [] { return milliseconds{400}; };
  ASSERT_TRUE(bundle_.run_until([&] { return !commits_.empty(); }));
  run_jobs(2000);
  std::int64_t most = 0;
  for (const auto& commit : commits_) {
    EXPECT_THAT(commit, SizeIs(1));
    most = std::max(most, commit.front());
  }
  EXPECT_GT(most, Retention::kRowsLeast);
  EXPECT_LE(most, Retention::kRowsMost);
}

}  // namespace
}  // namespace carillon::jobtracker
