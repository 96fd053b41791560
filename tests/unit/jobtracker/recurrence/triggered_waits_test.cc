#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// What was triggered and waits, when its job is suspended, cancelled or replaced, or goes into
// quarantine: it has been promised to somebody who knows its id.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Verb;

constexpr Overlap kOverlaps[] = {Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne,
                                 Overlap::kParallel};

bool is_done(const wire::Message& answer) { return std::holds_alternative<wire::Acted>(answer); }

bool call_off(TrackerBundle& bundle, Verb verb, const JobSpec& job) {
  if (verb != Verb::kTrigger) return is_done(bundle.act(verb, job.task_id));
  JobSpec other = job;
  other.replace_on_exist = true;
  return bundle.submit(other).status == wire::SubmitStatus::kAccepted;
}
constexpr Verb kReplace = Verb::kTrigger;  // for call_off()

JobSpec told(JobSpec job) {
  job.need_feedback = true;
  job.client_group = "ops";
  return job;
}

// Nobody has a thread for them, so that also with overlap `skip` several wait.
std::vector<JobId> trigger_without_a_worker(TrackerBundle& bundle, const std::string& task_id,
                                            int count) {
  for (int i = 0; i < count; ++i) EXPECT_TRUE(is_done(bundle.act(Verb::kTrigger, task_id)));
  bundle.run_for(seconds{1});
  std::vector<JobId> ids;
  for (const WaitingJob& job : bundle.waiting(task_id)) {
    if (job.triggered) ids.push_back(job.id);
  }
  EXPECT_THAT(ids, SizeIs(count));
  return ids;
}

std::vector<LogEntry> rows_of(const TrackerBundle& bundle, JobId id) {
  auto rows = bundle.log();
  std::erase_if(rows, [&](const LogEntry& row) { return row.job_id != id; });
  return rows;
}

// The rows of fires, which are of no job.
std::int64_t fires_called_off(const TrackerBundle& bundle) {
  std::int64_t count = 0;
  for (const LogEntry& row : bundle.log()) {
    if (!row.job_id && row.state == LogState::kCancelled) count += row.count;
  }
  return count;
}

TEST(TriggeredRun, SurvivesASuspensionWhileWaitingForAThread) {
  for (const Overlap overlap : kOverlaps) {
    for (const bool restarts : {false, true}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(overlap) << ' ' << restarts);
      TrackerBundle bundle;
      JobSpec job = job_every("a", hours{1});
      job.schedule.first = bundle.now() + minutes{30};
      job.overlap = overlap;
      bundle.submit(job);
      trigger_without_a_worker(bundle, "a", 3);
      EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "a")));
      if (restarts) bundle.restart_after(seconds{5});
      bundle.add_worker({.threads = 4});
      bundle.run_for(minutes{2});
      EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << bundle.story("a");
      EXPECT_EQ(fires_called_off(bundle), 0) << "none of them is a fire";
      bundle.run_for(hours{2});
      EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << "its schedule is held";
      EXPECT_TRUE(is_done(bundle.act(Verb::kResume, "a")));
      bundle.run_for(hours{1});
      EXPECT_THAT(bundle.runs_of("a"), SizeIs(4)) << bundle.story("a");
    }
  }
}

TEST(TriggeredRun, SurvivesASuspensionWhileWaitingForAnotherRun) {
  for (const Overlap overlap : {Overlap::kQueue, Overlap::kQueueOne}) {
    for (const int restarts : {0, 1, 2}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(overlap) << ' ' << restarts);
      TrackerBundle bundle;
      runs_take(bundle.add_worker({.threads = 4}), seconds{20});
      JobSpec job = job_manual("a");
      job.overlap = overlap;
      bundle.submit(job);
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(is_done(bundle.act(Verb::kTrigger, "a")));
        bundle.run_for(seconds{1});
      }
      if (restarts == 1) bundle.restart_after(seconds{1});
      EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "a")));
      if (restarts == 2) bundle.restart_after(seconds{1});
      bundle.run_for(minutes{2});
      EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << bundle.story("a");
      EXPECT_THAT(bundle.waiting(), IsEmpty());
    }
  }
}

// The run before it ends with the suspension: no end of a run comes that would give it its turn.
TEST(TriggeredRun, RunsWhenASuspensionCancelsTheRetryBeforeIt) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.outcome = wire::RunOutcome::kException};
  };
  JobSpec job = job_every("a", hours{1});
  job.overlap = Overlap::kQueue;
  job.retries = {.max = 3, .base = minutes{30}};
  bundle.submit(job);
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_TRUE(is_done(bundle.act(Verb::kTrigger, "a")));
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1)) << "it waits for the end of the first";
  EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "a")));
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(2)) << bundle.story("a");
}

TEST(TriggeredRun, KeepsItsRetriesOverASuspension) {
  for (const bool executes : {false, true}) {
    for (const bool restarts : {false, true}) {
      SCOPED_TRACE(::testing::Message() << executes << ' ' << restarts);
      TrackerBundle bundle;
      bundle.add_worker().behaviour = [](const auto&, const auto&) {
        return FakeRun{.time = seconds{20}, .outcome = wire::RunOutcome::kException};
      };
      JobSpec job = job_manual("a");
      job.overlap = Overlap::kQueue;
      job.retries = {.max = 2, .base = minutes{1}};
      bundle.submit(job);
      EXPECT_TRUE(is_done(bundle.act(Verb::kTrigger, "a")));
      bundle.run_for(seconds{executes ? 10 : 40});
      ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
      EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "a")));
      EXPECT_TRUE(is_done(bundle.act(Verb::kTrigger, "a")));
      if (restarts) bundle.restart_after(seconds{1});
      bundle.run_for(minutes{20});
      EXPECT_THAT(bundle.runs_of("a"), SizeIs(6)) << bundle.story("a");
      EXPECT_THAT(bundle.waiting(), IsEmpty());
    }
  }
}

TEST(TriggeredRun, RunsOncePerParentSuccessDespiteASuspension) {
  TrackerBundle bundle;
  JobSpec child = job_manual("child");
  child.overlap = Overlap::kQueue;
  bundle.submit(child);
  FakeWorker& worker = bundle.add_worker({.threads = 2});
  worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.time = job.task_id == "child" ? seconds{30} : seconds{1}};
  };
  for (int i = 0; i < 4; ++i) {
    JobSpec parent = job_now("parent " + std::to_string(i));
    parent.children.push_back({.task_id = "child"});
    bundle.submit(parent);
  }
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.runs_of("child"), SizeIs(1));
  EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "child")));
  EXPECT_TRUE(is_done(bundle.act(Verb::kResume, "child")));
  bundle.run_for(minutes{5});
  EXPECT_THAT(bundle.runs_of("child"), SizeIs(4)) << bundle.story("child");
}

TEST(TriggeredRun, DoesNotUseUpTheScheduleCount) {
  TrackerBundle bundle;
  JobSpec job = job_every("a", minutes{5});
  job.overlap = Overlap::kQueue;
  job.schedule.count = 4;
  job.schedule.first = bundle.now() + minutes{5};
  bundle.submit(job);
  trigger_without_a_worker(bundle, "a", 2);
  EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "a")));
  EXPECT_TRUE(is_done(bundle.act(Verb::kResume, "a")));
  bundle.add_worker();
  bundle.run_for(hours{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(6)) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(TriggeredRun, GetsItsOwnHistoryRowOnCancelOrReplace) {
  for (const Overlap overlap : kOverlaps) {
    for (const Verb verb : {Verb::kCancel, kReplace}) {
      for (const bool restarts : {false, true}) {
        SCOPED_TRACE(::testing::Message() << static_cast<int>(overlap) << ' '
                                          << static_cast<int>(verb) << ' ' << restarts);
        TrackerBundle bundle;
        JobSpec job = told(job_manual("a"));
        job.overlap = overlap;
        bundle.submit(job);
        const auto ids = trigger_without_a_worker(bundle, "a", 2);
        const WallTime asked = bundle.waiting("a").front().trigger_time;
        if (restarts) bundle.restart_after(seconds{5});
        EXPECT_TRUE(call_off(bundle, verb, job));
        for (const JobId id : ids) {
          const auto rows = rows_of(bundle, id);
          ASSERT_THAT(states(rows), ElementsAre(LogState::kCancelled)) << bundle.story("a");
          EXPECT_TRUE(rows[0].final);
          EXPECT_EQ(rows[0].attempt, 0);
          EXPECT_EQ(rows[0].count, 1);
          EXPECT_EQ(rows[0].task_id, "a");
          EXPECT_LT(rows[0].trigger_time - asked, seconds{1});
          EXPECT_EQ(rows[0].message, verb == Verb::kCancel ? "the job was cancelled"
                                                           : "replaced by a newer submission");
        }
        EXPECT_THAT(bundle.tables().feedback, SizeIs(2)) << "each is told";
        EXPECT_EQ(bundle.stat("feedback_waiting"), 2);
        bundle.add_worker();
        bundle.run_for(minutes{5});
        EXPECT_THAT(bundle.runs_of("a"), IsEmpty());
      }
    }
  }
}

TEST(TriggeredRun, GetsItsOwnHistoryRowWhenQueuedBehindARun) {
  for (const Verb verb : {Verb::kCancel, kReplace}) {
    TrackerBundle bundle;
    runs_take(bundle.add_worker({.threads = 4}), minutes{1});
    JobSpec job = told(job_manual("a"));
    job.overlap = Overlap::kQueue;
    bundle.submit(job);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(is_done(bundle.act(Verb::kTrigger, "a")));
      bundle.run_for(seconds{1});
    }
    EXPECT_TRUE(call_off(bundle, verb, job));
    bundle.run_for(minutes{5});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
    auto rows = bundle.log("a");
    std::erase_if(rows, [](const LogEntry& row) { return !row.job_id; });
    EXPECT_THAT(rows, SizeIs(3)) << bundle.story("a");
    EXPECT_THAT(bundle.tables().feedback, SizeIs(3));
  }
}

// It kills task trackers, and cannot be triggered until it is resumed: nothing of it waits for
// that.
TEST(TriggeredRun, GetsItsOwnHistoryRowOnQuarantine) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    JobSpec job = told(job_manual("a"));
    job.overlap = overlap;
    bundle.submit(job);
    const auto ids = trigger_without_a_worker(bundle, "a", 3);
    for (int i = 0; i < 3; ++i) {
      FakeWorker& worker = bundle.add_worker({.threads = 1});
      runs_take(worker, hours{9});
      bundle.run_until([&] { return worker.busy() > 0; });
      worker.die();
      bundle.run_for(seconds{5});
    }
    ASSERT_EQ(bundle.definition("a")->state, DefinitionState::kQuarantined) << bundle.story("a");
    bundle.add_worker();
    bundle.run_for(minutes{5});
    for (const JobId id : ids) {
      const auto rows = rows_of(bundle, id);
      ASSERT_THAT(rows, ::testing::Not(IsEmpty()));
      EXPECT_THAT(rows.back(), Field(&LogEntry::state, LogState::kCancelled)) << bundle.story("a");
    }
    EXPECT_THAT(bundle.tables().feedback, SizeIs(3));
    EXPECT_THAT(bundle.waiting(), IsEmpty());
    EXPECT_TRUE(is_done(bundle.act(Verb::kResume, "a")));
    EXPECT_TRUE(is_done(bundle.act(Verb::kTrigger, "a")));
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(4)) << bundle.story("a");
  }
}

// A suspension and what was triggered pass each other in every order.
TEST(TriggeredRun, RunsOnceWhenStoredDuringASuspension) {
  for (int moment = 0; moment < 80; moment += 2) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    bundle.add_worker({.threads = 4});
    bundle.submit(job_manual("a"));
    bundle.connection().work_time = [] { return std::chrono::milliseconds{20}; };
    bundle.client.act({.verb = Verb::kTrigger, .group = "default", .task_id = "a"});
    bundle.run_for(std::chrono::milliseconds{moment});
    EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "a")));
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(1)) << bundle.story("a");
  }
}

}  // namespace
}  // namespace carillon::jobtracker
