#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/job/bucket.h"
#include "tests/support/tracker_bundle.h"

// Jobs that were lost, of which one may be what kills its worker: nothing is queued with them.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::SizeIs;

bool holds_poison(const FakeWorker& worker) {
  const auto& runs = worker.runs();
  return std::any_of(runs.begin(), runs.end(),
                     [](const auto& run) { return run.task_id == "poison"; });
}

// With a queue behind its threads, as after many short runs: what comes with the poison, and after
// it, waits.
void add_warm_workers(TrackerBundle& bundle, int workers, int threads) {
  for (int i = 0; i < workers; ++i) {
    FakeWorker& worker = bundle.add_worker(
        {.name = "worker-" + std::to_string(i), .threads = threads, .prefetch_max = 200});
    worker.behaviour = [&worker](const auto&, const auto&) {
      return FakeRun{.time = holds_poison(worker) ? hours{1} : microseconds{10}};
    };
  }
  for (int i = 0; i < 20; ++i) {
    bundle.submit(std::vector<JobSpec>(100, job_now("")));
    bundle.run_for(seconds{1});
  }
}

void submit_poison_and(TrackerBundle& bundle, std::size_t others) {
  JobSpec poison = job_now("poison");
  poison.priority = 0;
  std::vector<JobSpec> jobs(others, job_now(""));
  jobs.insert(jobs.begin(), poison);
  bundle.submit(std::move(jobs));
}

// Who has it, and lives.
FakeWorker* victim_of(TrackerBundle& bundle) {
  for (FakeWorker* worker : bundle.workers()) {
    if (worker->is_alive() && holds_poison(*worker)) return worker;
  }
  return nullptr;
}

// It kills one worker after the other. How many runs each of them took with it.
std::vector<int> kill(TrackerBundle& bundle, int workers) {
  std::vector<int> killed;
  for (int i = 0; i < workers; ++i) {
    FakeWorker* victim = nullptr;
    EXPECT_TRUE(bundle.run_until([&] {
      victim = victim_of(bundle);
      return victim != nullptr;
    })) << "worker "
        << i;
    if (victim == nullptr) break;
    bundle.run_for(seconds{1});
    killed.push_back(victim->busy());
    victim->die();
    bundle.run_for(seconds{10});
  }
  return killed;
}

TEST(Suspects, OnlyThePoisonJobOfALostQueueIsQuarantined) {
  TrackerBundle bundle;
  add_warm_workers(bundle, 3, 1);
  submit_poison_and(bundle, 300);
  const std::vector<int> killed = kill(bundle, 3);
  ASSERT_THAT(killed, SizeIs(3));
  EXPECT_GT(killed[0], 50) << "there was a queue";
  EXPECT_EQ(killed[1], 1);
  EXPECT_EQ(killed[2], 1);
  bundle.add_worker();
  bundle.run_for(seconds{10});
  EXPECT_EQ(bundle.stat("jobs_quarantined_total"), 1);
  EXPECT_TRUE(bundle.waiting().empty());
  ASSERT_THAT(bundle.delayed(), SizeIs(1));
  EXPECT_EQ(bundle.delayed().front().task_id, "poison");
}

TEST(Suspects, FillAllThreadsOfAWorkerWithNothingQueuedBehind) {
  TrackerBundle bundle;
  add_warm_workers(bundle, 2, 4);
  submit_poison_and(bundle, 300);
  const std::vector<int> killed = kill(bundle, 1);
  ASSERT_THAT(killed, SizeIs(1));
  EXPECT_GT(killed[0], 50) << "there was a queue";
  JobSpec better = job_now("");
  better.priority = 1;
  bundle.submit(std::vector<JobSpec>(50, better));
  FakeWorker* next = nullptr;
  ASSERT_TRUE(bundle.run_until([&] {
    next = victim_of(bundle);
    return next != nullptr;
  }));
  bundle.run_for(seconds{1});
  EXPECT_EQ(next->busy(), 4) << "what is beside it, and no more";
}

// With `cancel_running` it has the count of the run before, which made way for it.
TEST(Suspects, IncludeTheFireThatSupersedesALostRun) {
  TrackerBundle bundle;
  FakeWorker& first = bundle.add_worker({.name = "first", .threads = 1});
  runs_take(first, hours{9});
  JobSpec job = job_every("a", minutes{1});
  job.overlap = Overlap::kCancelRunning;
  const WallTime begin = bundle.now();
  bundle.submit(job);
  ASSERT_TRUE(bundle.run_until([&] { return first.busy() == 1; }));
  add_warm_workers(bundle, 1, 1);
  FakeWorker& second = *bundle.workers().back();
  bundle.run_to(begin + seconds{59});
  first.die();
  bundle.run_to(begin + seconds{60} + milliseconds{500});
  runs_take(second, seconds{10});
  bundle.submit(std::vector<JobSpec>(50, job_now("")));
  bundle.run_for(seconds{1});
  ASSERT_EQ(second.busy(), 50);
  bundle.run_for(seconds{5});
  ASSERT_EQ(bundle.definition("a")->state, DefinitionState::kActive);
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1)) << "the next waits for a thread";
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(2)) << bundle.story("a");
}

std::string task_of_part(std::int32_t part, const std::string& name) {
  for (int i = 0;; ++i) {
    std::string task_id = name + "-" + std::to_string(i);
    if (part_of_bucket(bucket_of(task_id), 2) == part) return task_id;
  }
}

TEST(Suspects, GetAThreadThoughAnotherPartitionHasABacklog) {
  TrackerBundle bundle({.start = false});
  ASSERT_TRUE(bundle.database.make_group("default", bundle.now()).ok());
  ASSERT_TRUE(
      bundle.database.split_group({.group = "default", .parts = 2}, all_partitions(), bundle.now())
          .ok());
  bundle.start_tracker();
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tracker().is_ready(); }));
  add_warm_workers(bundle, 2, 1);
  const std::string suspect = task_of_part(1, "suspect");
  int runs = 0;
  for (FakeWorker* worker : bundle.workers()) {
    worker->behaviour = [&](const wire::HandedJob& job, const auto&) {
      if (job.task_id != suspect)
        return FakeRun{.time = microseconds{500 + bundle.random.next() % 1000}};
      ++runs;
      return FakeRun{.time = hours{1}};
    };
  }
  bundle.submit(job_now(suspect));
  ASSERT_TRUE(bundle.run_until([&] { return runs == 1; }));
  for (FakeWorker* worker : bundle.workers()) {
    if (worker->busy() > 0) worker->die();
  }
  bundle.run_for(milliseconds{2500});
  for (int message = 0; message < 20; ++message) {
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 1000; ++i) {
      jobs.push_back(job_now(task_of_part(0, std::to_string(1000 * message + i))));
      jobs.back().priority = 50;
    }
    bundle.submit(std::move(jobs));
  }
  EXPECT_TRUE(bundle.run_until([&] { return runs == 2; }));
  EXPECT_GT(bundle.waiting().size(), 1000U) << "it is not the last";
}

}  // namespace
}  // namespace carillon::jobtracker
