#include "jobtracker/store/commit_stall_detector.h"

#include <gtest/gtest.h>

#include "jobtracker/store/heartbeat_watch.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Looks at the database each kLook, and is answered at once.
struct StallDetectorBundle {
  CommitStallDetector watch;
  SteadyTime now{seconds{100}};

  void look(std::uint64_t commit) {
    now += kLook;
    watch.saw(commit, now, now);
  }
  void look_for(Duration time, std::uint64_t commit) {
    for (const SteadyTime end = now + time; now < end;) look(commit);
  }
};

TEST(CommitStallDetector, IsStalledOnceACommitLastsForTheSilenceLimit) {
  StallDetectorBundle b;
  b.look(1);
  b.look_for(kSilence - kLook, 1);
  EXPECT_FALSE(b.watch.is_stalled());
  b.look(1);
  EXPECT_TRUE(b.watch.is_stalled());
  b.look(2);
  EXPECT_FALSE(b.watch.is_stalled()) << "it has ended at last";
}

TEST(CommitStallDetector, IsNotStalledWhileCommitsEndOrNoneIsPending) {
  StallDetectorBundle b;
  for (std::uint64_t commit = 1; commit < 9; ++commit) b.look_for(seconds{1}, commit);
  b.look_for(seconds{9}, 0);
  EXPECT_FALSE(b.watch.is_stalled());
}

TEST(CommitStallDetector, IsNotStalledWhenTheDatabaseAnswersNoQuery) {
  StallDetectorBundle b;
  b.look_for(seconds{1}, 1);
  b.now += seconds{5};
  b.look(1);
  EXPECT_FALSE(b.watch.is_stalled());
  b.look_for(kSilence - kLook, 1);
  EXPECT_FALSE(b.watch.is_stalled()) << "it has its time from then on";
  b.look(1);
  EXPECT_TRUE(b.watch.is_stalled());
}

TEST(CommitStallDetector, MeasuresFromAnAnswerToTheNextQuery) {
  CommitStallDetector watch;
  const SteadyTime start{seconds{100}};
  watch.saw(1, start, start + milliseconds{900});
  watch.saw(1, start + milliseconds{1000}, start + milliseconds{1800});
  watch.saw(1, start + milliseconds{2390}, start + milliseconds{2400});
  EXPECT_FALSE(watch.is_stalled());
  watch.saw(1, start + milliseconds{2400}, start + milliseconds{2410});
  EXPECT_TRUE(watch.is_stalled());
}

}  // namespace
}  // namespace carillon::jobtracker
