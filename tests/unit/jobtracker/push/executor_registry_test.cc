#include "jobtracker/push/executor_registry.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Who is in service, whoever was told.
namespace carillon::jobtracker {
namespace {

using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ExecutorRegistry, ManuallyListedExecutorStaysListedThoughItDeregisters) {
  Pushed test;
  test.bundle.executors.add(kOne);
  wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
  act.addresses = {kOne};
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(test.bundle.act(std::move(act))));
  EXPECT_TRUE(test.register_at(kOne, true).ok());
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kOne);
}

const std::string kOneWithoutStroke = kOne.substr(0, kOne.size() - 1);

wire::Message list(Pushed& test, const std::vector<std::string>& addresses) {
  wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
  act.addresses = addresses;
  return test.bundle.act(std::move(act));
}

TEST(ExecutorRegistry, TrailingSlashOfAnAddressMakesNoSecondExecutor) {
  Pushed test;
  auto& one = test.executor(kOne);
  ASSERT_TRUE(test.register_at(kOneWithoutStroke).ok());
  EXPECT_THAT(test.bundle.tables().executors, SizeIs(1));
  JobSpec job = pushed("orders", Route::kShardingBroadcast);
  job.push.addresses = {kOneWithoutStroke, kOne};
  test.submit(job);
  ASSERT_TRUE(test.has_ended("orders"));
  ASSERT_THAT(one.calls, SizeIs(1));
  EXPECT_EQ(one.calls[0].shard_total, 1);
  EXPECT_EQ(test.bundle.log("orders")[0].state, LogState::kSucceeded);

  ASSERT_TRUE(test.register_at(kOneWithoutStroke, true).ok());
  EXPECT_THAT(test.bundle.tables().executors, IsEmpty());
}

TEST(ExecutorRegistry, OneAddressCreatesFiftyNewGroupsAnHour) {
  Pushed test;
  const auto register_app = [&](const std::string& app, const std::string& peer) {
    return test.ask(ExecutorRegistration{.app_name = app, .address = kOne, .peer = peer});
  };
  const std::string peer = "10.9.9.9";
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(register_app("app-" + std::to_string(i), peer).ok()) << i;
  }
  const Status refused = register_app("another", peer);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_THAT(refused.error().message, HasSubstr("10.9.9.9 has created 50 node groups in an hour"));
  EXPECT_TRUE(register_app("app-1", peer).ok()) << "it exists";
  EXPECT_TRUE(register_app("another", "10.9.9.8").ok());
  test.bundle.run_for(std::chrono::hours{1});
  EXPECT_TRUE(register_app("later", peer).ok());
  ASSERT_TRUE(
      test.ask(ExecutorRegistration{.removes = true, .app_name = "x", .address = kOne}).ok());
  for (const auto& [id, group] : test.bundle.tables().groups) EXPECT_NE(group.name, "x");
}

TEST(ExecutorRegistry, TaskTrackerGroupDoesNotBecomeAnExecutorGroup) {
  Pushed test;
  auto& worker = test.bundle.add_worker({.group = "app"});
  test.bundle.run_for(seconds{1});
  const auto refused = [&] {
    const Status status = test.register_at(kOne);
    const auto listed = list(test, {kOne});
    const auto* error = std::get_if<wire::ErrorReply>(&listed);
    EXPECT_EQ(status.ok(), error == nullptr);
    return !status.ok() && status.error().code == ErrorCode::kConflict &&
           error->error.message == status.error().message;
  };
  EXPECT_TRUE(refused());
  JobSpec job = carillon::testing::job_every("orders", minutes{1});
  job.group = "app";
  test.submit(job);
  worker.die();
  test.bundle.run_for(seconds{10});
  EXPECT_TRUE(refused()) << "they come back, and have jobs";
  test.bundle.act({.verb = wire::Verb::kCancel, .group = "app", .task_id = "orders"});
  EXPECT_FALSE(refused());
  EXPECT_THAT(test.bundle.tables().executors, SizeIs(1));
}

TEST(ExecutorRegistry, TaskTrackerGroupRefusesExecutorsAtEveryJobTracker) {
  TrackerBundle first({.wanted = all_partitions()});
  TrackerBundle second({.wanted = Partitions{}, .beside = &first});
  const auto refuses = [&](TrackerBundle& at) {
    std::optional<Status> answer;
    at.tracker().on_executor(ExecutorRegistration{.app_name = "app", .address = kOne},
                             [&](Status status) { answer = std::move(status); });
    first.run_for(seconds{5});
    return answer && !answer->ok() && answer->error().code == ErrorCode::kConflict;
  };
  JobSpec job = carillon::testing::job_every("orders", minutes{1});
  job.group = "app";
  first.submit(job);
  first.run_for(seconds{2});  // The other one knows of the group before it is served.
  first.add_worker({.group = "app"});
  first.run_for(seconds{2});
  EXPECT_TRUE(refuses(first));
  EXPECT_TRUE(refuses(second));
  EXPECT_THAT(first.tables().executors, IsEmpty());
}

TEST(ExecutorRegistry, NewGroupsExecutorsRegisterConcurrentlyAtDifferentJobTrackers) {
  TrackerBundle first({.wanted = all_partitions()});
  TrackerBundle second({.wanted = Partitions{}, .beside = &first});
  first.run_for(seconds{1});
  int stored = 0;
  const auto store = [&stored](const Status& status) { stored += status.ok() ? 1 : 0; };
  first.tracker().on_executor(ExecutorRegistration{.app_name = "app", .address = kOne}, store);
  first.run_for(milliseconds{20});
  second.tracker().on_executor(ExecutorRegistration{.app_name = "app", .address = kTwo}, store);
  first.run_for(seconds{5});
  EXPECT_EQ(stored, 2);
  EXPECT_THAT(first.tables().executors, SizeIs(2));
}

// Two job trackers, of which the second hears up to a second later what the first was told.
struct TwoJobTrackers {
  TrackerBundle first{{.wanted = all_partitions()}};
  TrackerBundle second{{.wanted = Partitions{}, .beside = &first}};

  TwoJobTrackers() { first.run_for(seconds{2}); }

  static void tell(TrackerBundle& at, const std::string& address, bool goes = false) {
    at.tracker().on_executor(
        ExecutorRegistration{.removes = goes, .app_name = "app", .address = address},
        [](const Status& status) { EXPECT_TRUE(status.ok()); });
  }
  void list(const std::vector<std::string>& addresses) {
    wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
    act.addresses = addresses;
    ASSERT_TRUE(std::holds_alternative<wire::Acted>(first.act(std::move(act))));
  }
};

TEST(ExecutorRegistry, TokenSurvivesAConcurrentRegistrationAtAnotherJobTracker) {
  TwoJobTrackers two;
  wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
  act.token = "secret";
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(two.first.act(std::move(act))));
  std::optional<Status> answer;
  two.second.tracker().on_executor(ExecutorRegistration{.app_name = "app", .address = kOne},
                                   [&](Status status) { answer = std::move(status); });
  two.first.run_for(seconds{5});
  ASSERT_TRUE(answer && answer->ok());
  ASSERT_THAT(two.first.tables().executor_groups, SizeIs(1));
  EXPECT_EQ(two.first.tables().executor_groups.begin()->second.token, "secret");
}

TEST(ExecutorRegistry, DeregistrationAtAnotherJobTrackerWinsOverARecentRegistration) {
  TwoJobTrackers two;
  two.tell(two.first, kTwo);
  two.first.run_for(seconds{5});
  two.tell(two.first, kOne);
  two.first.run_for(milliseconds{50});
  two.tell(two.second, kOne, true);
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.first.tables().executors, SizeIs(1));
}

// Both wait for the store, which stands still or is busy, and go with one batch.
TEST(ExecutorRegistry, DeregistrationWinsOverARegistrationInTheSameBatch) {
  TwoJobTrackers two;
  two.tell(two.first, kTwo);
  two.first.run_for(seconds{5});
  two.tell(two.first, kOne);
  two.tell(two.first, kOne, true);
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.first.tables().executors, SizeIs(1));
}

// Until the owner knows it calls, and who was told that its goodbye is taken refuses.
TEST(ExecutorRegistry, DeregistrationAtAnotherJobTrackerIsAnsweredOnceOwnerKnows) {
  TwoJobTrackers two;
  two.first.executors.add(kOne);
  auto& other = two.first.executors.add(kTwo);
  two.tell(two.first, kOne);
  two.tell(two.first, kTwo);
  two.first.run_for(seconds{3});
  bool is_answered = false;
  two.second.tracker().on_executor(
      ExecutorRegistration{.removes = true, .app_name = "app", .address = kOne},
      [&](const Status& status) { is_answered = status.ok(); });
  for (int waited = 0; !is_answered && waited < 100; ++waited) {
    two.first.run_for(milliseconds{100});
  }
  ASSERT_TRUE(is_answered);
  const std::size_t before = other.calls.size();
  for (int i = 0; i < 4; ++i) two.first.submit(pushed("orders-" + std::to_string(i)));
  two.first.run_for(seconds{1});
  EXPECT_EQ(other.calls.size(), before + 4) << "the one that went was called";
}

TEST(ExecutorRegistry, DeregistrationCountsThoughTheClockMovedBack) {
  Pushed test;
  test.executor(kOne);
  test.bundle.run_for(seconds{1});
  test.bundle.clock.set_wall(test.bundle.now() - std::chrono::hours{1});
  test.bundle.run_for(seconds{5});
  ASSERT_TRUE(test.register_at(kOne, true).ok());
  EXPECT_THAT(test.bundle.tables().executors, IsEmpty());
}

TEST(ExecutorRegistry, SilentExecutorIsRemovedThoughTheClockMovedBack) {
  Pushed test;
  test.executor(kOne);
  test.bundle.run_for(seconds{1});
  test.bundle.clock.set_wall(test.bundle.now() - std::chrono::hours{1});
  test.bundle.run_for(minutes{5});
  EXPECT_THAT(test.bundle.tables().executors, IsEmpty());
}

TEST(ExecutorRegistry, AnotherJobTrackersChangesCountThoughTheClockMovedBack) {
  TwoJobTrackers two;
  auto& one = two.first.executors.add(kOne);
  two.tell(two.second, kTwo);
  two.first.run_for(seconds{5});
  two.first.clock.set_wall(two.first.now() - std::chrono::hours{1});
  two.first.run_for(seconds{10});
  two.tell(two.second, kTwo, true);
  two.tell(two.second, kOne);
  two.first.run_for(seconds{10});
  two.first.submit(pushed("orders"));
  two.first.run_for(seconds{10});
  EXPECT_THAT(one.calls, SizeIs(1));
}

// As that expires: what is said by the executor is written before.
TEST(ExecutorRegistry, RegistrationPendingInTheStoreWinsOverItsExpiry) {
  Pushed test;
  auto& one = test.executor(kOne);
  const WallTime registered = test.bundle.tables().executors.begin()->second.registered_at;
  test.bundle.run_to(registered + seconds{88});
  test.bundle.connection().work_time = [] { return seconds{4}; };
  test.bundle.client.submit({carillon::testing::job_manual("a")});
  test.bundle.run_to(registered + seconds{91});
  test.bundle.tracker().on_executor(ExecutorRegistration{.app_name = "app", .address = kOne},
                                    [](const Status& status) { EXPECT_TRUE(status.ok()); });
  test.bundle.run_for(seconds{20});
  test.bundle.connection().work_time = [] { return Duration{}; };
  EXPECT_THAT(test.bundle.tables().executors, SizeIs(1));
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(one.calls, SizeIs(1));
}

// A beat of one in service and its goodbye.
TEST(ExecutorRegistry, DeregistrationWinsOverAHeartbeatInTheSameBatch) {
  TwoJobTrackers two;
  auto& one = two.first.executors.add(kOne);
  two.tell(two.first, kOne);
  two.first.run_for(seconds{30});
  two.tell(two.first, kOne);
  two.tell(two.first, kOne, true);
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.first.tables().executors, IsEmpty());
  two.first.submit(pushed("orders"));
  two.first.run_for(seconds{20});
  EXPECT_THAT(one.calls, IsEmpty()) << "it has gone";
}

TEST(ExecutorRegistry, ListedExecutorStaysListedDespiteHeartbeatAtAnotherJobTracker) {
  TwoJobTrackers two;
  two.tell(two.second, kOne);
  two.tell(two.second, kTwo);
  two.first.run_for(seconds{30});
  two.list({kOne, kTwo});
  two.first.run_for(milliseconds{100});
  two.tell(two.second, kOne);
  two.first.run_for(seconds{10});
  std::vector<bool> listed;
  for (const auto& [key, row] : two.first.tables().executors) listed.push_back(row.is_manual);
  EXPECT_THAT(listed, ElementsAre(true, true));
}

TEST(ExecutorRegistry, HeartbeatAtAnotherJobTrackerDoesNotRelistAnExecutor) {
  TwoJobTrackers two;
  auto& one = two.first.executors.add(kOne);
  two.first.executors.add(kTwo);
  two.tell(two.second, kOne);
  two.tell(two.second, kTwo);
  two.first.run_for(seconds{30});
  two.list({kTwo});
  two.first.run_for(milliseconds{100});
  two.tell(two.second, kOne);
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.first.tables().executors, SizeIs(1));
  two.first.submit(pushed("orders", Route::kShardingBroadcast));
  two.first.run_for(seconds{20});
  EXPECT_THAT(one.calls, IsEmpty()) << "it is not on the list";
}

TEST(ExecutorRegistry, ListKeepsItsSpellingAndMatchesOtherSpellings) {
  Pushed test;
  test.executor(kOne);
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(list(test, {kOneWithoutStroke, kOne})));
  const auto& rows = test.bundle.tables().executors;
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows.begin()->second.address, kOneWithoutStroke);
  EXPECT_EQ(rows.begin()->second.place, 1);
  ASSERT_TRUE(test.register_at(kOne).ok());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_TRUE(rows.begin()->second.is_manual);
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kOneWithoutStroke);
}

TEST(ExecutorRegistry, SeesRegistrationsAtAnotherJobTracker) {
  Pushed test;
  test.executor(kOne);
  test.bundle.executors.add(kTwo);
  const ClusterView view{.trackers = {{.session = SessionId{1}}, {.session = SessionId{2}}},
                         .proven = test.bundle.clock.steady_now() + seconds{60}};
  test.bundle.tracker().on_cluster(view);
  ASSERT_EQ(test.bundle.tables().executors.size(), 1U);
  const GroupId app = test.bundle.tables().executor_groups.begin()->first;
  // As the other stores it.
  Batch batch;
  batch.operations.emplace_back(
      ChangeExecutor{{.group = app, .address = kOne}, ExecutorWord::kRemoved});
  batch.operations.emplace_back(
      ChangeExecutor{{.group = app, .address = kTwo, .registered_at = test.bundle.now()}});
  ASSERT_TRUE(std::holds_alternative<Committed>(test.bundle.database.apply(batch)));
  test.bundle.run_for(seconds{3});
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_EQ(test.calls_of(kOne), 0U) << "it went";
  EXPECT_EQ(test.bundle.log("orders")[0].node, kTwo) << "it came";
}

// It registers then, each in seconds after the start of the test.
void register_at_each(Pushed& test, WallTime start, const std::vector<int>& times) {
  for (const int time : times) {
    test.bundle.run_to(start + seconds{time});
    ASSERT_TRUE(test.register_at(kOne).ok());
  }
}

TEST(ExecutorRegistry, MissedRegistrationLosesNoRunOfAnAlwaysIdleExecutor) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.says_idle = true;
  one.run_time = minutes{5};
  const WallTime start = test.bundle.now();
  test.submit(pushed("orders"));
  register_at_each(test, start, {30, 90, 120, 150, 210, 240, 270});
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(ExecutorRegistry, LateResultStillCountsAfterAMissedRegistration) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.is_silent = true;
  one.run_time = seconds{122};
  const WallTime start = test.bundle.now();
  test.submit(pushed("orders"));
  register_at_each(test, start, {30, 90, 120, 150});
  ASSERT_THAT(one.calls, SizeIs(1));
  EXPECT_TRUE(test.tell({{.log_id = one.calls[0].log_id, .message = "late"}}).ok());
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(ExecutorRegistry, FirstRegistrationMissedAfterARestartLosesNoRun) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.says_idle = true;
  one.run_time = minutes{1};
  const WallTime start = test.bundle.now();
  test.bundle.run_for(seconds{5});
  test.bundle.restart_after(seconds{1});
  register_at_each(test, start, {60});
  test.submit(pushed("orders"));
  register_at_each(test, start, {90, 120});
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(ExecutorRegistry, RestartIsDetectedWithinTenSecondsEvenAfterMissedRegistrations) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.says_idle = true;
  one.run_time = minutes{10};
  const WallTime start = test.bundle.now();
  test.submit(pushed("orders"));
  register_at_each(test, start, {30, 60, 120, 180});
  one.running.clear();
  one.run_time = seconds{1};
  register_at_each(test, start, {200});
  ASSERT_TRUE(test.has_ended("orders", seconds{10}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

}  // namespace
}  // namespace carillon::jobtracker
