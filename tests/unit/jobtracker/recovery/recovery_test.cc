#include "jobtracker/recovery/recovery.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

// What a tracker finds again after it, or a worker, or the way between them has failed.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(Recovery, LiveWorkerKeepsItsRunsOverARestart) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.add_worker({.name = "idle"});
  runs_take(worker, seconds{30});
  bundle.run_for(seconds{1});
  for (int i = 0; i < 3; ++i) bundle.submit(job_now("a" + std::to_string(i)));
  bundle.run_for(seconds{2});
  bundle.restart_after(seconds{2});
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs(), SizeIs(3)) << "no run was repeated";
  for (const LogEntry& entry : bundle.log()) EXPECT_EQ(entry.state, LogState::kSucceeded);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Recovery, UndeliverableJobRunsOnAnotherWorkerWithoutCostingAnAttempt) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 4});
  bundle.run_for(seconds{2});
  worker.die();
  for (const char* task : {"a", "b", "c"}) bundle.submit(job_now(task));
  bundle.add_worker({.name = "other"});
  bundle.run_for(milliseconds{500});
  EXPECT_THAT(bundle.runs(), SizeIs(3));
  EXPECT_THAT(states(bundle.log()), Each(LogState::kSucceeded));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Recovery, StalledJobTrackerDeclaresNoWorkerDead) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, seconds{30});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  bundle.clock.advance(seconds{10});  // What the worker sent meanwhile is not read yet.
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_EQ(bundle.stat("workers_lost_total"), 0);
  EXPECT_TRUE(bundle.is_empty());
}

// The store and the way to the worker fail together, and both come back at about the same moment.
TEST(Recovery, ClaimCommittedWhileItsWorkerIsAwayIsNotLost) {
  for (Duration cut = milliseconds{4500}; cut < milliseconds{5600}; cut += milliseconds{10}) {
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    bundle.run_for(seconds{2});
    const WallTime at = bundle.now() + seconds{3};
    bundle.submit(job_at("a", at));
    bundle.run_to(at - milliseconds{200});
    bundle.connection().work_time = [] { return seconds{5}; };
    bundle.run_to(at - milliseconds{20});  // Its claim is under way.
    bundle.connection().work_time = [] { return milliseconds{1}; };
    worker.cut_off(cut);
    bundle.run_for(seconds{20});
    ASSERT_THAT(bundle.runs(), SizeIs(1)) << cut.count() << bundle.story("a");
    ASSERT_TRUE(bundle.is_empty()) << cut.count() << bundle.story("a");
  }
}

TEST(Recovery, ResultFinishedDuringDowntimeIsAcceptedAfterwards) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, seconds{5});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  bundle.restart_after(minutes{5});
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Recovery, JobsOfAVanishedWorkerRunAgainAfterOneLease) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, hours{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  bundle.kill_tracker();
  worker.die();
  bundle.run_for(seconds{1});
  bundle.start_tracker();
  bundle.add_worker({.name = "second"});
  bundle.run_for(seconds{2});
  EXPECT_THAT(bundle.runs(), SizeIs(1)) << "the first may still be on its way";
  bundle.run_for(seconds{3});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_EQ(bundle.runs()[1].id.attempt, 2);
}

TEST(Recovery, IdleTaskTrackerThatDiedDuringDowntimeIsMarkedGone) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(seconds{2});
  bundle.kill_tracker();
  worker.die();
  bundle.start_tracker();
  bundle.add_worker({.name = "second"});
  bundle.run_for(seconds{6});
  std::map<std::string, bool> alive;
  for (const auto& [session, node] : bundle.tables().nodes) alive[node.name] = node.alive;
  EXPECT_THAT(alive, UnorderedElementsAre(Pair("second", true), Pair(::testing::_, false)));
}

// The answers to its pulls, and its registration, are long on their way.
TEST(Recovery, UnregisteredWorkerThatPullsAfterARestartIsNotDead) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, hours{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  bundle.kill_tracker();
  worker.cut_off(seconds{6});
  bundle.start_tracker();
  bundle.add_worker({.name = "second"});
  const net::Peer peer = bundle.network.connect({.on_frame = [](auto) {}});
  for (std::int64_t number = 100; number < 106; ++number) {
    const wire::Pull pull{.session = worker.session(), .number = number};
    bundle.network.send_to_server(peer, wire::encode({0, pull}));
    bundle.run_for(seconds{1});
  }
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(1)) << bundle.story("a");
}

TEST(Recovery, SkipScheduleContinuesAfterItsWorkerAndJobTrackerDied) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, seconds{40});
  bundle.submit(job_every("a", seconds{30}));
  bundle.run_for(seconds{10});
  bundle.kill_tracker();
  worker.die();
  bundle.run_for(seconds{10});
  bundle.start_tracker();
  bundle.add_worker({.name = "second"});
  bundle.run_for(minutes{5});
  EXPECT_GE(bundle.runs().size(), 9U);
  EXPECT_LE(bundle.waiting("a").size(), 1U);
}

TEST(Recovery, LostHandOutIsRequeuedAndRunsOnce) {
  for (int moment = 0; moment < 10; ++moment) {  // Of the second between two pulls.
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    bundle.run_for(milliseconds{1500 + 100 * moment});
    worker.lose_frames(true);
    const SteadyTime lost = bundle.clock.steady_now();
    bundle.submit(job_now("a"));
    bundle.run_for(milliseconds{50});
    worker.lose_frames(false);
    bundle.run_for(seconds{10});
    ASSERT_THAT(bundle.runs(), SizeIs(1));
    EXPECT_EQ(bundle.runs()[0].id.attempt, 2);
    EXPECT_GE(bundle.runs()[0].started - lost, seconds{1});
    EXPECT_LE(bundle.runs()[0].started - lost, milliseconds{2010});
    EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded);
  }
}

TEST(Recovery, HandOutThatCrossesAGoodbyeIsNoLostRun) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(seconds{1});
  worker.lose_frames(true);
  bundle.submit(job_now("a"));
  bundle.run_for(milliseconds{100});
  worker.leave();
  bundle.add_worker({.name = "second"});
  bundle.run_for(seconds{2});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1)) << bundle.story("a");
  EXPECT_THAT(states(bundle.log("a")), ::testing::ElementsAre(LogState::kSucceeded));
}

// The hand-out was lost on the way, and the cancel is on its own to the store.
TEST(Recovery, GoodbyeDuringACancelLeavesNoLostRun) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(seconds{1});
  worker.lose_frames(true);
  bundle.submit(job_every("a", hours{1}));
  bundle.run_for(milliseconds{100});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{1};
  bundle.client.act({.verb = wire::Verb::kCancel, .group = "default", .task_id = "a"});
  bundle.run_for(milliseconds{100});
  worker.leave();
  bundle.run_for(milliseconds{100});
  worker.die();  // It does not wait for an answer, nor say it again.
  bundle.run_for(seconds{5});
  EXPECT_TRUE(bundle.is_empty());
  auto log = bundle.log("a");
  std::erase_if(log, [](const LogEntry& entry) { return !entry.job_id; });
  ASSERT_THAT(states(log), ::testing::ElementsAre(LogState::kCancelled));
  EXPECT_EQ(log.front().attempt, 0) << "none was made";
}

// Node groups are divided anew twice while its lease runs out.
TEST(Recovery, SilentTaskTrackerGetsOneLeaseInTotalOverSessions) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, hours{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  ASSERT_EQ(worker.busy(), 1);
  worker.die();
  const SteadyTime died = bundle.clock.steady_now();
  auto& second = bundle.add_worker({.name = "second"});
  runs_take(second, hours{1});
  bundle.run_for(milliseconds{1500});
  bundle.begin_next_session();
  bundle.run_for(seconds{1});
  EXPECT_TRUE(bundle.tracker().awaits_silent());
  bundle.begin_next_session();
  bundle.run_for(seconds{3});
  ASSERT_EQ(second.busy(), 1);
  EXPECT_LT(second.runs()[0].started - died, milliseconds{3500});
  EXPECT_FALSE(bundle.tracker().awaits_silent());
}

TEST(Recovery, NextSessionDeclaresNoLiveTaskTrackerDead) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, seconds{20});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  worker.freeze(milliseconds{2500});
  bundle.run_for(milliseconds{1400});
  bundle.begin_next_session();
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1)) << bundle.story("a");
}

TEST(Recovery, ReturnedWorkerKeepsItsNewRunsAfterBeingDeclaredDead) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(seconds{1});
  worker.cut_off(seconds{20});
  bundle.run_for(seconds{30});
  ASSERT_EQ(bundle.stat("workers_lost_total"), 1);
  runs_take(worker, minutes{5});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{1});
  EXPECT_EQ(worker.busy(), 1);
  bundle.run_for(minutes{6});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_THAT(states(bundle.log()), ::testing::ElementsAre(LogState::kSucceeded));
}

// Its claim is on its way to the store, which stands still, when its worker goes.
TEST(Recovery, ClaimForADepartedWorkerIsRequeuedAtOnce) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(milliseconds{1100});
  // Not when it is looked for the dead.
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{2} + milliseconds{30};
  bundle.client.submit({job_now("a")});
  bundle.run_for(milliseconds{100});
  worker.leave();
  bundle.run_for(milliseconds{100});
  EXPECT_TRUE(worker.is_alive()) << "nobody knows yet whether that claim is stored";
  bundle.add_worker({.name = "second"});
  const SteadyTime back = bundle.connection().away_until;
  bundle.run_for(seconds{4});
  EXPECT_FALSE(worker.is_alive());
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1)) << bundle.story("a");
  EXPECT_LT(bundle.runs_of("a")[0].started - back, milliseconds{20});
  EXPECT_THAT(states(bundle.log("a")), ::testing::ElementsAre(LogState::kSucceeded));
}

// The next session has never heard of it but by its goodbye.
TEST(Recovery, NextSessionRequeuesAClaimForADepartingWorker) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(seconds{1});
  worker.lose_frames(true);
  bundle.submit(job_now("a"));
  bundle.run_for(milliseconds{100});
  worker.die();
  bundle.begin_next_session();
  const SteadyTime begun = bundle.clock.steady_now();
  bundle.add_worker({.name = "second"});
  auto& messenger = bundle.add_worker({.name = "messenger", .group = "other"});
  bundle.run_for(milliseconds{100});
  messenger.send(wire::Bye{.session = worker.session()});  // As the first one would.
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1)) << bundle.story("a");
  EXPECT_LT(bundle.runs_of("a")[0].started - begun, seconds{1}) << "or else after a lease";
  EXPECT_THAT(states(bundle.log("a")), ::testing::ElementsAre(LogState::kSucceeded));
}

TEST(Recovery, LostHandOutsDoNotUseUpAWorkersCredit) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 2});
  bundle.run_for(milliseconds{1500});
  for (int i = 0; i < 10; ++i) bundle.client.submit({job_now("a" + std::to_string(i))});
  worker.lose_frames(true);
  bundle.run_for(milliseconds{400});
  worker.lose_frames(false);
  bundle.run_for(seconds{20});
  EXPECT_THAT(bundle.runs(), SizeIs(10));
  EXPECT_TRUE(bundle.is_empty());
}

// The worker asks to be registered again on a connection that stands, and a hand-out crosses that.
TEST(Recovery, HandOutCrossingARegistrationRunsOnOneWorkerOnly) {
  for (int moment = 0; moment < 40; ++moment) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    bundle.network.latency = [] { return milliseconds{1}; };
    auto& worker = bundle.add_worker({.name = "first", .threads = 1});
    runs_take(worker, seconds{10});
    bundle.run_for(seconds{2});
    bundle.client.submit({job_now("a")});
    bundle.run_for(microseconds{100 * moment});
    worker.send_register_again();
    auto& other = bundle.add_worker({.name = "other"});
    runs_take(other, seconds{10});
    bundle.run_for(seconds{8});
    EXPECT_THAT(bundle.runs(), SizeIs(1)) << "two live workers never run one job";
  }
}

// The list of what the worker holds is older than the hand-out, though it comes a lease after it.
TEST(Recovery, DelayedHandOutRunsOnOneWorkerOnly) {
  for (int moment = 0; moment < 40; ++moment) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker({.name = "first"});
    runs_take(worker, seconds{30});
    bundle.run_for(seconds{2} + milliseconds{25 * moment});
    const WallTime at = bundle.now() + seconds{3};
    bundle.submit(job_at("a", at));
    bundle.run_to(at - milliseconds{10});
    bundle.network.latency = [] { return milliseconds{1950}; };
    bundle.run_to(at + milliseconds{100});
    runs_take(bundle.add_worker({.name = "other"}), seconds{30});
    bundle.run_to(at + seconds{2});
    bundle.network.latency = [] { return microseconds{100}; };
    bundle.run_for(seconds{20});
    EXPECT_THAT(bundle.runs(), SizeIs(1)) << bundle.story("a");
    EXPECT_EQ(bundle.stat("workers_lost_total"), 0);
  }
}

// It was sent over a connection that has broken since, and comes after that of the next one.
TEST(Recovery, OvertakenRegistrationRequeuesNoRunningJob) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.name = "first"});
  runs_take(worker, seconds{30});
  bundle.run_for(seconds{1});
  worker.cut_off(milliseconds{10});
  bundle.run_for(seconds{1});
  bundle.submit(job_now("a"));
  bundle.run_for(milliseconds{100});
  const net::Peer old = bundle.network.connect({.on_frame = [](auto) {}});
  const wire::Register late{
      .session = worker.session(), .name = "first", .group = "default", .threads = 2, .number = 1};
  bundle.network.send_to_server(old, wire::encode({0, late}));
  runs_take(bundle.add_worker({.name = "other"}), seconds{30});
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(1)) << bundle.story("a");
}

// It lists nothing, for it is as old as the worker.
TEST(Recovery, RepeatedRegistrationRequeuesNoRunningJob) {
  for (const bool is_same_connection : {true, false}) {
    SCOPED_TRACE(is_same_connection);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker({.name = "first"});
    runs_take(worker, seconds{30});
    bundle.run_for(seconds{1});
    bundle.submit(job_now("a"));
    bundle.run_for(seconds{2});
    const wire::Register again{.session = worker.session(),
                               .name = "first",
                               .group = "default",
                               .threads = 2,
                               .number = 1};
    if (is_same_connection) {
      worker.send(again);
    } else {
      const net::Peer other = bundle.network.connect({.on_frame = [](auto) {}});
      bundle.network.send_to_server(other, wire::encode({0, again}));
    }
    runs_take(bundle.add_worker({.name = "other"}), seconds{30});
    bundle.run_for(seconds{10});
    EXPECT_THAT(bundle.runs(), SizeIs(1)) << bundle.story("a");
  }
}

// Over an older connection, or a second time, to the next session of the job tracker.
TEST(Recovery, PullOlderThanTheRegistrationRequeuesNoRunningJob) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.name = "first"});
  runs_take(worker, seconds{30});
  bundle.run_for(seconds{5});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  bundle.kill_tracker();
  bundle.start_tracker();
  // Before the first Pull of the registration.
  ASSERT_TRUE(bundle.run_until([&] { return bundle.stat("workers") == 1; }));
  const net::Peer older = bundle.network.connect({.on_frame = [](auto) {}});
  const wire::Pull pull{.session = worker.session(),
                        .number = 3,
                        .handout_seen = std::numeric_limits<std::int64_t>::max(),
                        .window = 2,
                        .holding = std::vector<wire::Held>{}};
  bundle.network.send_to_server(older, wire::encode({0, pull}));
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(1)) << bundle.story("a");
}

// Of a group in parts a task tracker works for several job trackers at a time: it may have
// registered with the next owner of a part just before it was handed a job of it.
TEST(Recovery, RegistrationInAPartitionedGroupRequeuesNoUndeliveredJob) {
  TrackerBundle bundle({.start = false});
  ASSERT_TRUE(bundle.database.make_group("default", bundle.now()).ok());
  ASSERT_TRUE(
      bundle.database.split_group({.group = "default", .parts = 2}, all_partitions(), bundle.now())
          .ok());
  bundle.start_tracker();
  auto& worker = bundle.add_worker({.name = "first"});
  runs_take(worker, seconds{30});
  bundle.run_for(seconds{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  ASSERT_THAT(bundle.runs(), SizeIs(1));
  bundle.kill_tracker();
  worker.cut_off(milliseconds{500});
  bundle.start_tracker();
  runs_take(bundle.add_worker({.name = "other"}), seconds{30});
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tracker().is_ready(); }));
  const net::Peer peer = bundle.network.connect({.on_frame = [](auto) {}});
  const wire::Register before{
      .session = worker.session(), .name = "first", .group = "default", .threads = 2};
  bundle.network.send_to_server(peer, wire::encode({0, before}));
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(1)) << bundle.story("a");
}

// Whoever looked after the part before may have heard of the task tracker all the time.
TEST(Recovery, TaskTrackerGetsAWholeLeaseAfterAPartitionTakeover) {
  TrackerBundle bundle({.start = false, .wanted = all_partitions()});
  ASSERT_TRUE(bundle.database.make_group("default", bundle.now()).ok());
  ASSERT_TRUE(
      bundle.database.split_group({.group = "default", .parts = 2}, all_partitions(), bundle.now())
          .ok());
  bundle.start_tracker();
  auto& worker = bundle.add_worker({.name = "first"});
  runs_take(worker, minutes{1});
  bundle.run_for(seconds{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.runs(), SizeIs(1));
  const auto part = partition_of(bundle.tables().executing.begin()->second.job.group);
  Partitions others = all_partitions();
  others.reset(static_cast<std::size_t>(part));
  bundle.begin_next_session(others);  // Another job tracker looks after the part.
  bundle.run_for(seconds{2});
  worker.cut_off(seconds{4});
  runs_take(bundle.add_worker({.name = "second"}), minutes{1});
  bundle.run_for(milliseconds{2500});
  bundle.begin_next_session();
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(1)) << bundle.story("a");
}

// What a worker sent comes again over a connection of which it does not know.
TEST(Recovery, RepeatedPullDoesNotMisdirectHandOuts) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(seconds{2});
  const net::Peer other = bundle.network.connect({.on_frame = [](auto) {}});
  for (const wire::Message& again :
       {wire::Message{wire::Pull{.session = worker.session(), .number = 1, .window = 2}},
        wire::Message{wire::Report{.session = worker.session()}},
        wire::Message{wire::GiveBack{.session = worker.session()}}}) {
    bundle.network.send_to_server(other, wire::encode({0, again}));
  }
  bundle.run_for(milliseconds{10});
  bundle.submit(job_now("a"));
  bundle.run_for(milliseconds{100});
  EXPECT_THAT(worker.runs(), SizeIs(1)) << "the next pull is not waited for";
}

TEST(Recovery, FrozenWorkerRefusesHandOutsForAnOldPull) {
  TrackerBundle bundle;
  auto& frozen = bundle.add_worker({.name = "frozen"});
  bundle.run_for(seconds{2});
  bundle.submit(job_now("warm"));
  bundle.run_for(seconds{1});
  ASSERT_THAT(frozen.handed(), SizeIs(1));
  frozen.freeze(seconds{10});
  bundle.submit(job_now("a"));
  bundle.run_for(milliseconds{10});
  bundle.add_worker({.name = "other"});
  bundle.run_for(seconds{8});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_EQ(bundle.runs_of("a")[0].worker, "other");
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_EQ(frozen.counts().refused, 1U);
}

TEST(Recovery, ASlowStoreNeverCausesASecondRun) {
  for (const bool is_shared : {false, true}) {
    TrackerBundle bundle({.is_shared = is_shared});
    auto& worker = bundle.add_worker({.threads = 4});
    runs_take(worker, milliseconds{300});
    bundle.add_worker({.name = "other", .threads = 4});
    bundle.run_for(seconds{1});
    for (int i = 0; i < 60; ++i) {
      bundle.client.submit({job_now("a" + std::to_string(i))});
      if (i % 20 == 0) bundle.connection().away_until = bundle.clock.steady_now() + seconds{9};
      bundle.run_for(milliseconds{200});
    }
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs(), SizeIs(60)) << is_shared;
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Recovery, CommitWithUnknownOutcomeRunsItsJobOnce) {
  for (const MemoryFault fault : {MemoryFault::kUnknownCommitted, MemoryFault::kUnknownLost}) {
    TrackerBundle bundle;
    bundle.add_worker();
    bundle.run_for(seconds{1});
    bundle.store().fail_next(fault);
    const auto answer = bundle.submit(job_now("a"));
    EXPECT_EQ(answer.status, wire::SubmitStatus::kAccepted);
    bundle.store().fail_next(fault);
    bundle.run_for(seconds{5});
    EXPECT_THAT(bundle.runs(), SizeIs(1));
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Recovery, FencedSessionStopsAndAnswersNoSubmission) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(seconds{1});
  MemoryStore other(bundle.database, {.session = SessionId{77}, .name = "other"}, bundle.clock);
  bundle.client.submit({job_now("a")});
  bundle.run_for(seconds{2});
  ASSERT_TRUE(bundle.fatal().has_value());
  EXPECT_FALSE(bundle.is_up());
  EXPECT_EQ(bundle.client.unanswered(), 1U);
  EXPECT_THAT(bundle.runs(), IsEmpty());
}

TEST(Recovery, ASecondWorkerSharesTheLoadAtOnce) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.name = "first"}), milliseconds{100});
  for (int i = 0; i < 200; ++i) bundle.client.submit({job_now("a" + std::to_string(i))});
  bundle.run_for(seconds{2});
  auto& second = bundle.add_worker({.name = "second"});
  runs_take(second, milliseconds{100});
  bundle.run_for(seconds{2});
  EXPECT_GE(second.runs().size(), 30U);
}

// ---- results that lay on the disk of a worker that died ----

// What a worker ran before it died, reported by another one.
wire::Message left_report(const FakeWorker& by, const FakeWorker& ran, wire::AttemptId id) {
  const WallTime started = ran.runs().at(0).started_wall;
  return wire::Report{
      .session = by.session(),
      .results = {{.id = id, .started_at = started, .ended_at = started + seconds{1}}},
      .origin = ran.session()};
}

// A worker runs job "a" and dies before anybody hears of it, while the tracker is down.
struct LeftResult {
  LeftResult() : dead(bundle.add_worker()) {
    runs_take(dead, seconds{1});
    dead.holds_reports = true;
    bundle.submit(job_now("a"));
    bundle.run_for(seconds{2});
    id = dead.runs().at(0).id;
    bundle.kill_tracker();
    dead.die();
    bundle.run_for(seconds{20});
    bundle.start_tracker();
  }

  TrackerBundle bundle;
  FakeWorker& dead;
  wire::AttemptId id{};
};

TEST(Recovery, ResultLeftByADeadWorkerPreventsARerun) {
  LeftResult left;
  auto& next = left.bundle.add_worker({.name = "next"});
  ASSERT_TRUE(left.bundle.run_until([&] { return next.is_registered(); }, seconds{3}));
  next.send(left_report(next, left.dead, left.id));
  left.bundle.run_for(minutes{1});
  EXPECT_THAT(left.bundle.runs(), SizeIs(1));
  EXPECT_THAT(states(left.bundle.log("a")), ::testing::ElementsAre(LogState::kSucceeded));
  EXPECT_THAT(next.confirmed(), ::testing::ElementsAre(left.id));
  EXPECT_EQ(left.bundle.stat("late_reports_total"), 0);
  EXPECT_TRUE(left.bundle.is_empty());
}

TEST(Recovery, ResultLeftByADeadWorkerCountsOnce) {
  LeftResult left;
  auto& next = left.bundle.add_worker({.name = "next"});
  ASSERT_TRUE(left.bundle.run_until([&] { return next.is_registered(); }, seconds{3}));
  for (int i = 0; i < 3; ++i) next.send(left_report(next, left.dead, left.id));
  left.bundle.run_for(minutes{1});
  EXPECT_THAT(left.bundle.log("a"), SizeIs(1));
  EXPECT_TRUE(left.bundle.is_empty());
}

TEST(Recovery, ResultLeftByADeadWorkerIsIgnoredAfterReruns) {
  LeftResult left;
  auto& next = left.bundle.add_worker({.name = "next"});
  runs_take(next, seconds{30});
  left.bundle.run_for(seconds{10});
  ASSERT_THAT(left.bundle.runs(), SizeIs(2)) << "a lease has passed";
  next.send(left_report(next, left.dead, left.id));
  left.bundle.run_for(seconds{1});
  EXPECT_THAT(next.confirmed(), ::testing::ElementsAre(left.id)) << "it need not be kept";
  EXPECT_EQ(left.bundle.stat("late_reports_total"), 1);
  left.bundle.run_for(minutes{1});
  EXPECT_THAT(states(left.bundle.log("a")),
              ::testing::ElementsAre(LogState::kLost, LogState::kSucceeded));
  EXPECT_TRUE(left.bundle.is_empty());
}

TEST(Recovery, ReportForTheWrongSessionChangesNothing) {
  LeftResult left;
  auto& next = left.bundle.add_worker({.name = "next"});
  ASSERT_TRUE(left.bundle.run_until([&] { return next.is_registered(); }, seconds{3}));
  next.send(wire::Report{
      .session = next.session(), .results = {{.id = left.id}}, .origin = SessionId{4711}});
  left.bundle.run_for(seconds{1});
  EXPECT_THAT(left.bundle.log("a"), IsEmpty());
  EXPECT_EQ(left.bundle.stat("late_reports_total"), 1);
}

}  // namespace
}  // namespace carillon::jobtracker
