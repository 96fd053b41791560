#include "tasktracker/fetch/fetcher.h"

#include <deque>
#include <utility>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/tasktracker/attempt.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kTracker = 100;

wire::Registered registered(std::int64_t tracker_session = kTracker) {
  return {.lease = seconds{3}, .pull_interval = seconds{1}, .tracker_session = tracker_session};
}

// One worker with three threads, and what it sends.
struct FetcherBundle {
  ManualClock clock;
  Fetcher fetcher{FetcherConfig{
      .session = SessionId{7}, .name = "w", .group = "g", .allow = {"handler"}, .threads = 3}};
  std::vector<wire::AttemptId> waiting;

  SteadyTime now() const { return clock.steady_now(); }

  std::vector<wire::Message> take() {
    std::vector<wire::Message> messages;
    fetcher.take_messages(now(), messages, [this] { return waiting; });
    return messages;
  }
  // Requires: the only message is of this type.
  template <class Message>
  Message take_one() {
    std::vector<wire::Message> messages = take();
    EXPECT_THAT(messages, SizeIs(1));
    EXPECT_TRUE(std::holds_alternative<Message>(messages.at(0)));
    return std::get<Message>(messages.at(0));
  }
  wire::Pull take_pull() { return take_one<wire::Pull>(); }

  // Registered, and the first pull sent and answered.
  void start() {
    fetcher.on_connected();
    (void)take();
    fetcher.on_registered(registered(), now());
    answer(take_pull());
  }
  void answer(const wire::Pull& pull) { fetcher.on_pulled({pull.number}, now()); }
  std::vector<wire::HandedJob> hand_out(std::int64_t number, std::int64_t pull,
                                        std::vector<wire::AttemptId> ids,
                                        std::int64_t tracker_session = kTracker) {
    wire::HandOut hand_out{.session = SessionId{7},
                           .number = number,
                           .pull = pull,
                           .tracker_session = tracker_session};
    for (const wire::AttemptId& each : ids) hand_out.jobs.push_back({.id = each});
    const Result<SteadyTime> taken = fetcher.on_hand_out(hand_out, now());
    EXPECT_TRUE(taken.ok() || hand_out.jobs.empty());
    return hand_out.jobs;
  }
};

TEST(Fetcher, SendsNothingWithoutAConnection) {
  FetcherBundle b;
  EXPECT_THAT(b.take(), IsEmpty());
  EXPECT_EQ(b.fetcher.next_time(), std::nullopt);
}

TEST(Fetcher, RegistersOnConnectAndAgainWithoutAnAnswer) {
  FetcherBundle b;
  b.fetcher.on_connected();
  const auto first = b.take_one<wire::Register>();
  EXPECT_EQ(first.session, SessionId{7});
  EXPECT_EQ(first.threads, 3);
  EXPECT_THAT(b.take(), IsEmpty());
  b.clock.advance(seconds{1});
  (void)b.take_one<wire::Register>();
  // It may be slow, and each makes the answer to the one before worthless.
  b.clock.advance(seconds{1});
  EXPECT_THAT(b.take(), IsEmpty());
  b.clock.advance(seconds{1});
  (void)b.take_one<wire::Register>();
}

// The registration does not list its jobs, so whoever reads that may give them to somebody else.
TEST(Fetcher, RefusesAHandOutThatCrossesARegistration) {
  FetcherBundle b;
  b.start();
  b.fetcher.on_unknown_session();
  (void)b.take_one<wire::Register>();
  EXPECT_THAT(b.hand_out(5, 1, {id(1)}), IsEmpty());
  b.fetcher.on_registered(registered(), b.now());
  const wire::Pull pull = b.take_pull();
  EXPECT_EQ(pull.handout_seen, 5);
  ASSERT_TRUE(pull.holding.has_value());
  EXPECT_THAT(*pull.holding, IsEmpty());
}

TEST(Fetcher, RequestsOneJobPerThreadOnceRegistered) {
  FetcherBundle b;
  b.fetcher.on_connected();
  (void)b.take();
  b.fetcher.on_registered(registered(), b.now());
  const wire::Pull pull = b.take_pull();
  EXPECT_EQ(pull.number, 1);
  EXPECT_EQ(pull.window, 3);
  EXPECT_EQ(pull.handout_seen, 0);
}

TEST(Fetcher, PullsOncePerIntervalWhenIdle) {
  FetcherBundle b;
  b.start();
  b.clock.advance(milliseconds{999});
  EXPECT_THAT(b.take(), IsEmpty());
  EXPECT_EQ(b.fetcher.next_time(), b.now() + milliseconds{1});
  b.clock.advance(milliseconds{1});
  EXPECT_EQ(b.take_pull().number, 2);
}

TEST(Fetcher, ReportsTheLastAnsweredPull) {
  FetcherBundle b;
  b.start();
  b.clock.advance(seconds{1});
  const wire::Pull second = b.take_pull();
  EXPECT_EQ(second.answered, 1);
  b.clock.advance(seconds{1});
  EXPECT_EQ(b.take_pull().answered, 1);
  b.answer(second);
  b.clock.advance(seconds{1});
  EXPECT_EQ(b.take_pull().answered, 2);
}

// A hand-out that was sent after the answer, and before the pulls in between had come, is still on
// its way.
TEST(Fetcher, RegistrationDoesNotAnswerEarlierPulls) {
  FetcherBundle b;
  b.start();
  for (int i = 0; i < 2; ++i) {
    b.clock.advance(seconds{1});
    (void)b.take_pull();
  }
  b.clock.advance(seconds{1});
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(), b.now());
  EXPECT_EQ(b.take_pull().answered, 1);
  EXPECT_THAT(b.hand_out(1, 2, {id(1)}), SizeIs(1));
}

TEST(Fetcher, NewTrackerSessionHasAnsweredNoPull) {
  FetcherBundle b;
  b.start();
  b.fetcher.on_disconnected();
  b.fetcher.on_connected();
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(101), b.now());
  EXPECT_EQ(b.take_pull().answered, 0);
}

TEST(Fetcher, LeaseCountsFromWhenTheAnsweredPullWasSent) {
  FetcherBundle b;
  b.start();
  b.clock.advance(seconds{1});
  const wire::Pull pull = b.take_pull();
  b.clock.advance(milliseconds{900});
  b.answer(pull);
  b.clock.advance(milliseconds{2099});
  EXPECT_TRUE(b.fetcher.has_lease(b.now()));
  b.clock.advance(milliseconds{1});
  EXPECT_FALSE(b.fetcher.has_lease(b.now()));
}

TEST(Fetcher, FirstLeaseCountsFromWhenTheRegistrationWasSent) {
  FetcherBundle b;
  EXPECT_FALSE(b.fetcher.has_lease(b.now()));
  b.fetcher.on_connected();
  (void)b.take_one<wire::Register>();
  b.clock.advance(milliseconds{900});
  b.fetcher.on_registered(registered(), b.now());
  b.clock.advance(milliseconds{2099});
  EXPECT_TRUE(b.fetcher.has_lease(b.now()));
  b.clock.advance(milliseconds{1});
  EXPECT_FALSE(b.fetcher.has_lease(b.now()));
}

TEST(Fetcher, AcceptsAHandOutForARecentPull) {
  FetcherBundle b;
  b.start();
  b.clock.advance(milliseconds{2999});
  EXPECT_THAT(b.hand_out(1, 1, {id(1), id(2)}), SizeIs(2));
  EXPECT_EQ(b.fetcher.unfinished(), 2);
}

TEST(Fetcher, RefusesAHandOutForAnExpiredPull) {
  FetcherBundle b;
  b.start();
  b.clock.advance(seconds{3});
  EXPECT_THAT(b.hand_out(1, 1, {id(1)}), IsEmpty());
  EXPECT_FALSE(b.fetcher.is_holding(id(1)));
  EXPECT_EQ(b.fetcher.counts().refused, 1U);
}

TEST(Fetcher, HandOutExpiresWithTheLeaseOfItsPull) {
  FetcherBundle b;
  b.start();
  const SteadyTime first_pull = b.now();
  b.clock.advance(seconds{1});
  b.answer(b.take_pull());
  wire::HandOut hand_out{.session = SessionId{7},
                         .number = 1,
                         .pull = 1,
                         .jobs = {{.id = id(1)}},
                         .tracker_session = kTracker};
  const auto begin_before = b.fetcher.on_hand_out(hand_out, b.now());
  ASSERT_TRUE(begin_before.ok());
  EXPECT_EQ(begin_before.value(), first_pull + seconds{3});
}

TEST(Fetcher, TellsTheTrackerAtOnceAboutRefusedJobs) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 99, {id(1)});
  const wire::Pull pull = b.take_pull();
  ASSERT_TRUE(pull.holding.has_value());
  EXPECT_THAT(*pull.holding, IsEmpty());
  EXPECT_EQ(pull.handout_seen, 1);
}

TEST(Fetcher, RefusesAHandOutWithoutAPull) {
  FetcherBundle b;
  b.start();
  EXPECT_THAT(b.hand_out(1, 0, {id(1)}), IsEmpty());
}

TEST(Fetcher, RefusesAHandOutFromAnEarlierTrackerSession) {
  FetcherBundle b;
  b.start();
  b.fetcher.on_disconnected();
  b.fetcher.on_connected();
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(101), b.now());
  EXPECT_THAT(b.hand_out(900, 1, {id(1)}), IsEmpty());
  EXPECT_FALSE(b.fetcher.is_holding(id(1)));
  EXPECT_EQ(b.fetcher.counts().refused, 1U);
  EXPECT_EQ(b.take_pull().handout_seen, 0) << "the numbers of the new session are others";
  EXPECT_THAT(b.hand_out(1, 2, {id(1, 2)}, 101), SizeIs(1));
}

// A session may have taken a registration that was sent to the one before.
TEST(Fetcher, RegistersAgainWhenANewTrackerSessionHandsOutJobs) {
  FetcherBundle b;
  b.start();
  EXPECT_THAT(b.hand_out(1, 1, {id(1)}, 101), IsEmpty());
  b.clock.advance(seconds{4});
  EXPECT_THAT(b.hand_out(2, 1, {id(1, 2)}, 101), IsEmpty());
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(101), b.now());
  EXPECT_THAT(b.hand_out(3, b.take_pull().number, {id(1, 3)}, 101), SizeIs(1));
}

TEST(Fetcher, SkipsAnAttemptThatItAlreadyHolds) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1)});
  EXPECT_THAT(b.hand_out(2, 1, {id(1), id(1, 2)}), SizeIs(1));
  EXPECT_EQ(b.fetcher.counts().duplicates, 1U);
  EXPECT_EQ(b.fetcher.unfinished(), 2);
}

TEST(Fetcher, IgnoresARepeatedHandOutAfterItsJobWasConfirmed) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1)});
  b.fetcher.on_finished(id(1), milliseconds{1});
  b.fetcher.on_confirmed(id(1));
  EXPECT_THAT(b.hand_out(1, 1, {id(1)}), IsEmpty());
  EXPECT_EQ(b.fetcher.counts().duplicates, 1U);
  EXPECT_EQ(b.fetcher.held(), 0U);
  EXPECT_THAT(b.hand_out(2, 1, {id(2)}), SizeIs(1));
}

TEST(Fetcher, PullsAtOnceWhenAThreadBecomesFree) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1), id(2), id(3)});
  EXPECT_THAT(b.take(), IsEmpty());
  b.fetcher.on_finished(id(1), seconds{1});
  const wire::Pull pull = b.take_pull();
  EXPECT_EQ(pull.window, 1);
  EXPECT_EQ(pull.handout_seen, 1);
}

TEST(Fetcher, SendsOneEarlyPullAtATime) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1), id(2), id(3)});
  b.fetcher.on_finished(id(1), seconds{1});
  const wire::Pull pull = b.take_pull();
  b.fetcher.on_finished(id(2), seconds{1});
  EXPECT_THAT(b.take(), IsEmpty());
  b.answer(pull);
  EXPECT_EQ(b.take_pull().window, 2);
}

TEST(Fetcher, SendsAnotherPullWhenAnEarlyPullStaysUnanswered) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1), id(2), id(3)});
  b.fetcher.on_finished(id(1), seconds{1});
  (void)b.take_pull();
  b.fetcher.on_finished(id(2), seconds{1});
  EXPECT_EQ(b.fetcher.next_time(), b.now() + milliseconds{20});
  b.clock.advance(milliseconds{20});
  EXPECT_EQ(b.take_pull().window, 2);
}

TEST(Fetcher, PrefetchesTenMillisecondsOfMeasuredRuns) {
  FetcherBundle b;
  b.start();
  EXPECT_EQ(b.fetcher.prefetch(), 0);
  (void)b.hand_out(1, 1, {id(1)});
  b.fetcher.on_finished(id(1), milliseconds{1});
  EXPECT_EQ(b.fetcher.prefetch(), 30);
  EXPECT_EQ(b.take_pull().window, 33);
}

TEST(Fetcher, PrefetchesNoMoreThanTheMaximum) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1)});
  b.fetcher.on_finished(id(1), Duration{0});
  EXPECT_EQ(b.fetcher.prefetch(), 512);
}

// Jobs of its own, one after the other.
void run_short_ones(FetcherBundle& b, int count) {
  for (int i = 0; i < count; ++i) {
    (void)b.hand_out(10 + i, 1, {id(1000 + i)});
    b.fetcher.on_finished(id(1000 + i), Duration{0});
  }
}

TEST(Fetcher, PrefetchesMoreAfterManyShortRuns) {
  FetcherBundle b;
  b.start();
  run_short_ones(b, 4095);
  EXPECT_EQ(b.fetcher.prefetch(), 512);
  (void)b.hand_out(9000, 1, {id(1), id(2)});
  b.fetcher.on_finished(id(1), Duration{0});
  EXPECT_EQ(b.fetcher.prefetch(), 1024);
  // As long as all that is fetched ahead may take: from there on one is long.
  b.fetcher.on_finished(id(2), milliseconds{10});
  (void)b.hand_out(9001, 1, {id(3)});
  for (int i = 0; i < 100; ++i) {
    (void)b.hand_out(9002 + i, 1, {id(20000 + i)});
    b.fetcher.on_finished(id(20000 + i), Duration{0});
  }
  EXPECT_EQ(b.fetcher.prefetch(), 512);
}

TEST(Fetcher, DelaysThePullWhileTheQueueFeedsTheThreads) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1)});
  b.fetcher.on_finished(id(1), milliseconds{1});
  b.answer(b.take_pull());
  std::vector<wire::AttemptId> many;
  for (int i = 100; i < 133; ++i) many.push_back(id(i));
  (void)b.hand_out(2, 2, many);
  for (int i = 100; i < 107; ++i) b.fetcher.on_finished(id(i), milliseconds{1});
  EXPECT_THAT(b.take(), IsEmpty());
  b.fetcher.on_finished(id(107), milliseconds{1});
  EXPECT_EQ(b.take_pull().window, 8);
}

TEST(Fetcher, PrefetchesNothingAfterGivingJobsBack) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1), id(2)});
  b.fetcher.on_finished(id(1), milliseconds{1});
  b.fetcher.on_given_back({id(2)});
  EXPECT_EQ(b.fetcher.prefetch(), 0);
  EXPECT_EQ(b.fetcher.unfinished(), 0);
  EXPECT_FALSE(b.fetcher.is_holding(id(2)));
  EXPECT_EQ(b.take_pull().window, 3);
}

TEST(Fetcher, ReportsTheJobsItHoldsOncePerSecond) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1), id(2), id(3)});
  b.fetcher.on_finished(id(3), seconds{1});
  EXPECT_FALSE(b.take_pull().holding.has_value());
  b.waiting = {id(2)};
  b.clock.advance(seconds{1});
  const wire::Pull pull = b.take_pull();
  ASSERT_TRUE(pull.holding.has_value());
  std::vector<std::pair<std::int64_t, bool>> held;
  for (const wire::Held& each : *pull.holding)
    held.emplace_back(each.id.job_id.value, each.started);
  EXPECT_THAT(held, ElementsAre(std::pair{1, true}, std::pair{2, false}, std::pair{3, true}));
}

TEST(Fetcher, HoldsAJobUntilItsResultIsConfirmed) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1)});
  b.fetcher.on_confirmed(id(1));
  EXPECT_TRUE(b.fetcher.is_holding(id(1))) << "it still runs";
  b.fetcher.on_finished(id(1), seconds{1});
  EXPECT_TRUE(b.fetcher.is_holding(id(1)));
  b.fetcher.on_confirmed(id(1));
  EXPECT_FALSE(b.fetcher.is_holding(id(1)));
}

TEST(Fetcher, RegistersAgainWithHeldJobsWhenItsSessionIsUnknown) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(1, 1, {id(1), id(2)});
  b.fetcher.on_finished(id(1), seconds{1});
  b.fetcher.on_unknown_session();
  EXPECT_THAT(b.take_one<wire::Register>().holding, SizeIs(2));
  EXPECT_EQ(b.fetcher.counts().sessions_unknown, 1U);
}

TEST(Fetcher, RestartsHandOutNumbersAfterATrackerRestart) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(41, 1, {id(1)});
  b.fetcher.on_disconnected();
  b.fetcher.on_connected();
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(101), b.now());
  EXPECT_EQ(b.take_pull().handout_seen, 0);
}

// Its list has told that session by then that it has them not.
TEST(Fetcher, RefusedHandOutStaysRefusedAfterRegisteringWithItsSession) {
  FetcherBundle b;
  b.start();
  EXPECT_THAT(b.hand_out(4, 1, {{JobId{1}, 1}}, kTracker + 1), IsEmpty());
  EXPECT_THAT(b.hand_out(9, 1, {{JobId{2}, 1}}, kTracker - 1), IsEmpty());
  b.fetcher.on_unknown_session();
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(kTracker + 1), b.now());
  const wire::Pull pull = b.take_pull();
  EXPECT_EQ(pull.handout_seen, 4);
  EXPECT_THAT(b.hand_out(4, pull.number, {{JobId{1}, 1}}, kTracker + 1), IsEmpty());
  EXPECT_THAT(b.hand_out(5, pull.number, {{JobId{1}, 2}}, kTracker + 1), SizeIs(1));
}

// Sessions of job trackers are drawn at random (Host::prepare()): a newer one may have a lower
// number.
TEST(Fetcher, RefusedHandOutStaysRefusedWhateverTheSessionNumber) {
  FetcherBundle b;
  b.start();
  // A late one of a session of long ago, whose number happens to be high.
  EXPECT_THAT(b.hand_out(9, 1, {{JobId{2}, 1}}, kTracker + 5), IsEmpty());
  // The next session of its job tracker.
  EXPECT_THAT(b.hand_out(4, 1, {{JobId{1}, 1}}, kTracker - 1), IsEmpty());
  b.fetcher.on_unknown_session();
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(kTracker - 1), b.now());
  const wire::Pull pull = b.take_pull();
  EXPECT_EQ(pull.handout_seen, 4);
  EXPECT_THAT(b.hand_out(4, pull.number, {{JobId{1}, 1}}, kTracker - 1), IsEmpty());
}

TEST(Fetcher, ContinuesHandOutNumbersAfterAReconnect) {
  FetcherBundle b;
  b.start();
  (void)b.hand_out(41, 1, {id(1)});
  b.fetcher.on_disconnected();
  b.fetcher.on_connected();
  (void)b.take_one<wire::Register>();
  b.fetcher.on_registered(registered(), b.now());
  const wire::Pull pull = b.take_pull();
  EXPECT_EQ(pull.handout_seen, 41);
  EXPECT_EQ(pull.number, 2);
}

TEST(Fetcher, RegistersAgainAfterALeaseWithoutAnAnswer) {
  FetcherBundle b;
  b.start();
  for (int i = 0; i < 2; ++i) {
    b.clock.advance(seconds{1});
    (void)b.take_pull();
  }
  b.clock.advance(seconds{1});
  (void)b.take_one<wire::Register>();
  EXPECT_FALSE(b.fetcher.is_registered());
}

// Registers, is refused, and tries again after just so long.
void is_refused_for(FetcherBundle& b, Duration wait) {
  (void)b.take_one<wire::Register>();
  b.fetcher.on_refused(b.now());
  b.clock.advance(wait - milliseconds{1});
  EXPECT_THAT(b.take(), IsEmpty());
  b.clock.advance(milliseconds{1});
}

TEST(Fetcher, RetriesARefusedRegistrationQuicklyAndThenSlowsDown) {
  FetcherBundle b;
  b.fetcher.on_connected();
  for (int i = 0; i < 10; ++i) is_refused_for(b, milliseconds{15});
  for (int i = 0; i < 3; ++i) is_refused_for(b, milliseconds{250});
}

TEST(Fetcher, RetriesQuicklyAgainAfterASuccessfulRegistration) {
  FetcherBundle b;
  b.fetcher.on_connected();
  for (int i = 0; i < 10; ++i) is_refused_for(b, milliseconds{15});
  is_refused_for(b, milliseconds{250});
  b.start();
  b.fetcher.on_unknown_session();
  is_refused_for(b, milliseconds{15});
}

TEST(Fetcher, RequestsNoJobsOnceToldToTakeNone) {
  FetcherBundle b;
  b.start();
  b.fetcher.set_taking(false);
  EXPECT_EQ(b.take_pull().window, 0);
  EXPECT_THAT(b.take(), IsEmpty());
}

TEST(Fetcher, ReportsOverloadAtOnceAndWithEachPull) {
  FetcherBundle b;
  b.start();
  b.fetcher.set_taking(false, "cpu 97%");
  EXPECT_EQ(b.take_pull().overload, "cpu 97%");
  b.fetcher.set_taking(false, "cpu 97%");
  EXPECT_THAT(b.take(), IsEmpty());
  b.fetcher.set_taking(true);
  EXPECT_EQ(b.take_pull().overload, "");
}

TEST(Fetcher, ReportsDrainingAtOnceAndInEveryLaterPull) {
  FetcherBundle b;
  b.start();
  b.fetcher.drain();
  const wire::Pull pull = b.take_pull();
  EXPECT_TRUE(pull.draining);
  EXPECT_EQ(pull.window, 0);
  b.fetcher.set_taking(false, "cpu 97%");
  EXPECT_TRUE(b.take_pull().draining);
}

// A job tracker that hands out as much as the newest pull it knows allows, on a line that is slow
// in both directions.
class SlowTracker {
 public:
  explicit SlowTracker(std::uint64_t seed) : random_(seed) {}

  void on_pull(const wire::Pull& pull) {
    newest_pull_ = pull.number;
    credit_ = pull.window;
    for (const auto& [number, jobs] : sent_) {
      if (number > pull.handout_seen) credit_ -= jobs;
    }
  }
  std::optional<wire::HandOut> hand_out() {
    if (credit_ <= 0) return std::nullopt;
    const int jobs = 1 + static_cast<int>(random_.next() % static_cast<std::uint64_t>(credit_));
    wire::HandOut hand_out{.session = SessionId{7},
                           .number = ++number_,
                           .pull = newest_pull_,
                           .tracker_session = kTracker};
    for (int i = 0; i < jobs; ++i) hand_out.jobs.push_back({.id = id(++last_job_)});
    credit_ -= jobs;
    sent_.emplace_back(number_, jobs);
    return hand_out;
  }
  std::int64_t handed() const { return last_job_; }

 private:
  SeededRandom random_;
  std::int64_t newest_pull_ = 0;
  int credit_ = 0;
  std::int64_t number_ = 0;
  std::int64_t last_job_ = 0;
  std::vector<std::pair<std::int64_t, int>> sent_;
};

class CrossingMessages : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(CrossingMessages, NeverBringMoreJobsThanThereAreThreads) {
  FetcherBundle b;
  b.start();
  SeededRandom random(GetParam());
  SlowTracker tracker(GetParam() + 1);
  std::deque<wire::Pull> to_tracker{{.number = 1, .window = 3}};
  std::deque<wire::HandOut> to_worker;
  std::vector<wire::AttemptId> running;
  for (int step = 0; step < 20'000; ++step) {
    b.clock.advance(Duration{random.next() % 5000});
    for (wire::Message& message : b.take()) {
      if (auto* pull = std::get_if<wire::Pull>(&message)) to_tracker.push_back(*pull);
    }
    if (!to_tracker.empty() && random.unit() < 0.3) {
      tracker.on_pull(to_tracker.front());
      b.answer(to_tracker.front());
      to_tracker.pop_front();
    }
    if (random.unit() < 0.5) {
      if (auto hand_out = tracker.hand_out()) to_worker.push_back(std::move(*hand_out));
    }
    if (!to_worker.empty() && random.unit() < 0.4) {
      ASSERT_TRUE(b.fetcher.on_hand_out(to_worker.front(), b.now()).ok());
      for (const wire::HandedJob& job : to_worker.front().jobs) running.push_back(job.id);
      to_worker.pop_front();
    }
    if (!running.empty() && random.unit() < 0.6) {
      b.fetcher.on_finished(running.back(), seconds{1});
      b.fetcher.on_confirmed(running.back());
      running.pop_back();
    }
    ASSERT_LE(b.fetcher.unfinished(), 3) << "step " << step;
  }
  EXPECT_GT(tracker.handed(), 2000) << "and they do bring jobs";
  EXPECT_EQ(b.fetcher.counts().refused, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CrossingMessages, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace carillon::tasktracker
