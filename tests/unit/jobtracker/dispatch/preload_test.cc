#include "jobtracker/dispatch/preload.h"

#include <deque>
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/store/memory_tables.h"
#include "shared/base/random.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::seconds;

const WallTime kStart = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};

WaitingJob job(std::int64_t id, int priority, WallTime trigger) {
  return {.id = JobId{id}, .group = GroupId{1}, .priority = priority, .trigger_time = trigger};
}

// The table, and a preload that is filled from it as the dispatcher does. The connection does
// commits and questions in order, and their outcomes arrive in order, each when the test lets it.
struct PreloadBundle {
  explicit PreloadBundle(std::size_t capacity)
      : preload({.capacity = capacity}, kStart), now(kStart) {}

  void add(const WaitingJob& one) {
    connection.push_back([this, one] {
      table.insert(one);
      answers.push_back([this, one] { preload.offer(one, now); });
    });
  }
  void remove(JobId id) {
    preload.forget(id);
    connection.push_back([this, id] {
      if (table.find(id) != nullptr) table.erase(id);
      answers.push_back([this, id] { preload.forget(id); });
    });
  }
  void claim(JobId id) {
    claimed.insert(id);
    connection.push_back([this, id] {
      if (table.find(id) != nullptr) table.erase(id);
    });
  }
  void ask() {
    if (preload.needs_due_refill()) {
      connection.push_back([this, after = preload.ask_due(), then = now] {
        answers.push_back(
            [this, jobs = table.due(then, after, limit)]() mutable { load_due(jobs); });
      });
    }
    if (preload.needs_upcoming_refill()) {
      const auto after = preload.ask_upcoming();
      connection.push_back([this, after] {
        answers.push_back([this, jobs = table.upcoming(after.first, after.second, WallTime::max(),
                                                       limit)]() mutable { load_upcoming(jobs); });
      });
    }
  }
  void load_due(std::vector<WaitingJob>& jobs) {
    std::optional<HandOutKey> through;
    if (static_cast<std::int64_t>(jobs.size()) == limit) through = hand_out_key(jobs.back());
    drop_claimed(jobs);
    preload.due_loaded(std::move(jobs), through, now);
  }
  void load_upcoming(std::vector<WaitingJob>& jobs) {
    std::optional<DueKey> through;
    if (static_cast<std::int64_t>(jobs.size()) == limit) {
      through = due_key(jobs.back());
    }
    drop_claimed(jobs);
    preload.upcoming_loaded(std::move(jobs), through, now);
  }
  void drop_claimed(std::vector<WaitingJob>& jobs) const {
    std::erase_if(jobs, [this](const WaitingJob& one) { return claimed.contains(one.id); });
  }
  static void run_first(std::deque<std::function<void()>>& work) {
    if (work.empty()) return;
    const auto first = std::move(work.front());
    work.pop_front();
    first();
  }
  void work() { run_first(connection); }
  void answer() { run_first(answers); }
  void settle() {
    preload.advance(now);
    ask();
    while (!connection.empty() || !answers.empty()) {
      work();
      answer();
      preload.advance(now);
      ask();
    }
  }
  std::optional<JobId> best_of_table() const {
    const auto best = table.due(now, std::nullopt, 1);
    if (best.empty()) return std::nullopt;
    return best.front().id;
  }
  JobId take() {
    const JobId id = preload.take_best().id;
    claim(id);
    return id;
  }

  WaitingTable table;
  Preload preload;
  WallTime now;
  std::int64_t limit = 7;
  std::set<JobId> claimed;
  std::deque<std::function<void()>> connection;
  std::deque<std::function<void()>> answers;
};

TEST(Preload, OffersNothingBeforeTheTableIsRead) {
  PreloadBundle bundle(10);
  bundle.add(job(1, 100, kStart));
  bundle.work();
  bundle.answer();
  EXPECT_FALSE(bundle.preload.has_due()) << "the table may have a better one";
  bundle.settle();
  ASSERT_TRUE(bundle.preload.has_due());
  EXPECT_EQ(bundle.preload.best().id, JobId{1});
}

TEST(Preload, RequestsOneRefillAtATime) {
  PreloadBundle bundle(10);
  EXPECT_TRUE(bundle.preload.needs_due_refill());
  EXPECT_TRUE(bundle.preload.needs_upcoming_refill());
  (void)bundle.preload.ask_due();
  (void)bundle.preload.ask_upcoming();
  bundle.add(job(1, 100, kStart));
  EXPECT_FALSE(bundle.preload.needs_due_refill());
  EXPECT_FALSE(bundle.preload.needs_upcoming_refill());
  bundle.preload.due_failed();
  EXPECT_TRUE(bundle.preload.needs_due_refill());
  EXPECT_FALSE(bundle.preload.needs_upcoming_refill());
}

TEST(Preload, OrdersByPriorityThenDueTimeThenCreation) {
  PreloadBundle bundle(10);
  bundle.settle();
  bundle.now = kStart + seconds{10};
  bundle.add(job(4, 100, kStart + seconds{1}));
  bundle.add(job(3, 100, kStart + seconds{1}));
  bundle.add(job(2, 100, kStart));
  bundle.add(job(5, 7, kStart + seconds{9}));
  WaitingJob retry = job(1, 100, kStart);
  retry.not_before = kStart + seconds{2};
  bundle.add(retry);
  bundle.settle();
  std::vector<std::int64_t> order;
  while (bundle.preload.has_due()) order.push_back(bundle.take().value);
  EXPECT_THAT(order, ::testing::ElementsAre(5, 2, 3, 4, 1));
}

TEST(Preload, KeepsTheBestPrefixAndReadsTheRestLater) {
  PreloadBundle bundle(10);
  for (int i = 1; i <= 100; ++i) bundle.table.insert(job(i, 100, kStart));
  bundle.settle();
  EXPECT_LE(bundle.preload.due_size(), 10U);
  for (int i = 1; i <= 100; ++i) {
    bundle.settle();
    ASSERT_TRUE(bundle.preload.has_due()) << i;
    EXPECT_EQ(bundle.take(), JobId{i});
  }
  bundle.settle();
  EXPECT_FALSE(bundle.preload.has_due());
  EXPECT_TRUE(bundle.preload.is_due_complete(bundle.now));
}

TEST(Preload, HigherPriorityRowEvictsTheLowestPriorityRow) {
  PreloadBundle bundle(10);
  for (int i = 1; i <= 50; ++i) bundle.table.insert(job(i, 100, kStart));
  bundle.settle();
  bundle.add(job(60, 200, kStart));
  bundle.add(job(61, 1, kStart));
  bundle.settle();
  EXPECT_LE(bundle.preload.due_size(), 10U);
  EXPECT_EQ(bundle.take(), JobId{61});
  EXPECT_EQ(bundle.take(), JobId{1});
}

TEST(Preload, RowThatComesDueDuringARefillIsNotLost) {
  PreloadBundle bundle(10);
  bundle.limit = 5;
  for (int i = 10; i < 30; ++i) bundle.table.insert(job(i, 10 * i, kStart));
  bundle.table.insert(job(1, 175, kStart + seconds{1}));
  bundle.settle();
  for (int i = 10; i < 14; ++i) EXPECT_EQ(bundle.take(), JobId{i});
  bundle.ask();  // For the next five that are due: without the one of priority 175.
  bundle.now = kStart + seconds{2};
  bundle.preload.advance(bundle.now);  // It is worse than all in memory, and left in the table.
  bundle.settle();
  std::vector<std::int64_t> order;
  for (; bundle.preload.has_due(); bundle.settle()) order.push_back(bundle.take().value);
  EXPECT_EQ(order.size(), 17U);
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 6),
              ::testing::ElementsAre(14, 15, 16, 17, 1, 18));
}

TEST(Preload, BoundsTheMemoryOfLargeSpecs) {
  Preload preload({.capacity = 100, .bytes_max = 10'000}, kStart);
  static_cast<void>(preload.ask_due());
  preload.due_loaded({}, std::nullopt, kStart);
  for (int i = 1; i <= 20; ++i) {
    WaitingJob large = job(i, 100, kStart);
    large.spec.assign(2000, 'x');
    preload.offer(large, kStart);
  }
  EXPECT_LE(preload.due_size(), 5U);
  EXPECT_EQ(preload.best().id, JobId{1});
}

TEST(Preload, ForgottenRowReturnsOnlyWhenOfferedAgain) {
  PreloadBundle bundle(10);
  bundle.settle();
  bundle.add(job(1, 100, kStart));
  bundle.add(job(2, 100, kStart + seconds{5}));
  bundle.settle();
  bundle.preload.forget(JobId{1});
  bundle.preload.forget(JobId{2});
  bundle.preload.forget(JobId{3});
  EXPECT_FALSE(bundle.preload.has_due());
  EXPECT_EQ(bundle.preload.soonest(), nullptr);
  bundle.preload.offer(job(1, 100, kStart), kStart);
  EXPECT_TRUE(bundle.preload.has_due());
}

TEST(Preload, RowOfferedAgainWhenDueIsStoredOnce) {
  PreloadBundle bundle(10);
  bundle.settle();
  const WaitingJob row = job(1, 100, kStart + seconds{1});
  bundle.preload.offer(row, bundle.now);
  bundle.now += seconds{2};
  bundle.preload.offer(row, bundle.now);
  bundle.preload.forget(row.id);
  bundle.preload.advance(bundle.now);
  EXPECT_FALSE(bundle.preload.has_due());
}

TEST(Preload, ForgetsOnlyTheRowsOfTheGivenDefinition) {
  PreloadBundle bundle(10);
  bundle.settle();
  for (const int id : {1, 2, 3, 4}) {
    WaitingJob one = job(id, 100, kStart + seconds{id > 2 ? 5 : 0});
    one.definition = DefinitionId{id % 2 == 0 ? 8 : 9};
    bundle.add(one);
  }
  bundle.add(job(5, 100, kStart));
  bundle.settle();
  bundle.preload.forget_definition(DefinitionId{9});
  bundle.preload.forget_definition(DefinitionId{7});
  EXPECT_EQ(bundle.preload.due_size(), 2U);
  EXPECT_EQ(bundle.preload.upcoming_size(), 1U);
  EXPECT_EQ(bundle.preload.best().id, JobId{2});
  EXPECT_EQ(bundle.preload.soonest()->id, JobId{4});
  // What was taken is the taker's.
  EXPECT_EQ(bundle.take(), JobId{2});
  bundle.preload.forget_definition(DefinitionId{8});
  EXPECT_EQ(bundle.take(), JobId{5});
  EXPECT_EQ(bundle.preload.soonest(), nullptr);
}

TEST(Preload, ForgetsADefinitionsFiresButNotItsTriggeredRuns) {
  PreloadBundle bundle(10);
  bundle.settle();
  for (const int id : {1, 2, 3, 4, 5}) {
    WaitingJob one = job(id, 100, kStart + seconds{id > 3 ? 5 : 0});
    one.definition = DefinitionId{9};
    one.triggered = id == 2 || id == 3 || id == 5;
    one.makes_up = id == 3;
    bundle.add(one);
  }
  bundle.settle();
  bundle.preload.forget_fires(DefinitionId{9});
  bundle.preload.forget_fires(DefinitionId{7});
  EXPECT_EQ(bundle.preload.due_size(), 1U);
  EXPECT_EQ(bundle.preload.upcoming_size(), 1U);
  EXPECT_EQ(bundle.take(), JobId{2});
  EXPECT_EQ(bundle.preload.soonest()->id, JobId{5});
}

TEST(Preload, SoonestRowOfOneInstantIsTheBestByPriority) {
  PreloadBundle bundle(10);
  bundle.settle();
  bundle.add(job(1, 300, kStart + seconds{5}));
  bundle.add(job(2, 100, kStart + seconds{5}));
  bundle.add(job(3, 100, kStart + seconds{5}));
  bundle.add(job(4, 1, kStart + seconds{6}));
  bundle.settle();
  for (const int id : {2, 3, 1, 4}) {
    EXPECT_EQ(bundle.preload.soonest()->id, JobId{id});
    EXPECT_EQ(bundle.preload.take_soonest().id, JobId{id});
  }
  EXPECT_EQ(bundle.preload.soonest(), nullptr);
}

TEST(Preload, HasNoSoonestRowForAPartlyLoadedInstant) {
  PreloadBundle bundle(5);
  bundle.settle();
  bundle.add(job(1, 100, kStart + seconds{5}));
  for (int id = 2; id <= 9; ++id) bundle.add(job(id, 100 - id, kStart + seconds{6}));
  bundle.settle();
  EXPECT_EQ(bundle.preload.take_soonest().id, JobId{1});
  EXPECT_EQ(bundle.preload.soonest(), nullptr);
  EXPECT_FALSE(bundle.preload.is_due_complete(kStart + seconds{6}));
  EXPECT_TRUE(bundle.preload.is_due_complete(kStart + seconds{5}));
}

TEST(Preload, ReadsTheRestOfThePartlyLoadedNextInstant) {
  PreloadBundle bundle(10);
  bundle.add(job(1, 100, kStart + seconds{5}));
  for (int id = 2; id <= 9; ++id) bundle.add(job(id, 100 - id, kStart + seconds{6}));
  bundle.settle();
  EXPECT_EQ(bundle.preload.upcoming_size(), 7U);
  bundle.claim(bundle.preload.take_soonest().id);
  EXPECT_EQ(bundle.preload.soonest(), nullptr);
  bundle.settle();
  ASSERT_NE(bundle.preload.soonest(), nullptr);
  EXPECT_EQ(bundle.preload.soonest()->id, JobId{9});
}

// Random work against the table itself: whenever the preload has no question open, its best is the
// best of all that is due; and whatever happened, everything comes out in the end.
void run_at_random(std::uint64_t seed) {
  SeededRandom random(seed);
  const auto below = [&](std::uint64_t limit) { return static_cast<int>(random.next() % limit); };
  PreloadBundle bundle(static_cast<std::size_t>(5 + below(20)));
  bundle.limit = 1 + below(12);
  std::int64_t last = 0;
  const auto make = [&] {
    const WallTime trigger = bundle.now + seconds{below(20) - 10};
    return job(++last, 100 * below(4), trigger);
  };
  for (int i = 0; i < below(60); ++i) bundle.table.insert(make());
  for (int step = 0; step < 400; ++step) {
    switch (below(10)) {
      case 0:
      case 1:
        bundle.add(make());
        break;
      case 2: {  // A row is taken out by somebody, such as a cancel.
        if (bundle.table.size() == 0) break;
        bundle.remove(bundle.table.all().begin()->first);
        break;
      }
      case 3:
        bundle.now += seconds{below(4)};
        break;
      case 4:
      case 5:
        bundle.ask();
        break;
      case 6:
        bundle.work();
        break;
      case 7:
        bundle.answer();
        break;
      case 8:  // Claimed ahead of its time.
        if (bundle.preload.soonest() != nullptr) bundle.claim(bundle.preload.take_soonest().id);
        break;
      default:
        bundle.settle();
        ASSERT_EQ(bundle.preload.has_due(), bundle.best_of_table().has_value()) << step;
        if (bundle.preload.has_due()) {
          ASSERT_EQ(bundle.preload.best().id, *bundle.best_of_table()) << step;
          bundle.take();
        }
        break;
    }
    bundle.preload.advance(bundle.now);
    ASSERT_LE(bundle.preload.due_size(), bundle.preload.capacity());
    ASSERT_LE(bundle.preload.upcoming_size(), bundle.preload.capacity());
  }
  bundle.now += seconds{60};
  bundle.settle();
  while (bundle.table.size() > 0) {
    ASSERT_TRUE(bundle.preload.has_due()) << bundle.table.size() << " rows were never found";
    ASSERT_EQ(bundle.preload.best().id, *bundle.best_of_table());
    bundle.take();
    bundle.settle();
  }
}

TEST(Preload, BestRowMatchesTheTableUnderRandomOperations) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_at_random(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace carillon::jobtracker
