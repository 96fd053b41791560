#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/recurrence/recurrence.h"
#include "tests/support/tracker_bundle.h"

// Each fire has one recorded outcome, also when its job is suspended, cancelled or replaced.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeWorker;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::job_manual;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr Duration kInterval = seconds{10};

enum class Act : std::uint8_t { kSuspend, kCancel, kReplace };
constexpr std::array kActs{Act::kSuspend, Act::kCancel, Act::kReplace};

void call_off(TrackerBundle& bundle, Act act) {
  if (act == Act::kReplace) {
    JobSpec other = job_manual("a");
    other.replace_on_exist = true;
    EXPECT_EQ(bundle.submit(other).status, wire::SubmitStatus::kAccepted);
    return;
  }
  const auto verb = act == Act::kSuspend ? wire::Verb::kSuspend : wire::Verb::kCancel;
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(bundle.act(verb, "a")));
}

// The outcomes of each fire from `first` on, by its number; rows of no fire are left out.
std::map<std::int64_t, std::vector<LogState>> outcomes(TrackerBundle& bundle, WallTime first) {
  std::map<std::int64_t, std::vector<LogState>> found;
  for (const LogEntry& entry : bundle.log("a")) {
    if (!entry.final || (entry.trigger_time - first) % kInterval != Duration{}) continue;
    for (std::int64_t i = 0; i < entry.count; ++i)
      found[(entry.trigger_time - first) / kInterval + i].push_back(entry.state);
  }
  return found;
}

void expect_one_each(TrackerBundle& bundle, WallTime first, std::int64_t from, std::int64_t to) {
  const auto found = outcomes(bundle, first);
  for (std::int64_t fire = from; fire <= to; ++fire) {
    const auto one = found.find(fire);
    ASSERT_TRUE(one != found.end()) << "fire " << fire << '\n' << bundle.story("a");
    EXPECT_THAT(one->second, SizeIs(1)) << "fire " << fire << '\n' << bundle.story("a");
  }
}

struct Fires {
  WallTime first{};
  WallTime fire(std::int64_t number) const { return first + number * kInterval; }
};

// Every ten seconds; with a worker the first run takes 125 s.
Fires begin(TrackerBundle& bundle, Overlap overlap, bool has_worker) {
  if (has_worker) runs_take(bundle.add_worker({.threads = 1}), seconds{125});
  bundle.run_for(seconds{1});
  JobSpec job = job_every("a", kInterval);
  job.overlap = overlap;
  job.schedule.first = bundle.now() + seconds{5};
  bundle.submit(job);
  return {.first = *job.schedule.first};
}

TEST(CancelledFire, EachEarlierFireHasOneOutcome) {
  for (const Act act : kActs) {
    for (const Overlap overlap :
         {Overlap::kSkip, Overlap::kQueueOne, Overlap::kQueue, Overlap::kParallel}) {
      for (const bool runs : {true, false}) {
        SCOPED_TRACE(::testing::Message() << "act " << static_cast<int>(act) << " overlap "
                                          << static_cast<int>(overlap) << " runs " << runs);
        TrackerBundle bundle;
        const Fires fires = begin(bundle, overlap, runs);
        bundle.run_to(fires.fire(6) + seconds{5});
        call_off(bundle, act);
        bundle.run_for(minutes{5});
        expect_one_each(bundle, fires.first, 0, 6);
        auto found = outcomes(bundle, fires.first);
        found.erase(found.begin(), found.upper_bound(6));
        // With nothing due to record it by, a cancellation is of the first fire that does not come.
        const bool has_due = !runs || overlap != Overlap::kSkip;
        EXPECT_THAT(found, SizeIs(act == Act::kCancel && !has_due ? 1 : 0)) << bundle.story("a");
      }
    }
  }
}

// While a cancellation waits for a store that is slow, none begins that it does not know of.
TEST(CancelledFire, NoRunStartsWhileItsCancellationIsBeingStored) {
  TrackerBundle::Options options;
  options.tracker.batcher.rows_min = options.tracker.batcher.rows_max = 1;
  TrackerBundle bundle(options);
  FakeWorker& worker = bundle.add_worker({.threads = 20});
  runs_take(worker, minutes{5});
  bundle.run_for(seconds{1});
  JobSpec job = job_every("a", seconds{1});
  job.overlap = Overlap::kParallel;
  bundle.submit(job);
  bundle.run_for(milliseconds{3500});
  bundle.connection().work_time = [] { return milliseconds{2300}; };
  bundle.run_for(seconds{1});
  const std::size_t begun = bundle.runs().size();
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(bundle.act(wire::Verb::kCancel, "a")));
  bundle.run_for(minutes{10});
  EXPECT_LE(bundle.runs().size(), begun + 1) << "one was claimed before\n" << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(CancelledFire, SkippedFiresShareOneHistoryRow) {
  TrackerBundle bundle;
  const Fires fires = begin(bundle, Overlap::kSkip, true);
  bundle.run_to(fires.fire(6) + seconds{5});
  call_off(bundle, Act::kSuspend);
  ASSERT_THAT(bundle.log("a"), SizeIs(1));
  const LogEntry row = bundle.log("a").front();
  EXPECT_EQ(row.state, LogState::kSkipped);
  EXPECT_EQ(row.trigger_time, fires.fire(1));
  EXPECT_EQ(row.count, 6);
  EXPECT_EQ(row.message, kRunBefore);
}

TEST(CancelledFire, RunOutlivingASuspensionSkipsOnlyFiresAfterTheResume) {
  for (const bool ends_while_suspended : {false, true}) {
    SCOPED_TRACE(ends_while_suspended);
    TrackerBundle bundle;
    const Fires fires = begin(bundle, Overlap::kSkip, true);
    bundle.run_to(fires.fire(6) + seconds{5});
    call_off(bundle, Act::kSuspend);
    const int resumed_after = ends_while_suspended ? 14 : 9;
    bundle.run_to(fires.fire(resumed_after) + seconds{5});
    EXPECT_TRUE(std::holds_alternative<wire::Acted>(bundle.act(wire::Verb::kResume, "a")));
    bundle.run_to(fires.fire(40));
    expect_one_each(bundle, fires.first, 0, 6);
    for (const auto& [fire, states] : outcomes(bundle, fires.first)) {
      EXPECT_TRUE(fire <= 6 || fire > resumed_after) << fire << '\n' << bundle.story("a");
    }
    const std::int64_t through = (bundle.runs().back().trigger_time - fires.first) / kInterval - 1;
    ASSERT_GT(through, resumed_after);
    expect_one_each(bundle, fires.first, resumed_after + 1, through);
  }
}

TEST(CancelledFire, CancelAfterSuspendRecordsNothingMore) {
  for (const bool runs : {true, false}) {
    SCOPED_TRACE(runs);
    TrackerBundle bundle;
    const Fires fires = begin(bundle, Overlap::kSkip, runs);
    bundle.run_to(fires.fire(6) + seconds{5});
    call_off(bundle, Act::kSuspend);
    bundle.run_for(seconds{3});
    call_off(bundle, Act::kCancel);
    bundle.run_for(minutes{5});
    expect_one_each(bundle, fires.first, 0, 6);
    EXPECT_THAT(outcomes(bundle, fires.first), SizeIs(7)) << bundle.story("a");
  }
}

TEST(CancelledFire, FireClaimedAheadOfTimeHasOneOutcome) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    for (const bool restarts : {false, true}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(overlap) << ' ' << restarts);
      TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{5}}}});
      bundle.add_worker({.threads = 2});
      const Fires fires = begin(bundle, overlap, false);
      bundle.run_to(fires.fire(1) - seconds{3});
      if (restarts) bundle.restart_after(milliseconds{500});
      bundle.run_to(fires.fire(1) - seconds{2});
      ASSERT_THAT(bundle.tables().executing, SizeIs(1));
      call_off(bundle, Act::kCancel);
      bundle.run_for(minutes{1});
      expect_one_each(bundle, fires.first, 0, 2);
      EXPECT_THAT(outcomes(bundle, fires.first), SizeIs(3)) << bundle.story("a");
      EXPECT_THAT(outcomes(bundle, fires.first)[2], ElementsAre(LogState::kCancelled));
    }
  }
}

TEST(CancelledFire, NoFireFollowsTheLastOfACountedSchedule) {
  for (const Act act : kActs) {
    SCOPED_TRACE(static_cast<int>(act));
    TrackerBundle bundle;
    runs_take(bundle.add_worker(), hours{1});
    bundle.run_for(seconds{1});
    JobSpec job = job_every("a", kInterval);
    job.schedule.count = 1;
    job.schedule.first = bundle.now() + seconds{5};
    bundle.submit(job);
    bundle.run_to(*job.schedule.first + seconds{65});
    call_off(bundle, act);
    bundle.run_for(hours{2});
    expect_one_each(bundle, *job.schedule.first, 0, 0);
    EXPECT_THAT(outcomes(bundle, *job.schedule.first), SizeIs(1)) << bundle.story("a");
  }
}

TEST(CancelledFire, FixedDelayScheduleSkipsNoFires) {
  for (const Act act : kActs) {
    for (const bool runs : {true, false}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(act) << ' ' << runs);
      TrackerBundle bundle;
      if (runs) runs_take(bundle.add_worker(), minutes{2});
      bundle.run_for(seconds{1});
      JobSpec job = job_fixed_delay("a", kInterval);
      job.schedule.first = bundle.now() + seconds{5};
      bundle.submit(job);
      bundle.run_to(*job.schedule.first + seconds{65});
      call_off(bundle, act);
      bundle.run_for(minutes{5});
      const LogState ended = act == Act::kCancel && runs ? LogState::kKilled
                             : runs                      ? LogState::kSucceeded
                                                         : LogState::kCancelled;
      EXPECT_THAT(outcomes(bundle, *job.schedule.first), ElementsAre(Pair(0, ElementsAre(ended))))
          << bundle.story("a");
    }
  }
}

TEST(CancelledFire, CronScheduleCountsItsSkippedFires) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), hours{1});
  bundle.submit(job_cron("a", "*/10 * * * * ?"));
  bundle.run_until([&] { return !bundle.runs().empty(); });
  const WallTime first = bundle.runs().front().trigger_time;
  bundle.run_to(first + seconds{65});
  call_off(bundle, Act::kReplace);
  bundle.run_for(hours{2});
  expect_one_each(bundle, first, 0, 6);
  EXPECT_THAT(outcomes(bundle, first), SizeIs(7)) << bundle.story("a");
}

}  // namespace
}  // namespace carillon::jobtracker
