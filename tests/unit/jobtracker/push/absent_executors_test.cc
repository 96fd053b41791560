#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/query_pages.h"
#include "tests/unit/jobtracker/push/push_bundle.h"

// Executors at whose ports nobody listens, as those of which one may be restarted just now.
namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::array kRoutes{Route::kFirst, Route::kRound, Route::kFailover, Route::kBusyover,
                             Route::kShardingBroadcast};

TEST(AbsentExecutors, AreWaitedForIfThereAreNoOthers) {
  for (const Route route : kRoutes) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    auto& one = test.executor(kOne);
    test.executor(kTwo);
    test.bundle.executors.kill(kOne);
    test.bundle.executors.kill(kTwo);
    for (int i = 0; i < 5; ++i) test.submit(pushed("orders-" + std::to_string(i), route));
    test.bundle.run_for(minutes{1});
    EXPECT_THAT(test.bundle.tables().log, IsEmpty());
    one.is_up = true;
    test.bundle.run_for(seconds{3});
    const std::size_t shards = route == Route::kShardingBroadcast ? 2 : 1;
    EXPECT_THAT(one.taken, SizeIs(5 * shards));
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(test.ended("orders-" + std::to_string(i)).back(), LogState::kSucceeded);
  }
}

TEST(AbsentExecutors, AreShownAsTheReasonWhyAJobWaits) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.executor(kTwo);
  test.bundle.executors.kill(kOne);
  test.bundle.executors.kill(kTwo);
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{10});
  EXPECT_EQ(test.bundle.shown_reason("app", "orders"),
            "no program listens at the addresses of the executors of group 'app'");
  one.is_up = true;
  one.run_time = minutes{1};
  test.bundle.run_for(seconds{3});
  EXPECT_EQ(test.bundle.shown_reason("app", "orders"), "none");
}

TEST(AbsentExecutors, AreListedAsUnreachableNodes) {
  Pushed test;
  auto& one = test.executor(kOne);
  const auto state = [&] {
    const auto rows = test.bundle.query({.what = "nodes", .group = "app"});
    return carillon::testing::text_of(rows.at(0), "state");
  };
  EXPECT_EQ(state(), "alive");
  test.bundle.executors.kill(kOne);
  test.bundle.run_for(seconds{1});
  EXPECT_EQ(state(), "unreachable");
  one.is_up = true;
  test.bundle.run_for(seconds{3});
  EXPECT_EQ(state(), "alive");
}

TEST(AbsentExecutors, LeaveWaitingJobsToANewExecutor) {
  for (const Route route : kRoutes) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    test.executor(kOne);
    test.executor(kTwo);
    test.bundle.executors.kill(kOne);
    test.bundle.executors.kill(kTwo);
    test.submit(pushed("orders", route));
    test.bundle.run_for(seconds{10});
    auto& three = test.executor(kThree);
    test.bundle.run_for(seconds{2});
    const std::size_t shards = route == Route::kShardingBroadcast ? 3 : 1;
    EXPECT_THAT(three.taken, SizeIs(shards));
    EXPECT_EQ(test.ended("orders").back(), LogState::kSucceeded);
  }
}

TEST(AbsentExecutors, RunKilledJobsAgainHoweverLongTheyTakeToRestart) {
  for (const Route route : kRoutes) {
    for (const Duration away : {Duration{minutes{1}}, Duration{minutes{3}}}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(route) << " " << away.count());
      Pushed test;
      auto& one = test.executor(kOne);
      one.run_time = minutes{1};
      test.submit(pushed("orders", route));
      test.bundle.run_for(seconds{5});
      test.bundle.executors.kill(kOne);
      test.bundle.run_for(away);
      one.is_up = true;
      one.run_time = seconds{1};
      EXPECT_TRUE(test.register_at(kOne).ok());
      test.bundle.run_for(seconds{8});
      EXPECT_THAT(one.taken, SizeIs(2));
      EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
    }
  }
}

TEST(AbsentExecutors, AreWaitedForAcrossJobTrackerCrashes) {
  for (const Route route : kRoutes) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    auto& one = test.executor(kOne);
    test.keep_registering(kOne);
    test.bundle.executors.kill(kOne);
    test.submit(pushed("orders", route));
    for (int i = 0; i < 3; ++i) {
      test.bundle.run_for(seconds{10});
      test.bundle.restart_after(seconds{1});
    }
    test.bundle.run_for(seconds{10});
    one.is_up = true;
    EXPECT_TRUE(test.register_at(kOne).ok());
    test.bundle.run_for(seconds{8});
    EXPECT_THAT(one.taken, SizeIs(1));
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  }
}

// So that they are seen to wait, and a job tracker that is killed has called nobody.
TEST(AbsentExecutors, GetNoClaimedJobs) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.bundle.executors.kill(kOne);
  test.submit(pushed("first"));
  test.bundle.run_for(seconds{1});
  for (int i = 0; i < 100; ++i) test.submit(pushed("orders-" + std::to_string(i)));
  test.bundle.run_for(seconds{10});
  EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
  EXPECT_LT(one.paths.size(), 10) << "one beat every two seconds";
  one.is_up = true;
  EXPECT_TRUE(test.register_at(kOne).ok());
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(one.taken, SizeIs(101));
}

TEST(AbsentExecutors, AreNotCalledForCancelledOrExpiredJobs) {
  for (const Route route : kRoutes) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    auto& one = test.executor(kOne);
    test.bundle.executors.kill(kOne);
    JobSpec late = pushed("late", route);
    late.start_deadline = seconds{5};
    test.bundle.submit({pushed("cancelled", route), late});
    test.bundle.run_for(seconds{2});
    test.bundle.act({.verb = wire::Verb::kCancel, .group = "app", .task_id = "cancelled"});
    test.bundle.run_for(seconds{10});
    EXPECT_THAT(test.ended("late"), ElementsAre(LogState::kExpired));
    EXPECT_THAT(test.ended("cancelled"), ElementsAre(LogState::kCancelled));
    one.is_up = true;
    test.bundle.run_for(seconds{10});
    EXPECT_THAT(one.taken, IsEmpty());
  }
}

TEST(AbsentExecutors, AreNotWaitedForOnceTheyLeave) {
  for (const Route route : kRoutes) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    test.executor(kOne);
    test.bundle.executors.kill(kOne);
    test.submit(pushed("orders", route));
    test.bundle.run_for(minutes{2});
    EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
    auto& two = test.executor(kTwo);
    test.bundle.run_for(seconds{2});
    EXPECT_THAT(two.taken, SizeIs(1));
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  }
}

TEST(AbsentExecutors, FailJobsPinnedToThemIfOthersArePresent) {
  Pushed test;
  test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.bundle.executors.kill(kOne);
  JobSpec job = pushed("orders");
  job.push.addresses = {kOne};
  test.submit(job);
  test.submit(pushed("others"));
  test.bundle.run_for(seconds{5});
  EXPECT_THAT(two.taken, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kFailed));
}

// A port that refuses is one that a process may listen at in a moment; a refusal is an answer.
TEST(AbsentExecutors, AreNotWaitedForIfAnotherExecutorRefuses) {
  for (const Route route : kRoutes) {
    for (const bool hangs : {false, true}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(route) << " hangs " << hangs);
      Pushed test;
      test.executor(kOne);
      auto& two = test.executor(kTwo);
      two.hangs = hangs;
      two.refuses = "job handler [importOrders] not found.";
      test.bundle.executors.kill(kOne);
      JobSpec job = pushed("orders", route);
      job.timeout = seconds{1};
      test.submit(job);
      test.bundle.run_for(seconds{20});
      ASSERT_TRUE(test.has_ended("orders"));
      const bool runs_out_of_time = hangs && (route == Route::kFirst || route == Route::kRound);
      EXPECT_EQ(test.ended("orders").back(),
                runs_out_of_time ? LogState::kTimedOut : LogState::kFailed);
      EXPECT_LT(two.paths.size(), 20);
    }
  }
}

// Who is busy is asked once, and not until somebody else is there.
TEST(AbsentExecutors, AreNotWaitedForIfAnotherExecutorIsBusy) {
  Pushed test;
  test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.bundle.executors.kill(kOne);
  JobSpec job = pushed("orders", Route::kBusyover);
  job.schedule = {.kind = ScheduleKind::kManual};
  test.submit(job);
  two.running[1] = {.call = {.job_id = (1 << 29) + test.bundle.definition("orders")->id.value}};
  test.bundle.act({.verb = wire::Verb::kTrigger, .group = "app", .task_id = "orders"});
  test.bundle.run_for(seconds{5});
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kFailed));
  EXPECT_LT(two.paths.size(), 5);
}

TEST(AbsentExecutors, DoNotBlockOthersDespiteManyJobsPinnedToThem) {
  Pushed test;
  test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.keep_registering(kTwo);
  test.keep_registering(kOne);
  test.bundle.executors.kill(kOne);
  for (int i = 0; i < 11; ++i) {
    std::vector<JobSpec> jobs;
    for (int j = 0; j < 1000; ++j) {
      JobSpec job = pushed("pinned-" + std::to_string(i * 1000 + j));
      job.push.addresses = {kOne};
      jobs.push_back(job);
    }
    test.bundle.submit(std::move(jobs));
    test.bundle.run_for(seconds{1});
  }
  test.submit(pushed("free"));
  test.bundle.run_for(seconds{60});
  EXPECT_THAT(two.taken, SizeIs(1)) << "executing " << test.bundle.tables().executing.size();
}

TEST(AbsentExecutors, RunLostShardsAgainHoweverLongTheyTakeToRestart) {
  for (const Duration down : {Duration{seconds{60}}, Duration{minutes{3}}}) {
    SCOPED_TRACE(down.count());
    Pushed test;
    auto& one = test.executor(kOne);
    auto& two = test.executor(kTwo);
    one.run_time = two.run_time = minutes{1};
    test.submit(pushed("orders", Route::kShardingBroadcast));
    test.bundle.run_for(seconds{5});
    test.bundle.executors.kill(kOne);
    test.bundle.executors.kill(kTwo);
    test.bundle.run_for(down);
    one.is_up = two.is_up = true;
    one.run_time = two.run_time = seconds{1};
    (void)test.register_at(kOne);
    (void)test.register_at(kTwo);
    test.bundle.run_for(seconds{30});
    EXPECT_EQ(test.ended("orders").back(), LogState::kSucceeded) << test.bundle.story("orders");
  }
}

// One that may be called at one executor only holds up those that may be called elsewhere.
TEST(AbsentExecutors, DoNotBlockJobsBehindAJobPinnedToThem) {
  for (const Route route : kRoutes) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    test.executor(kOne);
    auto& two = test.executor(kTwo);
    test.keep_registering(kTwo);
    test.keep_registering(kOne);
    test.bundle.executors.kill(kOne);
    test.bundle.executors.kill(kTwo);
    JobSpec pinned = pushed("pinned");
    pinned.push.addresses = {kOne};
    test.bundle.submit({pinned, pushed("free-1", route), pushed("free-2", route)});
    test.bundle.run_for(seconds{10});
    two.is_up = true;
    test.bundle.run_for(seconds{60});
    const std::size_t shards = route == Route::kShardingBroadcast ? 2 : 1;
    EXPECT_THAT(two.taken, SizeIs(2 * shards))
        << test.bundle.story("free-1") << test.bundle.story("free-2");
  }
}

// Likewise, by their size: what executes holds 128 MiB at most.
TEST(AbsentExecutors, DoNotBlockOthersDespiteLargeJobsPinnedToThem) {
  Pushed test;
  test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.keep_registering(kTwo);
  test.keep_registering(kOne);
  test.bundle.executors.kill(kOne);
  for (int i = 0; i < 150; ++i) {
    JobSpec job = pushed("pinned-" + std::to_string(i));
    job.push.addresses = {kOne};
    job.payload = std::string(1'000'000, 'x');
    test.submit(job);
  }
  test.bundle.run_for(seconds{10});
  test.submit(pushed("free"));
  test.bundle.run_for(seconds{60});
  EXPECT_THAT(two.taken, SizeIs(1)) << "executing " << test.bundle.tables().executing.size();
}

// Another job tracker has created the group, and this one has read its executors first.
TEST(AbsentExecutors, AreAskedOnceTheirGroupIsKnown) {
  Pushed test;
  auto& one = test.bundle.executors.add(kOne);
  auto view = test.bundle.database.look(GroupId{});
  view.trackers.push_back({.session = SessionId{77}, .name = "other"});
  view.proven = test.bundle.clock.steady_now();
  test.bundle.tracker().on_cluster(view);
  const auto group = test.bundle.database.make_group("app", test.bundle.now());
  ASSERT_TRUE(group.ok());
  const GroupId id = group.value().id;
  const ExecutorRow row{.group = id, .address = kOne, .registered_at = test.bundle.now()};
  test.bundle.database.apply(
      {.operations = {PutExecutorGroup{.row = {.group = id}}, ChangeExecutor{row}}});
  test.bundle.run_for(seconds{3});
  EXPECT_THAT(one.paths, IsEmpty());
  view.groups = {group.value()};
  test.bundle.tracker().on_cluster(view);
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(one.paths, ElementsAre("beat"));
}

}  // namespace
}  // namespace carillon::jobtracker
