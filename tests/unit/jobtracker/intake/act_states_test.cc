#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// A cancel is final and a suspension holds, whatever state a job is in.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::SizeIs;
using wire::Verb;

bool is_done(const wire::Message& answer) { return std::holds_alternative<wire::Acted>(answer); }

// Job "a" comes into some state.
struct InState {
  const char* name;
  std::function<void(TrackerBundle&)> bring{};
};

JobSpec with_retries(JobSpec job) {
  job.retries = {.max = 5, .base = minutes{30}};
  return job;
}

void run_with(TrackerBundle& bundle, const JobSpec& job, const FakeRun& run) {
  bundle.add_worker({.threads = 4}).behaviour = [run](const auto&, const auto&) { return run; };
  bundle.submit(job);
  bundle.run_for(seconds{35});
}

void suspended(TrackerBundle& bundle, const JobSpec& job) {
  bundle.submit(job);
  bundle.act(Verb::kSuspend, "a");
}

void lose_three_runs(TrackerBundle& bundle, const JobSpec& job) {
  bundle.submit(job);
  for (int i = 0; i < 3; ++i) {
    FakeWorker& worker = bundle.add_worker();
    runs_take(worker, hours{9});
    bundle.run_until([&] { return worker.busy() > 0; });
    worker.die();
    bundle.run_for(seconds{5});
  }
}

JobSpec in_line(Overlap overlap) {
  JobSpec job = job_every("a", seconds{10});
  job.overlap = overlap;
  return job;
}

const FakeRun kLong{.time = hours{1}};
const FakeRun kFails{.outcome = wire::RunOutcome::kException};
const FakeRun kPutsOff{.outcome = wire::RunOutcome::kLater, .later = minutes{30}};

const InState kStates[] = {
    {"Waiting", [](TrackerBundle& one) { one.submit(job_now("a")); }},
    {"Delayed", [](TrackerBundle& one) { one.submit(job_at("a", one.now() + hours{1})); }},
    {"Suspended", [](TrackerBundle& one) { suspended(one, job_at("a", one.now() + hours{1})); }},
    {"Executing", [](TrackerBundle& one) { run_with(one, with_retries(job_now("a")), kLong); }},
    {"BeforeItsRetry",
     [](TrackerBundle& one) { run_with(one, with_retries(job_now("a")), kFails); }},
    {"PutOff", [](TrackerBundle& one) { run_with(one, job_now("a"), kPutsOff); }},
    {"InQuarantine", [](TrackerBundle& one) { lose_three_runs(one, job_now("a")); }},
    {"BetweenTwoFires", [](TrackerBundle& one) { run_with(one, job_every("a", minutes{1}), {}); }},
    {"ARunOfASchedule",
     [](TrackerBundle& one) { run_with(one, with_retries(job_every("a", minutes{1})), kLong); }},
    {"ARunOfAScheduleBeforeItsRetry",
     [](TrackerBundle& one) { run_with(one, with_retries(job_every("a", minutes{1})), kFails); }},
    {"InLineBehindARun",
     [](TrackerBundle& one) { run_with(one, in_line(Overlap::kQueue), kLong); }},
    {"TheLatestBehindARun",
     [](TrackerBundle& one) { run_with(one, in_line(Overlap::kQueueOne), kLong); }},
    {"BesideOtherRuns",
     [](TrackerBundle& one) { run_with(one, in_line(Overlap::kParallel), kLong); }},
    {"ASuspendedSchedule", [](TrackerBundle& one) { suspended(one, job_every("a", minutes{1})); }},
    {"AScheduleInQuarantine",
     [](TrackerBundle& one) { lose_three_runs(one, job_every("a", minutes{1})); }},
};

class CancelOf : public ::testing::TestWithParam<InState> {};

TEST_P(CancelOf, JobInAnyStateIsFinal) {
  TrackerBundle bundle;
  GetParam().bring(bundle);
  const std::size_t begun = bundle.runs_of("a").size();
  EXPECT_TRUE(is_done(bundle.act(Verb::kCancel, "a")));
  bundle.restart_after(seconds{1});
  bundle.add_worker({.threads = 4});
  bundle.run_for(hours{2});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(begun)) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty()) << bundle.story("a");
  EXPECT_EQ(bundle.submit(job_now("a")).status, wire::SubmitStatus::kAccepted);
}

INSTANTIATE_TEST_SUITE_P(States, CancelOf, ::testing::ValuesIn(kStates),
                         [](const auto& test) { return test.param.name; });

TEST(SuspensionOf, ScheduleHoldsForEveryOverlapRule) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne,
                                Overlap::kCancelRunning, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    run_with(bundle, in_line(overlap), {.time = seconds{25}});
    EXPECT_TRUE(is_done(bundle.act(Verb::kSuspend, "a")));
    const std::size_t begun = bundle.runs_of("a").size();
    bundle.run_for(minutes{5});
    bundle.restart_after(minutes{1});
    bundle.run_for(hours{1});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(begun)) << bundle.story("a");
    EXPECT_TRUE(is_done(bundle.act(Verb::kResume, "a")));
    bundle.run_for(minutes{1});
    EXPECT_GT(bundle.runs_of("a").size(), begun) << bundle.story("a");
  }
}

}  // namespace
}  // namespace carillon::jobtracker
