#include "tasktracker/worker.h"

#include <atomic>
#include <barrier>
#include <map>
#include <sstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/log.h"
#include "tests/integration/tasktracker/worker_bundle.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

using Bundle = WorkerBundle;

TEST(Worker, RunsAJobAndReportsIt) {
  Bundle b;
  b.start();
  const wire::RunResult result = b.run(Bundle::handler("noop"));
  EXPECT_EQ(result.outcome, wire::RunOutcome::kSucceeded);
  EXPECT_EQ(result.id, (wire::AttemptId{JobId{1}, 1}));
  EXPECT_GE(result.ended_at, result.started_at);
  EXPECT_EQ(b.ready, 1);
}

TEST(Worker, SendsTheOutputOfARunBeforeItsResult) {
  Bundle b;
  b.start();
  JobSpec spec = Bundle::handler("echo", "payload");
  spec.params = {{"a", "1"}};
  EXPECT_EQ(b.run(spec).outcome, wire::RunOutcome::kSucceeded);
  EXPECT_EQ(b.output(), "a=1\npayload\n");
  EXPECT_THAT(b.tracker().order, ElementsAre("output 1", "result 1"));
}

TEST(Worker, SendsOutputWhileTheJobStillRuns) {
  Bundle b;
  b.handlers["talk"] = [](JobContext& context) {
    context.log("halfway");
    context.wait(seconds{60});
    return RunReport::succeeded();
  };
  b.start();
  b.tracker().submit(1, Bundle::handler("talk"));
  EXPECT_TRUE(b.until([&] { return b.tracker().output_of(1) == "halfway\n"; }));
  EXPECT_EQ(b.tracker().result_of(1), nullptr);
}

TEST(Worker, TakesNoJobsWhileOverloadedAndReportsWhy) {
  Bundle b(Bundle::Options{.threads = 2, .load = {.memory = 90}});
  b.start();
  ASSERT_TRUE(b.hold(1, "60s"));
  b.machine.memory_used = 95;
  ASSERT_TRUE(b.until([&] { return b.tracker().last_pull().overload == "memory 95%"; }));
  EXPECT_EQ(b.tracker().last_pull().window, 0);
  b.tracker().submit(2, Bundle::handler("noop"));
  const SteadyTime later = b.clock.steady_now() + milliseconds{1500};
  EXPECT_TRUE(b.until([&] { return b.clock.steady_now() > later; }));
  EXPECT_EQ(b.tracker().waiting(), 1U);
  EXPECT_EQ(b.tracker().result_of(1), nullptr) << "what runs goes on";
  b.machine.memory_used = 80;
  EXPECT_TRUE(b.until_result(2));
  EXPECT_EQ(b.tracker().last_pull().overload, "");
}

TEST(Worker, RunsEachJobExactlyOnce) {
  Bundle b(Bundle::Options{.threads = 2});
  b.start();
  for (int job = 1; job <= 5000; ++job) b.tracker().submit(job, Bundle::handler("noop"));
  ASSERT_TRUE(b.until([&] { return b.tracker().results.size() >= 5000; }));
  std::map<std::int64_t, int> times;
  for (const wire::RunResult& result : b.tracker().results) ++times[result.id.job_id.value];
  EXPECT_THAT(times, SizeIs(5000));
  EXPECT_THAT(b.tracker().results, SizeIs(5000));
}

TEST(Worker, KeepsLogLinesWithTheirJobAcrossThreads) {
  constexpr int kAtOnce = 8;
  constexpr int kJobs = 8 * kAtOnce;
  constexpr int kLines = 50;
  Bundle b(Bundle::Options{.threads = kAtOnce});
  std::barrier everybody(kAtOnce);  // speaks before anybody says the next line
  b.handlers["talk"] = [&everybody](JobContext& context) {
    const std::string name = context.job().task_id;
    for (int line = 0; line < kLines; ++line) {
      everybody.arrive_and_wait();
      context.log(name + " says " + std::to_string(line));
    }
    return RunReport::succeeded();
  };
  b.start();
  for (int job = 1; job <= kJobs; ++job) b.tracker().submit(job, Bundle::handler("talk"));
  ASSERT_TRUE(b.until([&] { return b.tracker().results.size() >= kJobs; }));
  for (int job = 1; job <= kJobs; ++job) {
    std::string wanted;
    for (int line = 0; line < kLines; ++line) {
      wanted += "t" + std::to_string(job) + " says " + std::to_string(line) + "\n";
    }
    EXPECT_EQ(b.tracker().output_of(job), wanted) << job;
  }
}

TEST(Worker, SurvivesAHandlerThatThrows) {
  Bundle b;
  b.handlers["bad"] = [](JobContext&) -> RunReport { throw std::runtime_error("boom"); };
  b.start();
  const wire::RunResult result = b.run(Bundle::handler("bad"));
  EXPECT_EQ(result.outcome, wire::RunOutcome::kException);
  EXPECT_THAT(result.message, HasSubstr("boom"));
  EXPECT_EQ(b.run(Bundle::handler("noop")).outcome, wire::RunOutcome::kSucceeded);
}

// What is logged when two registrations are answered so.
std::string log_of_refusal(const Error& refusal) {
  set_log_level(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  Bundle b;
  b.tracker().refusal = refusal;
  b.start();
  EXPECT_TRUE(b.until([&] { return b.tracker().registrations.size() == 2; }));
  std::istringstream lines(::testing::internal::GetCapturedStderr());
  std::string said;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(refusal.message) != std::string::npos) said += line + "\n";
  }
  return said;
}

TEST(Worker, LogsOnlyAPermanentRefusalAsAnError) {
  EXPECT_THAT(log_of_refusal({ErrorCode::kUnavailable, "is starting"}),
              MatchesRegex("[^\n]* info [^\n]*is starting\"\n"));
  EXPECT_THAT(log_of_refusal({ErrorCode::kInvalidArgument, "no such group"}),
              MatchesRegex("[^\n]* error [^\n]*no such group\"\n"));
}

TEST(Worker, ListsItsHandlersWhenOneIsMissing) {
  Bundle b;
  b.start();
  const wire::RunResult result = b.run(Bundle::handler("ecko"));
  EXPECT_EQ(result.outcome, wire::RunOutcome::kException);
  EXPECT_THAT(result.message, HasSubstr("no handler 'ecko' on worker 'host-1'"));
  EXPECT_THAT(result.message, HasSubstr("did you mean 'echo'"));
  EXPECT_THAT(result.message, HasSubstr("it has: echo fail hold noop sleep"));
}

// Whatever comes stands still with the process until its lease has ended.
class LateRuns final : public Runs {
 public:
  void add(std::vector<wire::HandedJob>&& jobs, SteadyTime) override {
    for (const wire::HandedJob& job : jobs) {
      late_.push_back({.came_late = true, .result = {.id = job.id}});
    }
  }
  void close() override {}
  std::vector<wire::AttemptId> reclaim(std::optional<SteadyTime>) override { return {}; }
  Stopped stop(wire::AttemptId, StopReason, const std::string&) override { return {}; }
  void stop_all(StopReason, const std::string&, bool) override {}
  std::optional<SteadyTime> keep_time(SteadyTime) override { return std::nullopt; }
  void collect(PoolNews& news, bool) override { news.ended.swap(late_); }
  std::vector<wire::AttemptId> waiting() const override { return {}; }

 private:
  std::vector<Ended> late_;
};

TEST(Worker, GivesBackAJobThatMayNoLongerStart) {
  Bundle b;
  LateRuns runs;
  auto transport = std::make_unique<FakeTracker>(b.loop);
  FakeTracker& tracker = *transport;
  std::vector<TrackerAddress> list;
  list.push_back({.endpoint = "tracker", .transport = std::move(transport)});
  WorkerConfig config;
  config.fetcher.session = SessionId{78};
  config.fetcher.threads = 2;
  Worker worker(config, runs, b.loop, b.clock, std::move(list), ReportOutbox(nullptr, 0), {});
  b.loop.at_end_of_turn([&] {
    worker.end_turn();
    return false;
  });
  tracker.connect();
  tracker.submit(1, Bundle::handler("noop"));
  ASSERT_TRUE(b.until([&] { return !tracker.given_back.empty(); }));
  EXPECT_EQ(tracker.given_back[0], (wire::AttemptId{JobId{1}, 1}));
  EXPECT_EQ(tracker.result_of(1), nullptr);
}

TEST(Worker, StartsADeferredJobAtItsTimeUnlessKilledBefore) {
  Bundle b(Bundle::Options{.threads = 2});
  b.start();
  const SteadyTime handed = b.clock.steady_now();
  for (const std::int64_t job : {1, 2}) {
    b.tracker().submit({.id = {JobId{job}, 1},
                        .spec = wire::encode_spec(Bundle::handler("noop")),
                        .wait = seconds{1}});
  }
  ASSERT_TRUE(b.until([&] { return b.tracker().waiting() == 0; }));
  b.tracker().kill(2);
  ASSERT_TRUE(b.until([&] { return !b.tracker().given_back.empty(); }));
  EXPECT_EQ(b.tracker().given_back[0], (wire::AttemptId{JobId{2}, 1}));
  EXPECT_LT(b.clock.steady_now() - handed, seconds{1}) << "no attempt was made";
  ASSERT_TRUE(b.until([&] { return b.tracker().result_of(1) != nullptr; }));
  EXPECT_GE(b.clock.steady_now() - handed, seconds{1});
}

TEST(Worker, GivesBackJobsOfAForbiddenKindAfterADelay) {
  Bundle b(Bundle::Options{.threads = 2, .allow = {RunKind::kHandler, RunKind::kHttp}});
  b.start();
  const SteadyTime handed = b.clock.steady_now();
  b.tracker().submit(1, Bundle::shell("true"));
  ASSERT_TRUE(b.until([&] { return !b.tracker().given_back.empty(); }));
  EXPECT_EQ(b.tracker().given_back[0], (wire::AttemptId{JobId{1}, 1}));
  EXPECT_GE(b.clock.steady_now() - handed, seconds{1}) << "or it would come back at once";
  EXPECT_EQ(b.tracker().result_of(1), nullptr);
  EXPECT_EQ(b.run(Bundle::handler("noop")).outcome, wire::RunOutcome::kSucceeded);
}

TEST(Worker, GivesBackJobsOfForbiddenKindsAtOnceWhenStopping) {
  Bundle b(Bundle::Options{.allow = {RunKind::kHandler}});
  b.start();
  b.tracker().submit(1, Bundle::shell("true"));
  ASSERT_TRUE(b.until([&] { return b.tracker().waiting() == 0; }));
  b.loop.run_once(milliseconds{20});
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_FALSE(b.tracker().given_back.empty());
  EXPECT_EQ(b.tracker().byes, 1);
}

TEST(Worker, FailsAnUnreadableJobPermanently) {
  Bundle b;
  b.start();
  b.tracker().submit({.id = {JobId{1}, 1}, .spec = "\xC1 no map"});
  ASSERT_TRUE(b.until_result(1));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kFailed);
  EXPECT_THAT(b.tracker().result_of(1)->message, HasSubstr("cannot be read"));
}

TEST(Worker, StopsAHandlerAtItsTimeout) {
  Bundle b;
  b.start();
  JobSpec spec = Bundle::handler("sleep", "60s");
  spec.timeout = milliseconds{30};
  const wire::RunResult result = b.run(spec);
  EXPECT_EQ(result.outcome, wire::RunOutcome::kTimedOut);
  EXPECT_EQ(result.message, "timed out after 30ms");
}

TEST(Worker, LetsARunEndWithinItsTimeLimit) {
  Bundle b;
  b.start();
  JobSpec spec = Bundle::handler("noop");
  spec.timeout = seconds{60};
  EXPECT_EQ(b.run(spec).outcome, wire::RunOutcome::kSucceeded);
}

TEST(Worker, KillsARunOnRequest) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.hold(1, "60s"));
  b.tracker().submit(2, Bundle::handler("noop"));
  b.tracker().kill(1);
  ASSERT_TRUE(b.until_result(1));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kKilled);
  EXPECT_EQ(b.tracker().result_of(1)->message, "killed: by ann");
  EXPECT_TRUE(b.until_result(2)) << "and goes on";
}

TEST(Worker, KillsAJobThatHasNotStarted) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.hold(1, "60s"));
  b.tracker().push(2, Bundle::handler("noop"));
  b.tracker().kill(2);
  ASSERT_TRUE(b.until_result(2));
  EXPECT_EQ(b.tracker().result_of(2)->outcome, wire::RunOutcome::kKilled);
  EXPECT_EQ(b.tracker().result_of(2)->message, "killed: by ann (before it started)");
}

TEST(Worker, GivesBackJobsThatWaitTooLongForAThread) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.hold(1, "60s"));
  b.tracker().push(2, Bundle::handler("noop"));
  ASSERT_TRUE(b.until([&] { return !b.tracker().given_back.empty(); }));
  EXPECT_EQ(b.tracker().given_back[0], (wire::AttemptId{JobId{2}, 1}));
  EXPECT_EQ(b.tracker().result_of(1), nullptr);
}

TEST(Worker, ResendsResultsAfterAReconnect) {
  Bundle b;
  b.start();
  b.tracker().confirms = false;
  b.tracker().submit(1, Bundle::handler("noop"));
  ASSERT_TRUE(b.until_result(1));
  b.tracker().disconnect();
  ASSERT_TRUE(b.until([&] { return !b.tracker().is_connected(); }));
  b.tracker().results.clear();
  b.tracker().confirms = true;
  b.tracker().connect();
  ASSERT_TRUE(b.until_result(1));
  ASSERT_THAT(b.tracker().registrations, SizeIs(2));
  ASSERT_THAT(b.tracker().registrations[1].holding, SizeIs(1));
  EXPECT_TRUE(b.tracker().registrations[1].holding[0].started);
}

TEST(Worker, RegistersAgainWithItsRunsWhenTheTrackerForgotIt) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.hold(1, "300ms"));
  b.tracker().knows_session = false;
  ASSERT_TRUE(b.until([&] { return b.tracker().registrations.size() == 2; }));
  EXPECT_THAT(b.tracker().registrations[1].holding, SizeIs(1));
  ASSERT_TRUE(b.until_result(1));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kSucceeded);
}

// The answer of the job tracker's previous session is late. If it counted, the worker would refuse
// each job of the new session.
TEST(Worker, AcceptsOnlyTheAnswerToItsLatestRegistration) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.ready == 1; }));
  b.tracker().tracker_session = 6;
  b.tracker().knows_session = false;
  b.tracker().answers_after = milliseconds{200};
  ASSERT_TRUE(b.until([&] { return b.tracker().registrations.size() == 2; }));
  b.tracker().answers_after = {};
  b.tracker().answer_registration_before();
  ASSERT_TRUE(b.until([&] { return b.ready == 2; }));
  b.tracker().submit(1, Bundle::handler("noop"));
  EXPECT_TRUE(b.until_result(1));
}

TEST(Worker, DrainsByFinishingRunsAndGivingBackTheRest) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.hold(1, "200ms"));
  b.tracker().push(2, Bundle::handler("noop"));
  b.loop.run_once(milliseconds{0});
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kSucceeded);
  EXPECT_THAT(b.tracker().order, ElementsAre("give back 2", "result 1"));
  EXPECT_EQ(b.tracker().byes, 1);
}

// Nobody may wait for a lease because a hand-out crossed the stop.
TEST(Worker, GivesBackJobsHandedOutDuringItsLastDelivery) {
  Bundle b;
  b.start();
  b.tracker().confirms = false;
  b.tracker().submit(1, Bundle::handler("noop"));
  ASSERT_TRUE(b.until_result(1));
  b.worker->request_stop(seconds{30});
  b.loop.run_once(milliseconds{0});
  b.tracker().push(2, Bundle::handler("noop"));
  b.tracker().confirm(1);
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_THAT(b.tracker().given_back, ElementsAre(wire::AttemptId{JobId{2}, 1}));
  EXPECT_EQ(b.tracker().byes, 1);
}

TEST(Worker, RepeatsGoodbyeUntilItIsAnswered) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.ready == 1; }));
  b.tracker().answers_byes = false;
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.tracker().byes >= 3; }));
  EXPECT_FALSE(b.stopped);
  b.tracker().answers_byes = true;
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_TRUE(b.worker->has_left());
}

TEST(Worker, SecondSignalEndsItWithoutAGoodbyeAnswer) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.ready == 1; }));
  b.tracker().answers_byes = false;
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.tracker().byes > 0; }));
  const SteadyTime asked = b.clock.steady_now();
  b.worker->request_stop(seconds{0});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_LT(b.clock.steady_now() - asked, seconds{3}) << "it would wait for five";
  EXPECT_FALSE(b.worker->has_left());
}

// Whoever is told goodbye takes back what is claimed for it.
TEST(Worker, RunsNoJobHandedOutAfterItsGoodbye) {
  Bundle b;
  std::atomic<bool> has_run = false;
  b.handlers["note"] = [&has_run](JobContext&) {
    has_run = true;
    return RunReport::succeeded();
  };
  b.start();
  ASSERT_TRUE(b.until([&] { return b.ready == 1; }));
  b.tracker().answers_byes = false;
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.tracker().byes > 0; }));
  b.tracker().push(2, Bundle::handler("note"));
  const int byes = b.tracker().byes;
  ASSERT_TRUE(b.until([&] { return b.tracker().byes > byes + 1; }))
      << "a thread has time to run it";
  b.tracker().answers_byes = true;
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_FALSE(has_run);
  EXPECT_EQ(b.tracker().result_of(2), nullptr);
  EXPECT_THAT(b.tracker().given_back, IsEmpty());
}

TEST(Worker, SkipsGoodbyeAfterALeaseWithoutATracker) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.ready == 1; }));
  b.tracker().disconnect();
  const SteadyTime cut = b.clock.steady_now();
  ASSERT_TRUE(b.until([&] { return b.clock.steady_now() > cut + seconds{4}; }));
  const SteadyTime asked = b.clock.steady_now();
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_LT(b.clock.steady_now() - asked, seconds{3});
  EXPECT_FALSE(b.worker->has_left());
}

TEST(Worker, WaitsToSayGoodbyeToATrackerThatJustDisconnected) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.ready == 1; }));
  b.tracker().disconnect();
  const SteadyTime cut = b.clock.steady_now();
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.clock.steady_now() > cut + seconds{1}; }));
  EXPECT_FALSE(b.stopped);
  b.tracker().connect();
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_TRUE(b.worker->has_left());
  EXPECT_GT(b.tracker().byes, 0);
}

TEST(Worker, RequeuesRunsThatOutlastTheDrainTimeout) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.hold(1, "60s"));
  b.worker->request_stop(milliseconds{50});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kLater);
  EXPECT_THAT(b.tracker().result_of(1)->message, HasSubstr("worker 'host-1' shuts down"));
}

TEST(Worker, StopsAtOnceOnASecondRequest) {
  Bundle b;
  b.start();
  ASSERT_TRUE(b.hold(1, "60s"));
  b.worker->request_stop(seconds{60});
  b.loop.run_once(milliseconds{0});
  b.worker->request_stop(seconds{0});
  EXPECT_TRUE(b.until([&] { return b.stopped; }));
}

TEST(Worker, StopsWithoutAnyTracker) {
  Bundle b;
  b.start_alone();
  b.worker->request_stop(seconds{60});
  EXPECT_TRUE(b.until([&] { return b.stopped; }));
}

// Two addresses, each of a session of its own; the worker works for the first, and runs its job 1.
struct TwoAddresses : Bundle {
  TwoAddresses() : Bundle(Options{.threads = 2, .trackers = 2}) { next().tracker_session = 6; }

  FakeTracker& next() { return *trackers.at(1); }
  void start_with_a_run(const std::string& duration) {
    start();
    ASSERT_TRUE(hold(1, duration));
  }
  bool until_registered_at(FakeTracker& at) {
    return until([&at] { return !at.registrations.empty(); });
  }
};

TEST(Worker, WorksForOneJobTrackerAtATime) {
  TwoAddresses b;
  b.next().submit(9, Bundle::handler("noop"));
  b.start();
  EXPECT_EQ(b.run(Bundle::handler("noop")).outcome, wire::RunOutcome::kSucceeded);
  EXPECT_THAT(b.next().registrations, IsEmpty());
  EXPECT_THAT(b.next().results, IsEmpty());
}

TEST(Worker, FailsOverToTheNextTrackerWithAllItsJobs) {
  TwoAddresses b;
  b.start_with_a_run("300ms");
  b.tracker().confirms = false;
  b.tracker().submit(2, Bundle::handler("noop"));
  ASSERT_TRUE(b.until_result(2));
  b.tracker().disconnect();
  ASSERT_TRUE(b.until_registered_at(b.next()));
  EXPECT_EQ(b.next().registrations[0].session, b.tracker().registrations[0].session);
  EXPECT_THAT(b.next().registrations[0].holding, SizeIs(2));
  ASSERT_TRUE(b.until([&] { return b.next().results.size() == 2; }));
  EXPECT_NE(b.next().result_of(1), nullptr) << "ran on meanwhile";
  EXPECT_NE(b.next().result_of(2), nullptr) << "the first had not confirmed it";
  EXPECT_EQ(b.ready, 2);
}

TEST(Worker, TakesJobsFromTheNextTrackerAfterADisconnect) {
  TwoAddresses b;
  b.start_with_a_run("60s");
  b.next().submit(9, Bundle::handler("noop"));
  b.tracker().disconnect();
  EXPECT_TRUE(b.until([&] { return b.next().result_of(9) != nullptr; }));
}

TEST(Worker, FailsOverWhenATrackerIsSilentForALease) {
  TwoAddresses b;
  b.tracker().lease = milliseconds{200};
  b.start_with_a_run("1s");
  b.tracker().is_silent = true;
  ASSERT_TRUE(b.until_registered_at(b.next()));
  EXPECT_THAT(b.next().registrations[0].holding, SizeIs(1));
  EXPECT_TRUE(b.until([&] { return b.next().result_of(1) != nullptr; }));
}

// Whoever looks after its group by now gives it one lease to come, and may be the last that it
// tries.
TEST(Worker, FailsOverSoonWhenARegistrationIsNotAnswered) {
  TwoAddresses b;
  b.tracker().is_silent = true;
  b.start();
  const SteadyTime started = b.clock.steady_now();
  ASSERT_TRUE(b.until_registered_at(b.next()));
  EXPECT_LT(b.clock.steady_now() - started, b.next().lease - milliseconds{500});
}

TEST(Worker, PassesTwoUnresponsiveTrackersWithinALease) {
  Bundle b(Bundle::Options{.trackers = 3});
  b.tracker().is_silent = true;
  b.trackers[1]->is_silent = true;
  b.start();
  const SteadyTime started = b.clock.steady_now();
  ASSERT_TRUE(b.until([&] { return !b.trackers[2]->registrations.empty(); }));
  EXPECT_LT(b.clock.steady_now() - started, b.tracker().lease - milliseconds{500});
}

// Each time that the near one sends it there, it waits longer.
TEST(Worker, RegistersWithASlowOwnerDespiteRepeatedRedirects) {
  Bundle b(Bundle::Options{.trackers = 2});
  b.tracker().redirects = true;
  b.trackers[1]->answers_after = seconds{1};
  b.start();
  EXPECT_TRUE(b.until([&] { return b.ready > 0; }));
}

TEST(Worker, FailsOverWhenATrackerSaysItStops) {
  TwoAddresses b;
  b.start_with_a_run("60s");
  // It stays with a tracker for a second at least.
  const SteadyTime started = b.clock.steady_now();
  b.tracker().say_that_it_stops();
  ASSERT_TRUE(b.until_registered_at(b.next()));
  EXPECT_LT(b.clock.steady_now() - started, seconds{3}) << "that would be for its silence";
  EXPECT_THAT(b.next().registrations[0].holding, SizeIs(1));
}

TEST(Worker, StopsRunsAfterItsLeaseWhenConfigured) {
  Bundle b(Bundle::Options{.stop_without_lease = true});
  b.tracker().lease = milliseconds{200};
  b.start();
  ASSERT_TRUE(b.hold(1, "60s"));
  b.tracker().is_silent = true;
  const SteadyTime silent_at = b.clock.steady_now();
  ASSERT_TRUE(b.until([&] { return b.clock.steady_now() > silent_at + milliseconds{500}; }));
  b.tracker().is_silent = false;
  ASSERT_TRUE(b.until_result(1));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kLater);
  EXPECT_THAT(b.tracker().result_of(1)->message,
              HasSubstr("the job tracker that owns it did not answer worker 'host-1' for a lease"));
}

TEST(Worker, ContinuesRunsAfterItsLeaseByDefault) {
  Bundle b;
  b.tracker().lease = milliseconds{200};
  b.start();
  ASSERT_TRUE(b.hold(1, "800ms"));
  b.tracker().is_silent = true;
  const SteadyTime silent_at = b.clock.steady_now();
  ASSERT_TRUE(b.until([&] { return b.clock.steady_now() > silent_at + milliseconds{500}; }));
  b.tracker().is_silent = false;
  ASSERT_TRUE(b.until_result(1));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kSucceeded);
}

TEST(Worker, StopsNoRunWhileItHasALease) {
  Bundle b(Bundle::Options{.stop_without_lease = true});
  b.start();
  ASSERT_TRUE(b.hold(1, "200ms"));
  ASSERT_TRUE(b.until_result(1));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kSucceeded);
}

TEST(Worker, FailsOverWhenARegistrationIsRefused) {
  TwoAddresses b;
  b.tracker().refusal = Error{ErrorCode::kUnavailable, "the job tracker is starting"};
  b.next().submit(9, Bundle::handler("noop"));
  b.start();
  EXPECT_TRUE(b.until([&] { return b.next().result_of(9) != nullptr; }));
}

TEST(Worker, FailsOverWhenAPullIsRefused) {
  TwoAddresses b;
  b.start_with_a_run("60s");
  const SteadyTime started = b.clock.steady_now();
  b.tracker().refusal = Error{ErrorCode::kUnavailable, "the job tracker cannot reach its store"};
  ASSERT_TRUE(b.until_registered_at(b.next()));
  EXPECT_LT(b.clock.steady_now() - started, seconds{3}) << "that would be for its silence";
  EXPECT_THAT(b.next().registrations[0].holding, SizeIs(1));
}

TEST(Worker, StaysWithATrackerThatServesAgainBeforeAnotherConnects) {
  TwoAddresses b;
  b.tracker().lease = milliseconds{600};
  b.start_with_a_run("60s");
  b.next().disconnect();
  b.tracker().refusal = Error{ErrorCode::kUnavailable, "the job tracker cannot reach its store"};
  const SteadyTime refused_at = b.clock.steady_now();
  ASSERT_TRUE(b.until([&] { return b.clock.steady_now() > refused_at + milliseconds{250}; }));
  b.tracker().refusal.reset();
  const SteadyTime served_at = b.clock.steady_now();
  ASSERT_TRUE(b.until([&] { return b.clock.steady_now() > served_at + milliseconds{300}; }));
  b.next().connect();
  ASSERT_TRUE(b.until([&] { return b.clock.steady_now() > served_at + milliseconds{1500}; }));
  EXPECT_THAT(b.next().registrations, IsEmpty());
}

TEST(Worker, IgnoresATrackerThatItHasLeft) {
  TwoAddresses b;
  b.start_with_a_run("60s");
  b.tracker().disconnect();
  ASSERT_TRUE(b.until_registered_at(b.next()));
  b.tracker().connect();
  b.tracker().kill(1);
  b.tracker().push(7, Bundle::handler("noop"));
  b.next().submit(9, Bundle::handler("noop"));
  ASSERT_TRUE(b.until([&] { return b.next().result_of(9) != nullptr; }));
  EXPECT_EQ(b.next().result_of(1), nullptr) << "it still runs";
  EXPECT_EQ(b.next().result_of(7), nullptr) << "it was not taken";
  EXPECT_THAT(b.tracker().registrations, SizeIs(1));
}

TEST(Worker, RefusesHandOutsOfAnEarlierSessionAfterReturning) {
  TwoAddresses b;
  b.start_with_a_run("60s");
  b.tracker().disconnect();
  ASSERT_TRUE(b.until([&] { return b.ready == 2; }));
  b.tracker().refusal = Error{ErrorCode::kUnavailable, "the job tracker is starting"};
  b.tracker().connect();
  b.next().disconnect();
  ASSERT_TRUE(b.until([&] { return b.tracker().registrations.size() == 2; }));
  b.tracker().push(7, Bundle::handler("noop"));  // It stood on its way since before.
  b.tracker().refusal.reset();
  b.tracker().tracker_session = 8;
  ASSERT_TRUE(b.until([&] { return b.ready == 3; }));
  b.tracker().submit(9, Bundle::handler("noop"));
  ASSERT_TRUE(b.until_result(9));
  EXPECT_EQ(b.tracker().result_of(7), nullptr);
}

TEST(Worker, SaysGoodbyeToTheNextTrackerWhenTheFirstDies) {
  TwoAddresses b;
  b.start();
  ASSERT_TRUE(b.until([&] { return b.ready == 1; }));
  b.tracker().answers_byes = false;
  b.worker->request_stop(seconds{30});
  ASSERT_TRUE(b.until([&] { return b.tracker().byes > 0; }));
  b.tracker().disconnect();
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  ASSERT_THAT(b.next().registrations, SizeIs(1));
  EXPECT_THAT(b.next().registrations[0].holding, IsEmpty());
  EXPECT_EQ(b.next().byes, 1);
  EXPECT_TRUE(b.worker->has_left());
}

TEST(Worker, DeliversItsLastResultToTheNextTrackerWhenStopping) {
  TwoAddresses b;
  b.start_with_a_run("200ms");
  b.worker->request_stop(seconds{30});
  b.tracker().disconnect();
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_NE(b.next().result_of(1), nullptr);
  EXPECT_EQ(b.next().byes, 1);
}

}  // namespace
}  // namespace carillon::tasktracker
