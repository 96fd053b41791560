#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Rows of the failure table in docs/operations/high-availability.md that take long, or a clock, in
// virtual time.
namespace carillon::testing {
namespace {

using jobtracker::LogEntry;
using jobtracker::LogState;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::_;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Key;
using ::testing::Le;
using ::testing::Pair;
using ::testing::SizeIs;

// A job each second, on a worker that stays.
struct OutageBundle : TrackerBundle {
  explicit OutageBundle(bool is_shared = false) : TrackerBundle(Options{.is_shared = is_shared}) {
    auto& worker = add_worker({.threads = 8});
    runs_take(worker, milliseconds{100});
    run_for(seconds{1});
    submit(job_every("tick", seconds{1}));
    run_for(seconds{3});
  }

  // No task tracker was taken for dead, and no fire ran twice.
  void expect_nothing_doubled() {
    EXPECT_EQ(stat("workers_lost_total"), 0);
    std::set<WallTime> fires;
    for (const RunRecord& run : runs_of("tick")) {
      EXPECT_TRUE(fires.insert(run.trigger_time).second) << story("tick");
    }
    for (const LogEntry& entry : log()) EXPECT_NE(entry.state, LogState::kLost);
  }
};

void expect_an_outage_harms_nothing(Duration outage, bool is_shared) {
  SCOPED_TRACE(is_shared ? "MariaDB" : "SQLite");
  OutageBundle bundle(is_shared);
  bundle.workers().front()->behaviour = [outage](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.time = job.task_id == "long" ? outage / 2 : milliseconds{100}};
  };
  bundle.submit(job_now("long"));
  bundle.run_for(milliseconds{100});
  const std::size_t before = bundle.runs_of("tick").size();
  bundle.connection().away_until = bundle.clock.steady_now() + outage;
  bundle.run_for(outage / 2);
  const auto waiting = bundle.client.submit({job_now("meanwhile")});
  bundle.run_for(outage / 2 + seconds{3});
  EXPECT_NE(bundle.client.answer_to(waiting), nullptr)
      << "it is answered once the store is reachable again";
  EXPECT_EQ(bundle.runs_of("meanwhile").size(), 1u) << bundle.story("meanwhile");
  EXPECT_EQ(bundle.runs_of("long").size(), 1u) << bundle.story("long");
  EXPECT_EQ(states(bundle.log("long")), std::vector{LogState::kSucceeded});
  EXPECT_GT(bundle.runs_of("tick").size(), before) << "the schedule goes on";
  bundle.expect_nothing_doubled();
}

TEST(Outage, TenSecondsWithoutTheDatabaseLoseAndRepeatNothing) {
  for (const bool is_shared : {false, true}) expect_an_outage_harms_nothing(seconds{10}, is_shared);
}

TEST(Outage, OneMinuteWithoutTheDatabaseLosesAndRepeatsNothing) {
  for (const bool is_shared : {false, true}) expect_an_outage_harms_nothing(minutes{1}, is_shared);
}

TEST(Outage, ClaimedButUndeliveredJobRunsRightAfterARestart) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(seconds{1});
  const WallTime at = bundle.now() + seconds{3};
  bundle.submit(job_at("due", at));
  bundle.run_to(at - milliseconds{20});
  ASSERT_EQ(bundle.tables().executing.size(), 1u) << "claimed ahead of its time";
  ASSERT_TRUE(bundle.runs_of("due").empty());

  bundle.restart_after(milliseconds{500});
  bundle.run_for(milliseconds{1500});

  EXPECT_EQ(bundle.runs_of("due").size(), 1u) << "its worker has said that it does not hold it";
  EXPECT_THAT(states(bundle.log("due")), Each(LogState::kSucceeded));
}

// How often the fires of `task_id` ended in each way. Each from the first to the last has one
// outcome.
std::map<LogState, std::int64_t> outcomes(TrackerBundle& bundle, const std::string& task_id,
                                          Duration interval) {
  std::map<LogState, std::int64_t> outcomes;
  std::map<WallTime, int> fires;
  for (const LogEntry& entry : bundle.log(task_id)) {
    if (!entry.final) continue;
    outcomes[entry.state] += entry.count;
    for (std::int64_t i = 0; i < entry.count; ++i) ++fires[entry.trigger_time + i * interval];
  }
  EXPECT_THAT(fires, Each(Pair(_, 1))) << task_id;
  const auto all = (fires.rbegin()->first - fires.begin()->first) / interval + 1;
  EXPECT_EQ(static_cast<std::int64_t>(fires.size()), all) << task_id;
  return outcomes;
}

TEST(Outage, EachFireInAForwardClockJumpHasAnOutcome) {
  constexpr Duration kInterval = seconds{10};
  const auto job = [&](const char* task_id, Overlap overlap) {
    JobSpec made = job_every(task_id, kInterval);
    made.overlap = overlap;
    return made;
  };
  TrackerBundle bundle;
  bundle.add_worker({.threads = 8});
  bundle.submit({job("skip", Overlap::kSkip), job("queue", Overlap::kQueue),
                 job("queue_one", Overlap::kQueueOne), job("cancel", Overlap::kCancelRunning),
                 job("parallel", Overlap::kParallel)});
  bundle.run_for(minutes{1});
  bundle.clock.set_wall(bundle.now() + hours{1});
  bundle.run_for(minutes{2});
  const auto ran = Pair(LogState::kSucceeded, _);
  const auto skipped = Pair(LogState::kSkipped, _);
  EXPECT_THAT(outcomes(bundle, "queue", kInterval), ElementsAre(ran));
  EXPECT_THAT(outcomes(bundle, "parallel", kInterval), ElementsAre(ran));
  EXPECT_THAT(outcomes(bundle, "skip", kInterval),
              ElementsAre(ran, Pair(LogState::kSkipped, hours{1} / kInterval - 1)));
  EXPECT_THAT(outcomes(bundle, "queue_one", kInterval), ElementsAre(ran, skipped));
  // A later fire ends those before it, whether they have begun or not.
  EXPECT_THAT(outcomes(bundle, "cancel", kInterval),
              AllOf(Contains(ran), Contains(skipped), Contains(Pair(LogState::kCancelled, _)),
                    Each(Key(AnyOf(LogState::kSucceeded, LogState::kKilled, LogState::kSkipped,
                                   LogState::kCancelled)))));
}

TEST(Outage, ClockJumpLosesNoWorkerAndRepeatsNoFire) {
  for (const Duration step : {Duration{hours{1}}, -Duration{hours{1}}}) {
    SCOPED_TRACE(step.count());
    OutageBundle bundle;
    bundle.clock.set_wall(bundle.now() + step);
    bundle.run_for(seconds{10});
    bundle.submit(job_now("after"));
    bundle.run_for(seconds{2});
    EXPECT_EQ(bundle.runs_of("after").size(), 1u) << bundle.story("after");
    bundle.expect_nothing_doubled();
    // Passed over, the hour's fires but one are skipped; come again, they are not there.
    const std::int64_t fires = step > Duration{} ? step / seconds{1} : 0;
    EXPECT_THAT(outcomes(bundle, "tick", seconds{1})[LogState::kSkipped],
                AllOf(Ge(fires - 5), Le(fires)));
  }
}

TEST(Outage, ClockMovedBackPausesSchedulesUntilItCatchesUp) {
  OutageBundle bundle;
  const WallTime before = bundle.now();
  bundle.clock.set_wall(before - hours{1});
  bundle.run_for(seconds{10});
  const std::size_t ran = bundle.runs_of("tick").size();
  bundle.run_to(before - seconds{10});
  EXPECT_EQ(bundle.runs_of("tick").size(), ran) << "each fire once, though its time comes twice";
  bundle.run_to(before + minutes{1});
  EXPECT_GE(bundle.runs_of("tick").size(), ran + 50);
  bundle.expect_nothing_doubled();
  EXPECT_THAT(outcomes(bundle, "tick", seconds{1}), ElementsAre(Pair(LogState::kSucceeded, _)));
}

// What waits for a thread, for its retry or behind a run before it.
TEST(Outage, ClockMovedBackDelaysNoDueJob) {
  for (const bool is_shared : {false, true}) {
    SCOPED_TRACE(is_shared);
    TrackerBundle bundle(TrackerBundle::Options{.is_shared = is_shared});
    auto& worker = bundle.add_worker();
    worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
      const bool fails = job.task_id == "fails" && job.id.attempt < 3;
      return FakeRun{
          .time = seconds{5},
          .outcome = fails ? wire::RunOutcome::kException : wire::RunOutcome::kSucceeded};
    };
    JobSpec fails = job_now("fails");
    fails.retries = {.max = 2, .base = seconds{10}};
    JobSpec queued = job_now("queued");
    queued.schedule = {.kind = ScheduleKind::kManual};
    queued.overlap = Overlap::kQueue;
    bundle.submit({fails, queued});
    bundle.run_for(seconds{6});  // It waits for its retry.
    for (int i = 0; i < 3; ++i) bundle.act(wire::Verb::kTrigger, "queued");
    const std::vector<std::string> tasks{"a", "b", "c"};
    for (const std::string& task : tasks) bundle.submit(job_now(task));
    bundle.submit(job_at("later", bundle.now() + minutes{1}));
    bundle.clock.set_wall(bundle.now() - hours{1});
    bundle.run_for(minutes{1});
    for (const std::string& task : tasks) {
      EXPECT_THAT(states(bundle.log(task)), ElementsAre(LogState::kSucceeded)) << task;
    }
    EXPECT_THAT(states(bundle.log("fails")),
                ElementsAre(LogState::kFailed, LogState::kFailed, LogState::kSucceeded));
    EXPECT_EQ(bundle.runs_of("queued").size(), 3u) << bundle.story("queued");
    EXPECT_TRUE(bundle.runs_of("later").empty());
    bundle.run_for(hours{1});
    EXPECT_EQ(bundle.runs_of("later").size(), 1u) << bundle.story("later");
  }
}

// Whatever is done with what waits for a thread.
TEST(Outage, ClockMovedBackDelaysNoTriggeredOrResumedJob) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 1}), seconds{10});
  bundle.submit(job_now("running"));
  bundle.run_for(seconds{1});
  bundle.submit({job_at("at", bundle.now() + hours{5}), job_now("now")});
  bundle.act(wire::Verb::kTrigger, "at");
  bundle.act(wire::Verb::kSuspend, "now");
  bundle.run_for(seconds{1});
  bundle.clock.set_wall(bundle.now() - hours{1});
  bundle.run_for(minutes{5});
  EXPECT_EQ(bundle.runs_of("at").size(), 1U) << bundle.story("at");
  bundle.act(wire::Verb::kResume, "now");
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.runs_of("now").size(), 1U) << bundle.story("now");
}

// Of a job that waits while the clock is set back.
struct Triggered {
  Triggered() {
    bundle.add_worker({.threads = 1}).behaviour = [this](const wire::HandedJob& job,
                                                         const JobSpec& spec) {
      if (job.task_id == "a") ran_with = spec.payload;
      return FakeRun{.time = seconds{10}};
    };
    bundle.submit(job_now("running"));
    bundle.run_for(seconds{1});
    bundle.submit({job_now("a"), job_now("b")});
    bundle.clock.set_wall(bundle.now() - hours{1});
  }
  void trigger_after(Duration time) {
    bundle.run_for(time);
    bundle.act(wire::Act{
        .verb = wire::Verb::kTrigger, .group = "default", .task_id = "a", .payload = "new"});
    bundle.run_for(minutes{1});
  }

  TrackerBundle bundle;
  std::string ran_with{};
};

TEST(Outage, ClockMovedBackNeverUndoesATrigger) {
  Triggered first;
  bool is_read = false;  // what is to be moved
  first.bundle.connection().on_read = [&](const jobtracker::Read& read) {
    const auto* upcoming = std::get_if<jobtracker::ReadUpcoming>(&read);
    is_read = is_read || (upcoming != nullptr && upcoming->through != WallTime::max());
  };
  const SteadyTime since = first.bundle.clock.steady_now();
  ASSERT_TRUE(first.bundle.run_until([&] { return is_read; }, seconds{10}));
  const auto read_at =
      std::chrono::duration_cast<Duration>(first.bundle.clock.steady_now() - since);
  for (Duration at = read_at - milliseconds{4}; at < read_at + milliseconds{4};
       at += std::chrono::microseconds{100}) {
    Triggered test;
    test.trigger_after(at);
    ASSERT_EQ(test.ran_with, "new") << at.count() << "\n" << test.bundle.story("a");
  }
}

// The client sends it again after a second; it was done by then, or is not.
TEST(Outage, ClockMovedBackDelaysNoJobWithAResentTrigger) {
  for (const int work : {50, 100, 200, 300, 400, 600}) {
    for (int away = 0; away <= 2400; away += 100) {
      SCOPED_TRACE(::testing::Message() << "commits take " << work << " ms, trigger at " << away);
      TrackerBundle bundle;
      runs_take(bundle.add_worker({.threads = 1}), seconds{20});
      bundle.submit(job_now("running"));
      bundle.run_for(seconds{1});
      bundle.submit({job_now("a"), job_now("b")});
      bundle.clock.set_wall(bundle.now() - hours{1});
      bundle.run_for(milliseconds{away});
      bundle.connection().work_time = [work] { return milliseconds{work}; };
      bundle.client.act({.verb = wire::Verb::kTrigger, .group = "default", .task_id = "a"});
      bundle.run_for(seconds{10});
      bundle.connection().work_time = [] { return milliseconds{1}; };
      bundle.run_for(minutes{1});
      EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
      EXPECT_THAT(bundle.runs_of("b"), SizeIs(1));
    }
  }
}

// That the clock was set is noticed while more ends wait than the store takes at once.
TEST(Outage, ClockMovedBackDelaysNoRetryAwaitingABusyStore) {
  constexpr int kJobs = 512;
  TrackerBundle bundle(TrackerBundle::Options{.tracker = {.batcher = {.rows_max = 64}}});
  bundle.connection().work_time = [] { return milliseconds{300}; };
  const SteadyTime set_at = bundle.clock.steady_now() + seconds{20};
  bundle.add_worker({.threads = kJobs}).behaviour = [&](const wire::HandedJob& job,
                                                        const JobSpec&) {
    if (job.id.attempt == 2) return FakeRun{};
    return FakeRun{.time = std::chrono::duration_cast<Duration>(set_at + seconds{2} -
                                                                bundle.clock.steady_now()),
                   .outcome = wire::RunOutcome::kException};
  };
  for (int i = 0; i < kJobs; ++i) {
    JobSpec job = job_now("job-" + std::to_string(i));
    job.retries = {.max = 2, .base = seconds{5}};
    bundle.client.submit({std::move(job)});
  }
  ASSERT_TRUE(bundle.run_until([&] { return bundle.runs().size() == kJobs; }, seconds{19}));
  bundle.run_for(std::chrono::duration_cast<Duration>(set_at - bundle.clock.steady_now()));
  bundle.clock.set_wall(bundle.now() - hours{1});
  bundle.run_for(seconds{10});
  bundle.connection().work_time = [] { return milliseconds{5}; };
  bundle.run_for(minutes{1});
  EXPECT_TRUE(bundle.waiting().empty()) << bundle.waiting().size();
}

TEST(Outage, ClockMovedBackDuringDowntimeDelaysNoDueJob) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), seconds{5});
  const std::vector<std::string> tasks{"a", "b", "c"};
  for (const std::string& task : tasks) bundle.submit(job_now(task));
  bundle.run_for(seconds{2});
  bundle.kill_tracker();
  bundle.clock.set_wall(bundle.now() - hours{1});
  bundle.restart_after(seconds{1});
  bundle.run_for(seconds{30});
  for (const std::string& task : tasks) {
    EXPECT_EQ(states(bundle.log(task)).back(), LogState::kSucceeded) << bundle.story(task);
  }
}

TEST(Outage, ClockMovedBackDelaysNoRerunAfterAWorkerDied) {
  TrackerBundle bundle;
  auto& dies = bundle.add_worker({.threads = 2});
  runs_take(dies, minutes{1});
  bundle.submit(job_now("now"));
  bundle.submit(job_every("tick", minutes{10}));
  bundle.run_for(seconds{1});
  ASSERT_EQ(bundle.runs_of("tick").size(), 1u);
  bundle.clock.set_wall(bundle.now() - hours{1});
  bundle.run_for(seconds{5});
  dies.die();
  runs_take(bundle.add_worker({.threads = 2}), seconds{1});
  bundle.run_for(seconds{10});
  for (const char* task : {"now", "tick"}) {
    EXPECT_THAT(states(bundle.log(task)), ElementsAre(LogState::kLost, LogState::kSucceeded))
        << bundle.story(task);
  }
}

TEST(Outage, ResumeRepeatsNoFireSkippedWhileTheClockWasAhead) {
  constexpr Duration kInterval = seconds{10};
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_every("tick", kInterval));
  bundle.run_for(minutes{1});
  bundle.clock.set_wall(bundle.now() + hours{1});
  bundle.run_for(seconds{5});
  bundle.clock.set_wall(bundle.now() - hours{1});
  bundle.run_for(seconds{5});
  bundle.act(wire::Verb::kSuspend, "tick");
  bundle.act(wire::Verb::kResume, "tick");
  bundle.run_for(hours{1} + minutes{2});
  auto of = outcomes(bundle, "tick", kInterval);
  EXPECT_GE(of[LogState::kSkipped], hours{1} / kInterval - 5);
  EXPECT_GE(of[LogState::kSucceeded], 15);
}

TEST(Outage, WrongTaskTrackerClockAffectsOnlyTheHistory) {
  for (const Duration off : {Duration{hours{1}}, -Duration{hours{1}}}) {
    SCOPED_TRACE(off.count());
    TrackerBundle bundle;
    runs_take(bundle.add_worker({.threads = 8, .clock_ahead = off}), milliseconds{100});
    bundle.submit(job_every("tick", seconds{1}));
    bundle.run_for(minutes{1});
    EXPECT_GE(bundle.runs_of("tick").size(), 59u) << bundle.story("tick");
    EXPECT_EQ(bundle.stat("workers_lost_total"), 0);
    for (const LogEntry& entry : bundle.log("tick")) {
      EXPECT_EQ(entry.state, LogState::kSucceeded);
      EXPECT_GE(entry.started_at, entry.trigger_time + off);
      EXPECT_LE(entry.started_at, entry.trigger_time + off + seconds{1});
      EXPECT_LE(entry.ended_at, bundle.now());
    }
  }
}

// A retry whose time was read off the clock after it was set back, in the second of two groups of
// which the first has a backlog.
TEST(Outage, RetryScheduledAfterTheClockMovedBackIsNotShifted) {
  TrackerBundle bundle;
  bundle.connection().work_time = [] { return milliseconds{10}; };
  runs_take(bundle.add_worker({.group = "a", .threads = 1}), minutes{1});
  auto& worker = bundle.add_worker({.group = "b", .threads = 1});
  worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.time = milliseconds{10},
                   .outcome = job.id.attempt < 2 ? wire::RunOutcome::kException
                                                 : wire::RunOutcome::kSucceeded};
  };
  for (int i = 0; i < 30; ++i) {
    std::vector<JobSpec> jobs;
    for (int j = 0; j < 1000; ++j) {
      jobs.push_back(job_now("b" + std::to_string(i * 1000 + j)));
      jobs.back().group = "a";
    }
    bundle.submit(std::move(jobs));
  }
  bundle.run_for(seconds{2});
  bool moves = false;
  bundle.connection().on_commit = [&](const jobtracker::Batch& batch) {
    for (const auto& operation : batch.operations)
      moves = moves || std::holds_alternative<jobtracker::ChangeWaiting>(operation);
  };
  bundle.clock.set_wall(bundle.now() - hours{1});
  ASSERT_TRUE(bundle.run_until([&] { return moves; }));
  JobSpec fails = job_now("fails");
  fails.group = "b";
  fails.retries = {.max = 2, .base = minutes{5}};
  bundle.submit(fails);
  bundle.run_for(seconds{30});
  EXPECT_THAT(states(bundle.log("fails")), ElementsAre(LogState::kFailed))
      << "its retry is to come after five minutes\n"
      << bundle.story("fails");
}

// Nothing stalls: a client submits all the time.
TEST(Outage, ClockMovedBackDelaysNoNewSubmission) {
  TrackerBundle bundle;
  bundle.connection().work_time = [] { return milliseconds{10}; };
  runs_take(bundle.add_worker({.threads = 64}), milliseconds{1});
  bundle.run_for(seconds{1});
  bundle.clock.set_wall(bundle.now() - hours{1});
  const int all = 3000;
  for (int i = 0; i < all; ++i) {
    bundle.client.submit({job_now("j" + std::to_string(i))});
    bundle.run_for(milliseconds{1});
  }
  bundle.run_for(minutes{2});
  EXPECT_EQ(bundle.waiting().size(), 0u);
  EXPECT_EQ(bundle.runs().size(), static_cast<std::size_t>(all));
}

// Likewise of retries: their ends are on the way to the store.
TEST(Outage, ClockMovedBackDelaysNoRetryBeingStored) {
  TrackerBundle bundle;
  bundle.connection().work_time = [] { return milliseconds{10}; };
  auto& worker = bundle.add_worker({.threads = 64});
  worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.time = milliseconds{10},
                   .outcome = job.id.attempt < 2 ? wire::RunOutcome::kException
                                                 : wire::RunOutcome::kSucceeded};
  };
  bundle.run_for(seconds{1});
  bundle.clock.set_wall(bundle.now() - hours{1});
  for (int i = 0; i < 3000; ++i) {
    JobSpec job = job_now("j" + std::to_string(i));
    job.retries = {.max = 2, .base = seconds{5}};
    bundle.client.submit({job});
    bundle.run_for(milliseconds{1});
  }
  bundle.run_for(minutes{2});
  std::size_t retries = 0;
  for (const auto& job : bundle.waiting()) retries += jobtracker::was_tried(job) ? 1 : 0;
  EXPECT_EQ(retries, 0u);
  EXPECT_EQ(bundle.waiting().size(), 0u);
}

// What was submitted, and whose row was on its way to the store as the clock was set back.
TEST(Outage, ClockMovedBackDelaysNoSubmissionBeingStored) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 1}), seconds{4});
  bundle.submit(job_now("first"));
  bundle.run_for(seconds{1});
  bundle.connection().hangs_until = bundle.clock.steady_now() + seconds{8};
  std::vector<JobSpec> jobs{job_now("a"), job_now("b"), job_now("c")};
  bundle.client.submit({job_now("x")});
  bundle.run_for(milliseconds{100});
  bundle.client.submit(jobs);
  bundle.run_for(milliseconds{100});
  bundle.clock.set_wall(bundle.now() - hours{1});
  bundle.run_for(minutes{2});
  for (const char* task : {"x", "a", "b", "c"})
    EXPECT_EQ(bundle.runs_of(task).size(), 1u) << task << "\n" << bundle.story(task);
}

// First come, first served.
TEST(Outage, ClockMovedBackKeepsTheQueueOrder) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 1}), seconds{60});
  bundle.submit(job_now("running"));
  bundle.run_for(seconds{1});
  std::vector<std::string> tasks;
  for (int i = 0; i < 10; ++i) {
    tasks.push_back("job-" + std::to_string(i));
    bundle.submit(job_now(tasks.back()));
    bundle.run_for(seconds{4});
  }
  bundle.clock.set_wall(bundle.now() - seconds{20});
  bundle.run_for(minutes{15});
  std::vector<std::string> ran;
  for (const auto& run : bundle.runs())
    if (run.task_id != "running") ran.push_back(run.task_id);
  EXPECT_EQ(ran, tasks);
}

// A job tracker that is killed twice.
TEST(Outage, ClockMovedBackShiftsARetryOnceOverTwoRestarts) {
  for (const int ms : {5, 20, 50, 200, 1000, 5000}) {
    SCOPED_TRACE(ms);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
      return FakeRun{.time = milliseconds{10},
                     .outcome = job.id.attempt < 2 ? wire::RunOutcome::kException
                                                   : wire::RunOutcome::kSucceeded};
    };
    JobSpec fails = job_now("fails");
    fails.retries = {.max = 2, .base = minutes{5}};
    bundle.submit(fails);
    bundle.submit(job_every("tick", seconds{10}));
    bundle.run_for(seconds{5});
    bundle.kill_tracker();
    bundle.clock.set_wall(bundle.now() - hours{1});
    bundle.restart_after(milliseconds{10});
    bundle.run_for(milliseconds{ms});
    bundle.restart_after(milliseconds{500});
    bundle.run_for(minutes{2});
    EXPECT_EQ(bundle.runs_of("fails").size(), 1u) << bundle.story("fails");
    bundle.run_for(minutes{4});
    EXPECT_EQ(bundle.runs_of("fails").size(), 2u) << bundle.story("fails");
  }
}

}  // namespace
}  // namespace carillon::testing
