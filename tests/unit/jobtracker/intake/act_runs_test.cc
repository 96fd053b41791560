#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Runs that are killed or cancelled, in whatever state they are.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_at;
using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using wire::Verb;

// "ok", or the error's message.
std::string result_of(const wire::Message& answer) {
  if (std::holds_alternative<wire::Acted>(answer)) return "ok";
  if (const auto* error = std::get_if<wire::ErrorReply>(&answer)) return error->error.message;
  return "no answer";
}

TEST(Act, KillStopsADefinitionsRunsButNotItsNextFire) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), hours{1});
  bundle.submit(job_every("a", minutes{1}));
  bundle.run_for(seconds{30});
  EXPECT_EQ(result_of(bundle.act(Verb::kKill, "a")), "ok");
  bundle.run_for(minutes{1});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_TRUE(bundle.runs()[0].was_killed);
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kKilled));
}

// By a job that waits, and by one that runs.
TEST(Act, KillAndCancelStopTheReplacedJobsRun) {
  for (const Verb verb : {Verb::kKill, Verb::kCancel}) {
    for (const bool waits : {true, false}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(verb) << ' ' << waits);
      TrackerBundle bundle;
      runs_take(bundle.add_worker({.threads = 2}), hours{3});
      bundle.submit(job_manual("a"));
      bundle.act(Verb::kTrigger, "a");
      bundle.run_for(seconds{5});
      JobSpec next = waits ? job_at("a", bundle.now() + hours{1}) : job_now("a");
      next.replace_on_exist = true;
      bundle.submit(next);
      bundle.run_for(seconds{5});
      ASSERT_THAT(bundle.runs(), SizeIs(waits ? 1 : 2));
      EXPECT_EQ(result_of(bundle.act(verb, "a")), "ok");
      bundle.run_for(seconds{5});
      for (const auto& run : bundle.runs()) EXPECT_TRUE(run.was_killed);
      bundle.run_for(hours{2});
      EXPECT_THAT(bundle.runs(), SizeIs(waits && verb == Verb::kCancel ? 1 : 2))
          << "what waits goes on waiting, unless it was cancelled";
    }
  }
}

TEST(Act, RunThatFailsDuringItsCancelIsNotRetried) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  worker.behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = seconds{2}, .outcome = wire::RunOutcome::kException};
  };
  JobSpec job = job_manual("a");
  job.retries = {.max = 3, .base = seconds{1}};
  bundle.submit(job);
  EXPECT_EQ(result_of(bundle.act(Verb::kTrigger, "a")), "ok");
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  bundle.run_for(seconds{1});
  bundle.connection().work_time = [] { return seconds{2}; };
  bundle.client.act({.verb = Verb::kCancel, .group = "default", .task_id = "a"});
  bundle.run_for(minutes{1});
  auto log = bundle.log("a");
  std::erase_if(log, [](const LogEntry& entry) { return !entry.job_id; });
  EXPECT_THAT(states(log), ElementsAre(LogState::kFailed)) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

// Near the job tracker's horizon, and beyond it.
TEST(Act, KillEndsARunThatWaitsForItsRetry) {
  for (const Duration wait : {minutes{5}, minutes{30}}) {
    for (const bool is_named : {true, false}) {
      SCOPED_TRACE(::testing::Message() << wait.count() << ' ' << is_named);
      TrackerBundle bundle;
      bundle.add_worker().behaviour = [](const auto&, const auto&) {
        return FakeRun{.outcome = wire::RunOutcome::kException};
      };
      JobSpec fire = job_every("fire", hours{1});
      JobSpec manual = job_manual("manual");
      JobSpec once = job_now("once");
      for (JobSpec* job : {&fire, &manual, &once}) job->retries = {.max = 1, .base = wait};
      bundle.submit({fire, manual, once});
      EXPECT_EQ(result_of(bundle.act(Verb::kTrigger, "manual")), "ok");
      bundle.run_for(seconds{10});
      for (const char* task : {"fire", "manual", "once"}) {
        ASSERT_THAT(states(bundle.log(task)), ElementsAre(LogState::kFailed));
        const JobId id = bundle.log(task)[0].job_id;
        EXPECT_EQ(result_of(is_named ? bundle.act(Verb::kKill, task)
                                     : bundle.act({.verb = Verb::kKill, .job_id = id})),
                  "ok");
        const auto log = bundle.log(task);
        ASSERT_THAT(states(log), ElementsAre(LogState::kFailed, LogState::kCancelled));
        EXPECT_EQ(log[1].job_id, id);
        EXPECT_EQ(log[1].attempt, 0);
        EXPECT_TRUE(log[1].final);
        EXPECT_EQ(log[1].message, "killed before it ran again");
      }
      bundle.run_for(minutes{40});
      EXPECT_THAT(bundle.runs(), SizeIs(3)) << "none is tried again";
      bundle.run_for(minutes{21});
      EXPECT_THAT(bundle.runs_of("fire"), SizeIs(2)) << "the next fire comes";
      EXPECT_NE(bundle.definition("manual"), nullptr);
    }
  }
}

TEST(Act, KillEndsWaitingRetriesAsWellAsExecutingRuns) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 5});
  int begun = 0;
  worker.behaviour = [&begun](const auto&, const auto&) {
    return ++begun <= 2 ? FakeRun{.outcome = wire::RunOutcome::kException}
                        : FakeRun{.time = hours{1}};
  };
  JobSpec job = job_every("a", minutes{1});
  job.overlap = Overlap::kParallel;
  job.retries = {.max = 3, .base = minutes{20}};
  bundle.submit(job);
  bundle.run_for(minutes{3} + seconds{30});
  ASSERT_EQ(worker.busy(), 2);
  const wire::Message answer = bundle.act(Verb::kKill, "a");
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(answer)) << result_of(answer);
  EXPECT_EQ(std::get<wire::Acted>(answer).message,
            "2 runs of task 'a' were executing and are told to stop; "
            "2 runs of task 'a' will not be retried");
  bundle.run_for(seconds{10});
  EXPECT_EQ(worker.busy(), 0);
  EXPECT_THAT(states(bundle.log("a")),
              ElementsAre(LogState::kFailed, LogState::kFailed, LogState::kCancelled,
                          LogState::kCancelled, LogState::kKilled, LogState::kKilled));
}

TEST(Act, ResentKillEndsNoOtherRun) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.outcome = wire::RunOutcome::kException};
  };
  JobSpec job = job_manual("a");
  job.retries = {.max = 1, .base = minutes{2}};
  bundle.submit(job);
  bundle.act(Verb::kTrigger, "a");
  bundle.run_for(seconds{10});
  const auto sequence =
      bundle.client.act({.verb = Verb::kKill, .group = "default", .task_id = "a"});
  bundle.run_for(seconds{1});
  ASSERT_NE(std::get_if<wire::Acted>(bundle.client.answer_to(sequence)), nullptr);
  bundle.act(Verb::kTrigger, "a");
  bundle.run_for(seconds{10});
  bundle.client.send_again(sequence);
  bundle.run_for(minutes{5});
  EXPECT_NE(std::get_if<wire::Acted>(bundle.client.answer_to(sequence)), nullptr);
  EXPECT_THAT(bundle.runs(), SizeIs(3)) << "the second was tried again";
}

TEST(Act, ConcurrentKillAndSuspendEndARunOnce) {
  for (const Verb first : {Verb::kKill, Verb::kSuspend}) {
    SCOPED_TRACE(static_cast<int>(first));
    TrackerBundle bundle;
    bundle.add_worker().behaviour = [](const auto&, const auto&) {
      return FakeRun{.outcome = wire::RunOutcome::kException};
    };
    JobSpec job = job_every("a", hours{1});
    job.retries = {.max = 1, .base = minutes{2}};
    bundle.submit(job);
    bundle.run_for(seconds{10});
    bundle.connection().work_time = [] { return milliseconds{50}; };
    const Verb second = first == Verb::kKill ? Verb::kSuspend : Verb::kKill;
    for (const Verb verb : {first, second})
      bundle.client.act({.verb = verb, .group = "default", .task_id = "a"});
    bundle.run_for(seconds{5});
    EXPECT_EQ(bundle.client.unanswered(), 0U);
    EXPECT_EQ(result_of(bundle.act(Verb::kResume, "a")), "ok");
    bundle.run_for(minutes{30});
    EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kFailed, LogState::kCancelled));
    bundle.run_for(minutes{31});
    EXPECT_THAT(bundle.runs(), SizeIs(2)) << "the next fire has come";
  }
}

TEST(Act, KillOfAJobIdStopsThatRunOnly) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, minutes{10});
  const auto first = bundle.submit(job_now("a"));
  bundle.submit(job_now("b"));
  bundle.run_for(seconds{2});
  EXPECT_EQ(result_of(bundle.act({.verb = Verb::kKill, .job_id = first.job_id})), "ok");
  bundle.run_for(seconds{1});
  EXPECT_EQ(worker.busy(), 1);
  EXPECT_THAT(bundle.log("a"), SizeIs(1));
}

}  // namespace
}  // namespace carillon::jobtracker
