#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

// A tracker that is asked to stop.
namespace carillon::jobtracker {
namespace {

using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Stop, AnswersRequestsBeingStoredAndAcceptsNoNewOnes) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(seconds{2});
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{2};
  JobSpec of_new_group = job_now("b");
  of_new_group.group = "new";
  const auto taken = bundle.client.submit({job_now("a")});
  const auto looked_up = bundle.client.submit({of_new_group});
  bundle.run_for(microseconds{500});
  bundle.tracker().stop();
  EXPECT_FALSE(bundle.tracker().is_ready());
  EXPECT_FALSE(bundle.tracker().is_idle());
  const auto late = bundle.client.submit({job_now("c")});
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tracker().is_idle(); }, seconds{5}));
  bundle.run_for(seconds{5});
  for (const auto sequence : {taken, looked_up}) {
    const auto* answer = std::get_if<wire::Submitted>(bundle.client.answer_to(sequence));
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(answer->answers[0].status, wire::SubmitStatus::kAccepted);
  }
  EXPECT_EQ(bundle.client.answer_to(late), nullptr) << "it was told to come again";
  EXPECT_THAT(bundle.waiting(), SizeIs(2));
  EXPECT_THAT(bundle.waiting("a"), SizeIs(1)) << "nothing is handed out any more";
}

// Ten minutes of fires ahead, a few of each definition at a time, would keep the store busy.
TEST(Stop, LeavesUnfinishedGenerationToTheNextSession) {
  TrackerBundle bundle;
  bundle.connection().work_time = [] { return milliseconds{10}; };
  JobSpec often = job_every("a", milliseconds{50});
  often.overlap = Overlap::kParallel;
  bundle.submit(often);
  bundle.run_for(milliseconds{100});
  ASSERT_LT(bundle.waiting("a").size(), 1000) << "some are left to be made";
  bundle.tracker().stop();
  EXPECT_TRUE(bundle.run_until([&] { return bundle.tracker().is_idle(); }, milliseconds{100}));
}

struct Nobody final : net::ServerReceiver {
  void on_frame(const net::Sender&, std::string_view) override {}
};

TEST(Stop, HandoverHandsOutNothingMore) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(seconds{2});
  bundle.submit(job_at("a", bundle.now() + seconds{3}));
  Nobody next;
  bundle.tracker().hand_over(next);
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  EXPECT_THAT(bundle.waiting("a"), SizeIs(1));
}

constexpr Duration kOnTheWay = microseconds{100};

// Node groups are about to change hands, and do so half a second later.
void let_go(TrackerBundle& bundle, net::ServerReceiver& next, bool makes_way) {
  bundle.tracker().expect_pause(true);
  bundle.run_for(milliseconds{500});
  makes_way ? bundle.tracker().hand_over(next) : bundle.tracker().stop();
  bundle.run_for(milliseconds{1});
}

void check_what_comes_due_soon(bool makes_way, std::int32_t parts) {
  SCOPED_TRACE((makes_way ? "makes way, parts " : "stops, parts ") + std::to_string(parts));
  TrackerBundle bundle({.start = false});
  ASSERT_TRUE(bundle.database.make_group("default", bundle.now()).ok());
  if (parts > 1) {
    const GroupSplit split{.group = "default", .parts = parts};
    ASSERT_TRUE(bundle.database.split_group(split, all_partitions(), bundle.now()).ok());
  }
  bundle.start_tracker();
  bundle.add_worker({.threads = 4});
  bundle.run_for(seconds{2});
  const WallTime at = bundle.now() + seconds{3};
  bundle.submit({job_at("soon", at), job_at("later", at + milliseconds{100})});
  bundle.run_to(at - milliseconds{600});
  Nobody next;
  let_go(bundle, next, makes_way);
  EXPECT_THAT(bundle.runs(), IsEmpty()) << "before its time";
  bundle.kill_tracker();
  bundle.run_to(at + milliseconds{200});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_EQ(bundle.runs_of("soon")[0].started_wall, at + kOnTheWay);
  EXPECT_EQ(bundle.runs_of("later")[0].started_wall, at + milliseconds{100} + kOnTheWay);
  bundle.start_tracker();
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(2)) << "the next session knows of them";
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Stop, SoonDueJobsReachTaskTrackersBeforehand) {
  for (const bool makes_way : {false, true}) {
    for (const std::int32_t parts : {1, 2}) check_what_comes_due_soon(makes_way, parts);
  }
}

TEST(Stop, SoonDueFiresReachTaskTrackersDuringGeneration) {
  TrackerBundle bundle;
  bundle.connection().work_time = [] { return milliseconds{10}; };
  bundle.add_worker({.threads = 16});
  JobSpec often = job_every("a", milliseconds{50});
  often.overlap = Overlap::kParallel;
  bundle.submit(often);
  bundle.run_for(milliseconds{500});
  Nobody next;
  let_go(bundle, next, false);
  ASSERT_LT(bundle.waiting("a").size(), 10'000) << "some are left to be made";
  const WallTime end = bundle.now();
  bundle.kill_tracker();
  bundle.run_for(milliseconds{300});
  EXPECT_GE(bundle.runs().back().started_wall, end + milliseconds{150});
}

// Its replacement waits for the change under way.
TEST(Stop, ReplacedFiresAreNotHandedOutEarlyDuringGeneration) {
  for (int moment = 0; moment < 6; ++moment) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    bundle.connection().work_time = [] { return milliseconds{20}; };
    bundle.add_worker({.threads = 16});
    JobSpec often = job_every("a", milliseconds{100});
    often.overlap = Overlap::kParallel;
    bundle.submit(often);
    bundle.run_for(seconds{2});
    bundle.tracker().expect_pause(true);
    bundle.run_for(milliseconds{500 + 7 * moment});
    JobSpec other = job_every("a", std::chrono::hours{10});
    other.replace_on_exist = true;
    other.schedule.first = bundle.now() + std::chrono::hours{1};
    const auto sequence = bundle.client.submit({other});
    bundle.run_for(milliseconds{45});
    bundle.tracker().stop();
    ASSERT_TRUE(bundle.run_until([&] { return bundle.client.answer_to(sequence) != nullptr; },
                                 milliseconds{400}));
    const WallTime replaced = bundle.now();
    bundle.kill_tracker();
    bundle.run_for(milliseconds{600});
    EXPECT_LE(bundle.runs().back().started_wall, replaced + milliseconds{1});
  }
}

TEST(Stop, EarlyHandOutsKeepTheirOrder) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 16});
  bundle.run_for(seconds{2});
  const WallTime at = bundle.now() + seconds{3};
  std::vector<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    JobSpec job = job_at("a" + std::to_string(i), at);
    job.priority = (7 * i) % 10;
    bundle.submit(job);
  }
  for (int priority = 0; priority < 10; ++priority) {
    expected.push_back("a" + std::to_string((3 * priority) % 10));
  }
  bundle.run_to(at - milliseconds{600});
  Nobody next;
  let_go(bundle, next, true);
  bundle.run_for(seconds{1});
  std::vector<std::string> ran;
  for (const auto& run : bundle.runs()) ran.push_back(run.task_id);
  EXPECT_EQ(ran, expected);
}

TEST(Stop, EarlyClaimingEndsWhenThePauseIsCancelled) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(seconds{2});
  bundle.tracker().expect_pause(true);
  bundle.run_for(milliseconds{10});
  bundle.tracker().expect_pause(false);
  const WallTime at = bundle.now() + seconds{3};
  bundle.submit(job_at("a", at));
  bundle.run_to(at - milliseconds{60});
  EXPECT_THAT(bundle.waiting("a"), SizeIs(1));
}

TEST(Stop, QueuedFiresKeepOrderAndTimeDuringEarlyClaiming) {
  for (const Overlap overlap : {Overlap::kQueue, Overlap::kQueueOne, Overlap::kCancelRunning}) {
    TrackerBundle bundle;
    bundle.add_worker({.threads = 4});
    JobSpec often = job_every("a", milliseconds{200});
    often.overlap = overlap;
    bundle.submit(often);
    bundle.run_for(seconds{2});
    bundle.tracker().expect_pause(true);
    bundle.run_for(seconds{2});
    std::vector<WallTime> fires;
    for (const auto& entry : bundle.log("a")) {
      fires.push_back(entry.trigger_time);
      EXPECT_EQ(entry.state, LogState::kSucceeded);
      EXPECT_LT(entry.started_at, entry.trigger_time + milliseconds{20});
    }
    EXPECT_GE(fires.size(), 19u);
    EXPECT_TRUE(std::is_sorted(fires.begin(), fires.end()));
  }
}

TEST(Stop, JobBeingSuspendedOrCancelledIsNotHandedOutEarly) {
  for (const auto verb : {wire::Verb::kSuspend, wire::Verb::kCancel}) {
    TrackerBundle bundle({.tracker = {.dispatcher = {.pause_claim_ahead = seconds{3}}}});
    bundle.add_worker({.threads = 2});
    bundle.submit(job_cron("a", "0 * * * * ?"));
    const WallTime at = std::chrono::ceil<std::chrono::minutes>(bundle.now());
    bundle.run_to(at - seconds{2});
    bundle.tracker().expect_pause(true);
    bundle.run_for(milliseconds{500});
    ASSERT_THAT(bundle.tables().executing, SizeIs(1)) << "claimed, and held until its time";
    bundle.connection().away_until = bundle.clock.steady_now() + milliseconds{100};
    bundle.client.act({.verb = verb, .group = "default", .task_id = "a"});
    bundle.run_for(milliseconds{1});
    bundle.tracker().stop();
    bundle.run_for(milliseconds{200});
    EXPECT_TRUE(bundle.tracker().is_idle());
    bundle.restart_after(milliseconds{100});
    bundle.run_for(seconds{10});
    EXPECT_THAT(bundle.runs(), IsEmpty());
  }
}

TEST(Stop, TaskTrackerThatCannotWaitGetsNoEarlyHandOut) {
  TrackerBundle bundle;
  std::vector<wire::Envelope> heard;
  const auto hear = [&](std::string_view frame) { heard.push_back(wire::decode(frame).value()); };
  const auto peer = bundle.network.connect({.on_frame = hear});
  const auto say = [&](wire::Message message) {
    bundle.network.send_to_server(peer, wire::encode({.correlation = 1, .message = message}));
  };
  say(wire::Register{.session = SessionId{5}, .name = "worker", .group = "default"});
  const WallTime at = bundle.now() + seconds{1};
  bundle.submit(job_at("a", at));
  say(wire::Pull{.session = SessionId{5}, .number = 1, .window = 4});
  bundle.run_to(at - milliseconds{600});
  Nobody next;
  let_go(bundle, next, true);
  EXPECT_THAT(bundle.tables().executing, SizeIs(1));
  for (const wire::Envelope& envelope : heard) {
    EXPECT_FALSE(std::holds_alternative<wire::HandOut>(envelope.message));
  }
}

TEST(Stop, SuspensionOverridesAnEarlyHandOut) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.pause_claim_ahead = seconds{3}}}});
  bundle.add_worker({.threads = 2});
  bundle.submit(job_cron("a", "0 * * * * ?"));
  const WallTime at = std::chrono::ceil<std::chrono::minutes>(bundle.now());
  bundle.run_to(at - milliseconds{2500});
  Nobody next;
  let_go(bundle, next, true);
  bundle.kill_tracker();
  bundle.start_tracker();
  bundle.run_for(milliseconds{1500});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(bundle.act(wire::Verb::kSuspend, "a")));
  ASSERT_LT(bundle.now(), at);
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  ASSERT_THAT(bundle.log("a"), SizeIs(1));
  EXPECT_EQ(bundle.log("a")[0].state, LogState::kCancelled);
  EXPECT_EQ(bundle.log("a")[0].attempt, 0);
}

TEST(Stop, IsAnnouncedToTaskTrackersAtOnce) {
  for (const bool makes_way : {false, true}) {
    SCOPED_TRACE(makes_way);
    TrackerBundle bundle;
    std::vector<wire::Envelope> heard;
    const auto hear = [&](std::string_view frame) { heard.push_back(wire::decode(frame).value()); };
    const auto peer = bundle.network.connect({.on_frame = hear});
    const wire::Register hello{.session = SessionId{5}, .name = "worker", .group = "default"};
    bundle.network.send_to_server(peer, wire::encode({.correlation = 1, .message = hello}));
    bundle.run_for(seconds{1});
    ASSERT_THAT(heard, SizeIs(1));
    Nobody next;
    makes_way ? bundle.tracker().hand_over(next) : bundle.tracker().stop();
    bundle.run_for(microseconds{500});
    ASSERT_THAT(heard, SizeIs(2));
    EXPECT_EQ(heard.back().correlation, 0u);
    // To turn to another job tracker, or to register here again.
    EXPECT_EQ(std::get<wire::ErrorReply>(heard.back().message).error.code,
              makes_way ? ErrorCode::kNotFound : ErrorCode::kUnavailable);
  }
}

TEST(Stop, DeclaresNoTaskTrackerDeadDuringAStoreOutage) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), seconds{60});
  bundle.run_for(seconds{2});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{1});
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{10};
  bundle.tracker().stop();
  bundle.run_for(seconds{12});
  EXPECT_THAT(bundle.log("a"), IsEmpty());
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
}

TEST(Stop, WithoutAStoreReadFinishesAtOnce) {
  TrackerBundle bundle({.start = false});
  bundle.start_tracker();
  bundle.tracker().stop();
  EXPECT_TRUE(bundle.tracker().is_idle());
}

}  // namespace
}  // namespace carillon::jobtracker
