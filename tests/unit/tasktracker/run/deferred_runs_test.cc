#include "tasktracker/run/deferred_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

wire::AttemptId id(std::int64_t job) { return {JobId{job}, 1}; }

// A queue in which nothing begins.
class Queue final : public Runs {
 public:
  void add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) override {
    for (const wire::HandedJob& job : jobs) queue.push_back(job.id);
    last_begin_before = begin_before;
  }
  void close() override {}
  std::vector<wire::AttemptId> reclaim(std::optional<SteadyTime>) override {
    return std::exchange(queue, {});
  }
  Stopped stop(wire::AttemptId id, StopReason, const std::string&) override {
    return {.was_waiting = std::erase(queue, id) > 0};
  }
  void stop_all(StopReason, const std::string&, bool) override {}
  std::optional<SteadyTime> keep_time(SteadyTime) override { return next; }
  void collect(PoolNews&, bool) override {}
  std::vector<wire::AttemptId> waiting() const override { return queue; }

  std::vector<wire::AttemptId> queue;
  SteadyTime last_begin_before{};
  std::optional<SteadyTime> next{};
};

struct DeferredRunsBundle {
  // Handed out now, with a lease of three seconds.
  void add(std::int64_t job, Duration wait) {
    runs.add({{.id = id(job), .wait = wait}}, clock.steady_now() + seconds{3});
  }
  std::optional<SteadyTime> at(Duration since_start) {
    clock.advance(std::chrono::duration_cast<Duration>(start + since_start - clock.steady_now()));
    return runs.keep_time(clock.steady_now());
  }

  ManualClock clock;
  const SteadyTime start = clock.steady_now();
  Queue queue;
  DeferredRuns runs{queue, clock};
};

TEST(DeferredRuns, StartEachJobAtItsTime) {
  DeferredRunsBundle b;
  b.add(1, milliseconds{200});
  b.add(2, Duration{});
  b.add(3, milliseconds{100});
  EXPECT_THAT(b.queue.queue, ElementsAre(id(2)));
  EXPECT_EQ(b.at(milliseconds{99}), b.start + milliseconds{100});
  EXPECT_THAT(b.queue.queue, ElementsAre(id(2)));
  EXPECT_EQ(b.at(milliseconds{100}), b.start + milliseconds{200});
  EXPECT_THAT(b.queue.queue, ElementsAre(id(2), id(3)));
  EXPECT_EQ(b.at(milliseconds{250}), std::nullopt);
  EXPECT_THAT(b.queue.queue, ElementsAre(id(2), id(3), id(1)));
  EXPECT_EQ(b.queue.last_begin_before, b.start + seconds{3}) << "the lease is that of its hand-out";
}

TEST(DeferredRuns, WakeAtTheEarlierOfDeferredAndQueuedWork) {
  DeferredRunsBundle b;
  b.add(1, milliseconds{200});
  b.queue.next = b.start + milliseconds{50};
  EXPECT_EQ(b.at(Duration{}), b.start + milliseconds{50});
  b.queue.next = b.start + milliseconds{300};
  EXPECT_EQ(b.at(Duration{}), b.start + milliseconds{200});
}

TEST(DeferredRuns, AreListedStoppedAndTakenBack) {
  DeferredRunsBundle b;
  b.add(1, milliseconds{200});
  b.add(2, Duration{});
  b.add(3, milliseconds{100});
  EXPECT_THAT(b.runs.waiting(), ElementsAre(id(2), id(3), id(1)));
  EXPECT_TRUE(b.runs.stop(id(3), StopReason::kKilled, "").was_waiting);
  EXPECT_FALSE(b.runs.stop(id(3), StopReason::kKilled, "").was_waiting);
  EXPECT_TRUE(b.runs.stop(id(2), StopReason::kKilled, "").was_waiting);
  EXPECT_THAT(b.runs.reclaim(b.clock.steady_now()), IsEmpty()) << "it is not old";
  EXPECT_THAT(b.runs.reclaim(std::nullopt), ElementsAre(id(1)));
  EXPECT_EQ(b.at(seconds{1}), std::nullopt);
  EXPECT_THAT(b.queue.queue, IsEmpty());
}

}  // namespace
}  // namespace carillon::tasktracker
