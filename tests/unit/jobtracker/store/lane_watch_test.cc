#include "jobtracker/store/lane_watch.h"

#include <gtest/gtest.h>

#include "jobtracker/store/beat_watch.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Looks at the database each kLook, and is answered at once.
struct LaneWatchBundle {
  LaneWatch watch;
  SteadyTime now{seconds{100}};

  void look(std::uint64_t commit) {
    now += kLook;
    watch.saw(commit, now, now);
  }
  void look_for(Duration time, std::uint64_t commit) {
    for (const SteadyTime end = now + time; now < end;) look(commit);
  }
};

TEST(LaneWatch, StandsStillOnceACommitHasTakenAsLongAsASilence) {
  LaneWatchBundle b;
  b.look(1);
  b.look_for(kSilence - kLook, 1);
  EXPECT_FALSE(b.watch.stands_still());
  b.look(1);
  EXPECT_TRUE(b.watch.stands_still());
  b.look(2);
  EXPECT_FALSE(b.watch.stands_still()) << "it has ended at last";
}

TEST(LaneWatch, DoesNotStandStillWhileCommitsEndOrThereAreNone) {
  LaneWatchBundle b;
  for (std::uint64_t commit = 1; commit < 9; ++commit) b.look_for(seconds{1}, commit);
  b.look_for(seconds{9}, 0);
  EXPECT_FALSE(b.watch.stands_still());
}

TEST(LaneWatch, DoesNotStandStillWhenTheDatabaseAnsweredNobody) {
  LaneWatchBundle b;
  b.look_for(seconds{1}, 1);
  b.now += seconds{5};
  b.look(1);
  EXPECT_FALSE(b.watch.stands_still());
  b.look_for(kSilence - kLook, 1);
  EXPECT_FALSE(b.watch.stands_still()) << "it has its time from then on";
  b.look(1);
  EXPECT_TRUE(b.watch.stands_still());
}

TEST(LaneWatch, CountsFromAnAnswerToAQuestion) {
  LaneWatch watch;
  const SteadyTime start{seconds{100}};
  watch.saw(1, start, start + milliseconds{900});
  watch.saw(1, start + milliseconds{1000}, start + milliseconds{1800});
  watch.saw(1, start + milliseconds{2390}, start + milliseconds{2400});
  EXPECT_FALSE(watch.stands_still());
  watch.saw(1, start + milliseconds{2400}, start + milliseconds{2410});
  EXPECT_TRUE(watch.stands_still());
}

}  // namespace
}  // namespace carillon::jobtracker
