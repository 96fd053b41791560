#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"
#include "tests/unit/jobtracker/push/push_bundle.h"

// The priority of a waiting job, and the order in which jobs are handed out after its change.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Verb;

// "ok", or the error's message.
std::string told(const wire::Message& answer) {
  if (std::holds_alternative<wire::Acted>(answer)) return "ok";
  if (const auto* error = std::get_if<wire::ErrorReply>(&answer)) return error->error.message;
  return "no answer";
}

std::string set_priority(TrackerBundle& bundle, JobId job, std::int32_t priority) {
  return told(bundle.act({.verb = Verb::kSetPriority, .job_id = job, .priority = priority}));
}

std::string set_priority(TrackerBundle& bundle, const std::string& task, std::int32_t priority) {
  return told(bundle.act(
      {.verb = Verb::kSetPriority, .group = "default", .task_id = task, .priority = priority}));
}

std::vector<std::string> tasks_of(const std::vector<carillon::testing::RunRecord>& runs) {
  std::vector<std::string> tasks;
  for (const auto& run : runs) tasks.push_back(run.task_id);
  return tasks;
}

TEST(Priority, WaitingJobsRunInTheirNewOrder) {
  TrackerBundle bundle;
  for (const char* task : {"a", "b", "c", "d"}) {
    bundle.submit(job_now(task));
    bundle.run_for(milliseconds{1});
  }
  EXPECT_EQ(set_priority(bundle, bundle.waiting("c")[0].id, 7), "ok");
  EXPECT_EQ(set_priority(bundle, "b", 900), "ok");
  runs_take(bundle.add_worker(), seconds{1});
  bundle.run_for(seconds{10});
  EXPECT_THAT(tasks_of(bundle.runs()), ElementsAre("c", "a", "d", "b"));
}

TEST(Priority, JobsInMemoryMoveWhileOthersRun) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 1}), seconds{2});
  for (const char* task : {"a", "b", "c"}) {
    bundle.submit(job_now(task));
    bundle.run_for(milliseconds{1});
  }
  bundle.run_for(seconds{1});
  EXPECT_EQ(set_priority(bundle, "c", 0), "ok");
  bundle.run_for(seconds{10});
  EXPECT_THAT(tasks_of(bundle.runs()), ElementsAre("a", "c", "b"));
}

TEST(Priority, ItHoldsBeyondTheJobsInMemory) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.preload = {.capacity = 20}, .refill = 10}}});
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 200; ++i) jobs.push_back(job_now("t" + std::to_string(i)));
  bundle.submit(std::move(jobs));
  runs_take(bundle.add_worker(), milliseconds{100});
  bundle.run_for(seconds{1});
  EXPECT_EQ(set_priority(bundle, "t199", 1), "ok") << "of the last one, which is only in the table";
  const std::size_t before = bundle.runs().size();
  bundle.run_for(milliseconds{300});
  const auto tasks = tasks_of(bundle.runs());
  EXPECT_EQ(std::count(tasks.begin() + static_cast<std::ptrdiff_t>(before), tasks.end(), "t199"),
            1);
  ASSERT_TRUE(bundle.run_until([&] { return bundle.is_empty(); }));
  EXPECT_THAT(bundle.runs(), SizeIs(200)) << "each runs once";
}

TEST(Priority, DelayedAndSuspendedJobsKeepIt) {
  TrackerBundle bundle;
  bundle.submit(job_at("late", bundle.now() + hours{2}));
  bundle.submit(job_now("held"));
  bundle.act(Verb::kSuspend, "held");
  EXPECT_EQ(set_priority(bundle, "late", 3), "ok");
  EXPECT_EQ(set_priority(bundle, "held", 4), "ok");
  ASSERT_THAT(bundle.delayed(), SizeIs(2));
  for (const WaitingJob& job : bundle.delayed()) {
    EXPECT_EQ(job.priority, job.task_id == "late" ? 3 : 4);
    EXPECT_EQ(job.suspended, job.task_id == "held");
    EXPECT_EQ(wire::decode_spec(job.spec).value().priority, job.priority);
  }
  bundle.act(Verb::kResume, "held");
  ASSERT_THAT(bundle.waiting("held"), SizeIs(1));
  EXPECT_EQ(bundle.waiting("held")[0].priority, 4);
}

TEST(Priority, RetriesKeepIt) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.outcome = wire::RunOutcome::kException};
  };
  JobSpec job = job_now("a");
  job.retries = {.max = 3, .base = seconds{10}};
  bundle.submit(job);
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.waiting("a"), SizeIs(1)) << "for its first retry";
  EXPECT_EQ(set_priority(bundle, "a", 42), "ok");
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.waiting("a"), SizeIs(1)) << "for its second one";
  EXPECT_EQ(bundle.waiting("a")[0].priority, 42);
  EXPECT_TRUE(bundle.run_until([&] { return bundle.is_empty(); }));
}

TEST(Priority, WaitingRunsOfADefinitionHaveTheirOwn) {
  TrackerBundle bundle;
  JobSpec often = job_every("often", minutes{1});
  often.overlap = Overlap::kParallel;
  bundle.submit(often);
  bundle.submit(job_now("other"));
  bundle.run_for(minutes{3});
  std::vector<WaitingJob> fires = bundle.waiting("often");
  std::erase_if(fires, [&](const WaitingJob& job) { return job.trigger_time > bundle.now(); });
  ASSERT_GE(fires.size(), 2U);
  const auto last = std::max_element(fires.begin(), fires.end(), [](const auto& a, const auto& b) {
    return a.trigger_time < b.trigger_time;
  });
  EXPECT_THAT(set_priority(bundle, "often", 5), HasSubstr("give the job id"));
  EXPECT_EQ(set_priority(bundle, last->id, 5), "ok");
  EXPECT_EQ(bundle.definition("often")->version, 1) << "the definition is as before";
  runs_take(bundle.add_worker(), milliseconds{100});
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.runs(), SizeIs(fires.size() + 1));
  EXPECT_EQ(bundle.runs()[0].trigger_time, last->trigger_time);
}

TEST(Priority, RunThatWaitsForAnotherOneRunsOnce) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 4}), seconds{90});
  JobSpec often = job_every("often", minutes{1});
  often.overlap = Overlap::kQueue;
  bundle.submit(often);
  bundle.run_for(seconds{70});  // The first one runs, and the second one waits for it.
  std::vector<WaitingJob> fires = bundle.waiting("often");
  std::erase_if(fires, [&](const WaitingJob& job) { return job.trigger_time > bundle.now(); });
  ASSERT_THAT(fires, SizeIs(1));
  EXPECT_EQ(set_priority(bundle, fires[0].id, 5), "ok");
  bundle.run_for(seconds{120});
  int runs = 0;
  for (const auto& run : bundle.runs_of("often")) runs += run.trigger_time == fires[0].trigger_time;
  EXPECT_EQ(runs, 1);
}

TEST(Priority, ExecutingAndEndedJobsAreRefused) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), seconds{5});
  const JobId id = bundle.submit(job_now("a")).job_id;
  bundle.run_for(seconds{1});
  EXPECT_EQ(set_priority(bundle, id, 5),
            "job " + std::to_string(id.value) +
                " is executing already (only a waiting job has a place in the queue)");
  bundle.run_for(seconds{10});
  EXPECT_THAT(set_priority(bundle, id, 5), HasSubstr("is not waiting, executing or defined"));
}

TEST(Priority, OutOfRangeIsRefused) {
  TrackerBundle bundle;
  bundle.submit(job_now("a"));
  for (const std::int32_t wrong : {-1, 1000}) {
    EXPECT_EQ(set_priority(bundle, "a", wrong),
              "priority is " + std::to_string(wrong) + ", must be 0 to 999");
  }
  EXPECT_EQ(set_priority(bundle, "a", 0), "ok");
  EXPECT_EQ(set_priority(bundle, "a", 999), "ok");
}

// A change and a claim at the same moment: the job runs once, whichever is first.
TEST(Priority, JobThatIsJustClaimedRunsOnce) {
  for (int moment = -120; moment < 60; moment += 3) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    runs_take(bundle.add_worker(), seconds{1});
    bundle.connection().work_time = [] { return milliseconds{10}; };
    const WallTime at = bundle.now() + seconds{10};
    bundle.submit(job_at("a", at));
    bundle.run_to(at + milliseconds{moment});
    const std::string answer = set_priority(bundle, "a", 5);
    EXPECT_THAT(answer, ::testing::AnyOf("ok", HasSubstr("is executing")));
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs(), SizeIs(1));
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Priority, ResendGetsTheFirstAnswer) {
  TrackerBundle bundle;
  bundle.submit(job_now("a"));
  const auto sequence = bundle.client.act(
      {.verb = Verb::kSetPriority, .group = "default", .task_id = "a", .priority = 5});
  bundle.run_until([&] { return bundle.client.answer_to(sequence) != nullptr; });
  EXPECT_EQ(set_priority(bundle, "a", 6), "ok");
  bundle.client.send_again(sequence);
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.waiting("a")[0].priority, 6);
  runs_take(bundle.add_worker(), seconds{1});
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs(), SizeIs(1)) << "the dispatcher has it back";
}

TEST(Priority, OnlyTheOwnerChangesIt) {
  TrackerBundle first({.start = false, .wanted = Partitions{}});
  TrackerBundle second({.start = false, .wanted = Partitions{}, .beside = &first});
  const GroupId group = first.database.make_group("default", first.now()).value().id;
  Partitions owned;
  owned.set(static_cast<std::size_t>(partition_of(group)));
  first.want(owned);
  second.want(~owned);
  for (TrackerBundle* one : {&first, &second}) {
    one->start_tracker();
    one->run_until([one] { return one->tracker().is_ready(); });
  }
  first.run_for(seconds{1});
  const JobId id = first.submit(job_now("a")).job_id;
  EXPECT_NE(set_priority(second, id, 5), "ok");
  EXPECT_EQ(first.waiting("a")[0].priority, kPriorityDefault);
  EXPECT_EQ(set_priority(first, id, 5), "ok");
  EXPECT_EQ(first.waiting("a")[0].priority, 5);
}

TEST(Priority, PushedJobsAreCalledInTheirNewOrder) {
  Pushed test;
  for (const char* task : {"a", "b", "c"}) {
    JobSpec job = pushed(task);
    job.payload = task;
    test.submit(std::move(job));
    test.bundle.run_for(milliseconds{1});
  }
  EXPECT_EQ(told(test.bundle.act(
                {.verb = Verb::kSetPriority, .group = "app", .task_id = "c", .priority = 5})),
            "ok");
  const auto& executor = test.executor(kOne);
  test.bundle.run_for(seconds{20});
  std::vector<std::string> called;
  for (const auto& call : executor.calls) called.push_back(call.param);
  EXPECT_THAT(called, ElementsAre("c", "a", "b"));
}

}  // namespace
}  // namespace carillon::jobtracker
