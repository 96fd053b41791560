#include <algorithm>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

// In which order, and how many at a time, jobs are handed out.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;

JobTrackerConfig small_memory() {
  return {.dispatcher = {.preload = {.capacity = 200}, .refill = 150}};
}

// Jobs of many priorities and times, far more than memory holds.
void submit_backlog(TrackerBundle& bundle, int messages) {
  for (int message = 0; message < messages; ++message) {
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 1000; ++i) {
      jobs.push_back(job_at("", bundle.now() - seconds{bundle.random.next() % 50}));
      jobs.back().priority = 10 + static_cast<int>(bundle.random.next() % 5);
    }
    bundle.submit(std::move(jobs));
  }
}

std::vector<JobId> sorted_rows(const TrackerBundle& bundle) {
  auto rows = bundle.waiting();
  std::sort(rows.begin(), rows.end(), [](const WaitingJob& one, const WaitingJob& other) {
    return hand_out_key(one) < hand_out_key(other);
  });
  std::vector<JobId> ids;
  for (const WaitingJob& row : rows) ids.push_back(row.id);
  return ids;
}

std::vector<JobId> handed(const carillon::testing::FakeWorker& worker) {
  std::vector<JobId> ids;
  for (const wire::AttemptId& id : worker.handed()) ids.push_back(id.job_id);
  return ids;
}

TEST(Order, HandOutFollowsTableOrderDespiteABacklogBeyondMemory) {
  TrackerBundle bundle({.tracker = small_memory()});
  submit_backlog(bundle, 20);
  const auto expected = sorted_rows(bundle);
  ASSERT_THAT(expected, SizeIs(20'000));
  auto& worker = bundle.add_worker({.threads = 100});
  runs_take(worker, milliseconds{1});
  ASSERT_TRUE(bundle.run_until([&] { return worker.handed().size() == expected.size(); }));
  EXPECT_EQ(handed(worker), expected);
}

TEST(Order, HigherPriorityJobStartsNextDuringADrain) {
  TrackerBundle bundle({.tracker = small_memory()});
  submit_backlog(bundle, 5);
  auto& worker = bundle.add_worker({.threads = 4});
  runs_take(worker, milliseconds{5});
  ASSERT_TRUE(bundle.run_until([&] { return worker.handed().size() >= 1500; }));
  JobSpec better = job_now("better");
  better.priority = 1;
  const JobId id = bundle.submit(better).job_id;
  const std::size_t before = worker.handed().size();
  bundle.run_for(seconds{1});
  const auto order = handed(worker);
  const auto place = std::find(order.begin(), order.end(), id) - order.begin();
  EXPECT_LE(place, static_cast<std::ptrdiff_t>(before) + 4) << "only what was claimed goes before";
}

TEST(Order, UrgentJobOvertakesTheBacklogWhenDue) {
  TrackerBundle bundle({.tracker = small_memory()});
  submit_backlog(bundle, 3);
  JobSpec urgent = job_at("urgent", bundle.now() + seconds{3});
  urgent.priority = 1;
  bundle.submit(urgent);
  auto& worker = bundle.add_worker({.threads = 2});
  runs_take(worker, milliseconds{10});
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.runs_of("urgent"), SizeIs(1));
  const auto run = bundle.runs_of("urgent")[0];
  EXPECT_LE(run.started_wall - run.trigger_time, milliseconds{25});
}

TEST(Order, EqualWorkersShareTheLoad) {
  TrackerBundle bundle({.tracker = small_memory()});
  submit_backlog(bundle, 2);
  for (int i = 0; i < 4; ++i) {
    auto& worker = bundle.add_worker({.name = "w" + std::to_string(i), .threads = 2});
    runs_take(worker, milliseconds{5});
  }
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tables().log.size() == 2000; }));
  for (const auto* worker : bundle.workers()) EXPECT_GE(worker->runs().size(), 400U);
}

TEST(Order, BacklogOfOneGroupDoesNotDelayAnotherGroup) {
  TrackerBundle bundle({.tracker = small_memory()});
  submit_backlog(bundle, 3);
  bundle.add_worker({.name = "other", .group = "mail"});
  bundle.run_for(seconds{2});
  JobSpec mail = job_now("letter");
  mail.group = "mail";
  bundle.submit(mail);
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.runs_of("letter"), SizeIs(1));
}

// However slow the way is, and however messages cross.
TEST(Credit, CrossingMessagesNeverExceedAWorkersCredit) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    TrackerBundle bundle({.seed = seed});
    bundle.network.latency = [&] { return microseconds{bundle.random.next() % 200'000}; };
    bundle.connection().work_time = [&] { return microseconds{bundle.random.next() % 30'000}; };
    for (int i = 0; i < 3; ++i) {
      auto& worker = bundle.add_worker({.name = "w" + std::to_string(i), .threads = 1 + i});
      worker.behaviour = [&](const auto&, const auto&) {
        return FakeRun{.time = microseconds{bundle.random.next() % 400'000}};
      };
    }
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 300; ++i) jobs.push_back(job_now(""));
    bundle.submit(std::move(jobs));
    for (int i = 0; i < 20; ++i) {
      bundle.run_for(milliseconds{900});
      bundle.workers()[bundle.random.next() % 3]->send_register_again();
    }
    ASSERT_TRUE(bundle.run_until([&] { return bundle.is_empty(); }));
    EXPECT_EQ(bundle.runs().size(), 300U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_LE(bundle.workers()[i]->busy_max(), static_cast<int>(i) + 1);
    }
  }
}

TEST(Credit, ClaimPendingWhenTheLeaseEndsStillUsesCredit) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 1});
  runs_take(worker, minutes{1});
  bundle.run_for(seconds{2});
  bundle.submit(job_now("a"));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{6};
  worker.cut_off(seconds{4});
  bundle.run_for(seconds{10});
  ASSERT_EQ(bundle.stat("workers_lost_total"), 1);
  bundle.submit({job_now("b"), job_now("c")});
  bundle.run_for(seconds{10});
  EXPECT_EQ(worker.busy_max(), 1);
}

// What the store is asked within an hour.
int questions_of_an_hour(TrackerBundle& bundle) {
  int works = 0;
  int commits = 0;
  bundle.connection().work_time = [&works] {
    ++works;
    return std::chrono::microseconds{500};
  };
  bundle.connection().on_commit = [&commits](const Batch&) { ++commits; };
  bundle.run_for(std::chrono::hours{1});
  bundle.connection().work_time = [] { return std::chrono::microseconds{500}; };
  bundle.connection().on_commit = [](const Batch&) {};
  return works - commits;
}

TEST(Preloading, IdleGroupIsNotPolled) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_now("a"));
  bundle.run_for(std::chrono::minutes{1});
  ASSERT_TRUE(bundle.is_empty());
  EXPECT_LE(questions_of_an_hour(bundle), 60);
}

TEST(Preloading, LongRunningJobsCauseNoPolling) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 100}), std::chrono::hours{9});
  for (int i = 0; i < 100; ++i) bundle.submit(job_now("a-" + std::to_string(i)));
  bundle.run_for(std::chrono::minutes{1});
  ASSERT_EQ(bundle.tables().executing.size(), 100U);
  EXPECT_LE(questions_of_an_hour(bundle), 60);
  EXPECT_EQ(bundle.tables().executing.size(), 100U);
}

TEST(Preloading, FirstReadIsSmallSoThatClaimsAreNotDelayed) {
  TrackerBundle bundle;
  for (int message = 0; message < 6; ++message) {
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 1000; ++i) jobs.push_back(job_at("", bundle.now() + seconds{2}));
    bundle.submit(std::move(jobs));
  }
  bundle.restart_after(seconds{1});
  std::vector<std::int64_t> limits;
  bundle.connection().on_read = [&limits](const Read& question) {
    if (const auto* ask = std::get_if<ReadUpcoming>(&question)) limits.push_back(ask->limit);
  };
  bundle.add_worker();
  bundle.run_for(seconds{1});
  EXPECT_THAT(limits, ElementsAre(64, 256, 1024, 4096, 5000));
}

TEST(Preloading, UpcomingRowsAreReadInSmallPortionsGroupByGroup) {
  constexpr int kGroups = 8;
  TrackerBundle bundle;
  for (int group = 0; group < kGroups; ++group) {
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 1000; ++i) {
      jobs.push_back(job_at("", bundle.now() + minutes{5}));
      jobs.back().group = "group-" + std::to_string(group);
    }
    bundle.submit(std::move(jobs));
  }
  bundle.restart_after(seconds{1});
  bundle.run_for(seconds{1});
  std::map<GroupId, std::vector<std::int64_t>> limits;
  bundle.connection().on_read = [&limits](const Read& question) {
    if (const auto* ask = std::get_if<ReadUpcoming>(&question))
      limits[ask->group].push_back(ask->limit);
  };
  bundle.connection().work_time = [] { return milliseconds{5}; };
  for (int group = 0; group < kGroups; ++group) {
    const wire::Register hello{.session = SessionId{group + 1},
                               .name = "worker",
                               .group = "group-" + std::to_string(group)};
    bundle.tracker().on_frame(net::Sender{}, wire::encode({.correlation = 1, .message = hello}));
  }
  bundle.tracker().end_turn();
  // The first question of each is of what comes due at once, for all that is known.
  bundle.run_for(milliseconds{5 * (2 * kGroups + 2)});
  Duration longest{};
  for (int i = 0; i < 20; ++i) {
    const SteadyTime asked = bundle.clock.steady_now();
    bundle.submit(job_now("job-" + std::to_string(i)));
    const auto took = std::chrono::duration_cast<Duration>(bundle.clock.steady_now() - asked);
    longest = std::max(longest, took);
  }
  EXPECT_LE(longest, milliseconds{25});
  bundle.run_for(seconds{1});
  ASSERT_THAT(limits, SizeIs(kGroups));
  for (const auto& [group, asked] : limits) EXPECT_THAT(asked, ElementsAre(64, 256, 500, 500));
}

TEST(Preloading, RowsThatComeDueBetweenTwoGroupsReadsAreRead) {
  TrackerBundle bundle;
  for (const char* group : {"a", "b"}) {
    JobSpec job = job_at("job", bundle.now() + minutes{5});
    job.group = group;
    bundle.submit(job);
  }
  bundle.run_for(seconds{1});
  std::map<GroupId, WallTime> due_by;
  std::map<GroupId, WallTime> upcoming_from;
  bundle.connection().on_read = [&](const Read& question) {
    if (const auto* ask = std::get_if<ReadDue>(&question)) due_by[ask->group] = ask->now;
    if (const auto* ask = std::get_if<ReadUpcoming>(&question))
      upcoming_from.emplace(ask->group, ask->after_time);
  };
  // The first group's rows are asked for, and time goes on before the second's.
  bundle.connection().work_time = [&bundle, waits = true]() mutable {
    if (std::exchange(waits, false)) bundle.clock.advance(milliseconds{5});
    return microseconds{500};
  };
  std::int64_t session = 1;
  for (const char* group : {"a", "b"}) {
    const wire::Register hello{.session = SessionId{session++}, .name = "worker", .group = group};
    bundle.tracker().on_frame(net::Sender{}, wire::encode({.correlation = 1, .message = hello}));
  }
  bundle.tracker().end_turn();
  bundle.run_for(milliseconds{20});
  ASSERT_THAT(due_by, SizeIs(2));
  ASSERT_THAT(upcoming_from, SizeIs(2));
  for (const auto& [group, now] : due_by) EXPECT_GE(now, upcoming_from.at(group)) << group.value;
}

TEST(Preloading, JobsWithLargePayloadsAllRun) {
  TrackerBundle bundle(
      {.tracker = {.dispatcher = {.preload = {.capacity = 100, .bytes_max = 500'000},
                                  .handout_bytes_max = 300'000}}});
  for (int i = 0; i < 40; ++i) {
    JobSpec job = job_now("a" + std::to_string(i));
    job.payload.assign(100'000, 'x');
    bundle.submit(job);
  }
  bundle.add_worker({.threads = 10});
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(40));
}

TEST(Order, ClaimedJobStartsThoughTheClockMovedBack) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 2});
  const WallTime due = bundle.now() + seconds{10};
  bundle.submit(job_at("a", due));
  bundle.run_to(due - milliseconds{1500});
  bundle.clock.set_wall(bundle.now() - std::chrono::hours{1});  // believed after two seconds
  bundle.run_for(milliseconds{1400});
  bundle.connection().work_time = [] { return seconds{2}; };
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(0));
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
}

TEST(HandOut, PrefetchesNothingWhileExecutingSpecsUseTooMuchMemory) {
  TrackerBundle::Options options;
  options.tracker.dispatcher.executing_bytes_max = 20'000;
  TrackerBundle bundle(options);
  FakeWorker& worker = bundle.add_worker({.threads = 4, .prefetch_max = 200});
  // While jobs are short, many are fetched ahead.
  runs_take(worker, std::chrono::microseconds{10});
  for (int i = 0; i < 20; ++i) {
    bundle.submit(std::vector<JobSpec>(100, job_now("")));
    bundle.run_for(seconds{1});
  }
  ASSERT_GT(worker.busy_max(), 20);

  runs_take(worker, std::chrono::minutes{1});
  JobSpec large = job_now("");
  large.payload.assign(5'000, 'x');
  bundle.submit(std::vector<JobSpec>(100, large));
  bundle.run_for(seconds{1});
  EXPECT_EQ(worker.busy(), 4) << "each thread has one, and nothing waits for them";
  bundle.submit(std::vector<JobSpec>(100, job_now("")));
  bundle.run_for(std::chrono::hours{1});
  EXPECT_EQ(bundle.runs().size(), 2200U);
  EXPECT_TRUE(bundle.is_empty());
}

}  // namespace
}  // namespace carillon::jobtracker
