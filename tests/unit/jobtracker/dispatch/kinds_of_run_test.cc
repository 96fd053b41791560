#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Which kinds of run a task tracker accepts decides which jobs it is handed.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec shell_now(const std::string& task_id) {
  JobSpec spec = job_now(task_id);
  spec.run = {.kind = RunKind::kShell, .shell = "true"};
  return spec;
}

JobTrackerConfig memory_for_few() {
  return {.dispatcher = {.preload = {.capacity = 100}, .refill = 50}};
}

void submit_many(TrackerBundle& bundle, int count, const JobSpec& spec) {
  bundle.submit(std::vector<JobSpec>(static_cast<std::size_t>(count), spec));
}

TEST(KindsOfRun, PushJobIsNotHandedToATaskTracker) {
  TrackerBundle bundle;
  bundle.add_worker({.name = "open", .threads = 2});
  JobSpec pushed = job_now("pushed");
  pushed.dispatch = Dispatch::kPush;
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.submit(pushed).warning,
            "no executor of group 'default' has ever connected, and none can, because it is a "
            "group of task trackers");
  bundle.submit(job_now("pulled"));
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs_of("pulled"), SizeIs(1));
  EXPECT_THAT(bundle.runs_of("pushed"), IsEmpty());
  EXPECT_EQ(bundle.shown_reason("default", "pushed"),
            "no executor of group 'default' is registered");
}

TEST(KindsOfRun, JobGoesOnlyToAWorkerThatAcceptsItsKind) {
  TrackerBundle bundle;
  bundle.add_worker({.name = "careful", .threads = 8, .allow = {"handler", "http"}});
  bundle.add_worker({.name = "open", .threads = 2});
  bundle.run_for(seconds{2});
  submit_many(bundle, 50, shell_now(""));
  submit_many(bundle, 50, job_now(""));
  ASSERT_TRUE(bundle.run_until([&] { return bundle.is_empty(); }));
  EXPECT_THAT(bundle.runs(), SizeIs(100));
  for (const auto& run : bundle.workers()[0]->runs()) EXPECT_EQ(run.id.attempt, 1);
  EXPECT_GE(bundle.workers()[1]->runs().size(), 50U) << "all of the shell lines";
  EXPECT_FALSE(bundle.workers()[0]->runs().empty());
}

TEST(KindsOfRun, WorkerWithoutAnAllowListAcceptsAllKinds) {
  TrackerBundle bundle;
  bundle.add_worker({.allow = {}});
  bundle.submit({shell_now("a"), job_now("b")});
  bundle.run_for(seconds{2});
  EXPECT_TRUE(bundle.is_empty());
}

TEST(KindsOfRun, JobThatNoWorkerAcceptsWaitsWithoutBlockingOthers) {
  TrackerBundle bundle({.tracker = memory_for_few()});
  bundle.add_worker({.allow = {"handler", "something new"}});
  bundle.run_for(seconds{1});
  JobSpec urgent = shell_now("");
  urgent.priority = 1;
  submit_many(bundle, 500, urgent);
  bundle.submit(shell_now("a"));
  bundle.submit(job_now("b"));
  bundle.run_for(seconds{2});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_THAT(bundle.runs_of("b"), SizeIs(1)) << "behind more than memory holds";
  EXPECT_THAT(bundle.waiting(), SizeIs(501));
  EXPECT_THAT(bundle.shown_reason("default", "a"),
              HasSubstr("no task tracker of group 'default' accepts jobs of kind shell"));
  bundle.add_worker({.threads = 50});
  bundle.run_for(seconds{5});
  EXPECT_TRUE(bundle.is_empty()) << "somebody accepts them now";
}

TEST(KindsOfRun, SubmitWarnsIfNoWorkerAcceptsTheJob) {
  TrackerBundle bundle;
  auto& handlers = bundle.add_worker({.name = "handlers", .allow = {"handler"}});
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.submit(shell_now("a")).warning,
            "no task tracker of group 'default' accepts jobs of kind shell (see their --allow)");
  EXPECT_EQ(bundle.submit(job_now("b")).warning, "");
  handlers.die();
  bundle.run_for(seconds{10});
  EXPECT_EQ(bundle.submit(shell_now("c")).warning, "") << "who is away may accept it";
  bundle.add_worker();
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.submit(shell_now("d")).warning, "");
}

TEST(KindsOfRun, ShowSaysThatNoTaskTrackerIsPresent) {
  TrackerBundle bundle;
  bundle.submit(shell_now("a"));
  EXPECT_THAT(bundle.shown_reason("default", "a"),
              HasSubstr("no task tracker of group 'default' is connected"));
  bundle.submit(job_every("b", minutes{1}));
  EXPECT_THAT(bundle.shown_reason("default", "b"),
              HasSubstr("no task tracker of group 'default' is connected"));
  bundle.add_worker();
  bundle.run_for(seconds{2});
  EXPECT_EQ(bundle.shown_reason("default", "b"), "none");
}

TEST(KindsOfRun, FiresKeepTheKindOfTheirDefinition) {
  TrackerBundle bundle;
  bundle.add_worker({.name = "careful", .allow = {"handler"}});
  bundle.run_for(seconds{1});
  JobSpec job = job_every("a", seconds{10});
  job.run = {.kind = RunKind::kCommand, .command = {"true"}};
  bundle.submit(job);
  bundle.run_for(seconds{30});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  bundle.restart_after(milliseconds{100});
  bundle.run_for(seconds{30});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  bundle.add_worker({.name = "open"});
  bundle.run_for(seconds{30});
  EXPECT_GE(bundle.workers()[1]->runs().size(), 3U);
  EXPECT_THAT(bundle.workers()[0]->runs(), IsEmpty());
}

TEST(KindsOfRun, BusyWorkersBacklogDoesNotBlockAnotherWorkersJobs) {
  TrackerBundle bundle({.tracker = memory_for_few()});
  runs_take(bundle.add_worker({.name = "handlers", .allow = {"handler"}}), minutes{5});
  runs_take(bundle.add_worker({.name = "lines", .allow = {"shell"}}), milliseconds{10});
  bundle.run_for(seconds{1});
  JobSpec urgent = job_now("");
  urgent.priority = 1;
  submit_many(bundle, 400, urgent);
  submit_many(bundle, 100, shell_now(""));
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.workers()[1]->runs(), SizeIs(100));
  EXPECT_THAT(bundle.workers()[0]->runs(), SizeIs(2));
}

TEST(KindsOfRun, WorkersThatAcceptFewestKindsAreServedFirst) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.name = "open", .threads = 1}), minutes{1});
  runs_take(bundle.add_worker({.name = "handlers", .threads = 1, .allow = {"handler"}}),
            minutes{1});
  bundle.run_for(seconds{2});
  JobSpec better = job_now("a");
  better.priority = 1;
  bundle.submit({better, shell_now("b")});
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.runs(), SizeIs(2)) << "neither waits for a thread";
}

TEST(KindsOfRun, OrderIsStrictAmongTheJobsThatAWorkerAccepts) {
  TrackerBundle bundle({.tracker = memory_for_few()});
  for (int message = 0; message < 5; ++message) {
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 1000; ++i) {
      jobs.push_back(bundle.random.next() % 2 == 0 ? shell_now("") : job_now(""));
      jobs.back().priority = 10 + static_cast<int>(bundle.random.next() % 5);
    }
    bundle.submit(std::move(jobs));
  }
  std::map<JobId, HandOutKey> keys;
  for (const WaitingJob& job : bundle.waiting()) keys[job.id] = hand_out_key(job);
  ASSERT_THAT(keys, SizeIs(5000));
  runs_take(bundle.add_worker({.name = "lines", .threads = 7, .allow = {"shell"}}),
            milliseconds{20});
  runs_take(bundle.add_worker({.name = "open", .threads = 7}), milliseconds{20});
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tables().log.size() == 5000; }));
  for (const FakeWorker* worker : bundle.workers()) {
    EXPECT_GE(worker->runs().size(), 1500U);
    std::vector<HandOutKey> order;
    for (const wire::AttemptId& id : worker->handed()) order.push_back(keys.at(id.job_id));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << worker->name();
  }
}

TEST(KindsOfRun, ReturnedJobRunsOnAnotherWorkerThatAcceptsIt) {
  TrackerBundle bundle;
  auto& careful = bundle.add_worker({.name = "careful"});
  runs_take(careful, minutes{1});
  bundle.run_for(seconds{1});
  bundle.submit(shell_now("a"));
  bundle.run_for(seconds{1});
  ASSERT_THAT(careful.handed(), SizeIs(1));
  bundle.add_worker({.name = "open"});
  bundle.run_for(seconds{1});
  careful.leave();
  careful.give_back(careful.handed()[0]);
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_EQ(bundle.runs_of("a")[0].worker, "open");
}

}  // namespace
}  // namespace carillon::jobtracker
