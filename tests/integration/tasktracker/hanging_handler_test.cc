#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/log.h"
#include "shared/base/mutex.h"
#include "tests/integration/tasktracker/worker_bundle.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr Duration kGrace = milliseconds{150};
constexpr Duration kTimeout = milliseconds{30};

// What runs of "stuck" wait for, whatever they are told. They may outlive their worker.
struct Gate {
  Mutex mutex{};
  Condition changed{};
  bool is_open = false;
  int begun = 0;
  int returned = 0;

  RunReport pass(JobContext& context) {
    MutexLock lock(mutex);
    ++begun;
    changed.notify_all();
    while (!is_open) changed.wait(lock);
    context.log("late words");
    (void)context.is_stopping();
    (void)context.wait(milliseconds{1});
    ++returned;
    changed.notify_all();
    return RunReport::succeeded("of " + context.job().task_id);
  }
  void open() {
    const MutexLock lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  void await_returned(int runs) {
    MutexLock lock(mutex);
    while (returned < runs) changed.wait(lock);
  }
  bool has_begun(int runs) {
    const MutexLock lock(mutex);
    return begun >= runs;
  }
};

struct HangingBundle : WorkerBundle {
  explicit HangingBundle(int threads = 1)
      : WorkerBundle({.threads = threads, .kill_grace = kGrace}) {
    handlers["stuck"] = [gate = gate](JobContext& context) { return gate->pass(context); };
  }
  ~HangingBundle() { gate->open(); }

  static JobSpec stuck(Duration timeout = kTimeout) {
    JobSpec spec = handler("stuck");
    spec.timeout = timeout;
    return spec;
  }
  void turn_for(Duration time) {
    const SteadyTime end = clock.steady_now() + time;
    ASSERT_TRUE(until([&] { return clock.steady_now() >= end; }));
  }

  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();
};

TEST(HangingHandler, IsTimedOutAfterTheGraceAndItsThreadReplaced) {
  HangingBundle b;
  b.start();
  const wire::RunResult result = b.run(HangingBundle::stuck());
  EXPECT_EQ(result.outcome, wire::RunOutcome::kTimedOut);
  EXPECT_EQ(result.message,
            "timed out after 30ms; handler 'stuck' has not stopped after its stop request, so its "
            "thread is lost to worker 'host-1' until it stops");
  EXPECT_GE(result.ended_at - result.started_at, kTimeout + kGrace - milliseconds{1});
  EXPECT_EQ(b.run(HangingBundle::handler("noop")).outcome, wire::RunOutcome::kSucceeded);
}

TEST(HangingHandler, IsKilledAfterTheGrace) {
  HangingBundle b;
  b.start();
  b.tracker().submit(1, HangingBundle::stuck(Duration{0}));
  ASSERT_TRUE(b.until([&] { return b.gate->has_begun(1); }));
  b.tracker().kill(1);
  ASSERT_TRUE(b.until_result(1));
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kKilled);
  EXPECT_THAT(b.tracker().result_of(1)->message, StartsWith("killed: by ann; handler 'stuck' has"));
}

TEST(HangingHandler, ReportsNothingWhenItReturnsLate) {
  HangingBundle b;
  b.start();
  (void)b.run(HangingBundle::stuck());
  b.gate->open();
  b.gate->await_returned(1);
  EXPECT_EQ(b.run(HangingBundle::handler("echo", "after it")).outcome,
            wire::RunOutcome::kSucceeded);
  b.turn_for(milliseconds{100});
  EXPECT_THAT(b.tracker().results, SizeIs(2));
  EXPECT_THAT(b.tracker().output_of(1), IsEmpty());
}

TEST(HangingHandler, IsNamedInTheLog) {
  set_log_level(LogLevel::kInfo);
  CaptureStderr();
  {
    HangingBundle b;
    b.start();
    (void)b.run(HangingBundle::stuck());
  }
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("its thread is lost  task=t1  job=1  handler=stuck"));
}

TEST(HangingHandler, KeepsItsThreadWhenTooManyThreadsAreLost) {
  set_log_level(LogLevel::kInfo);
  CaptureStderr();
  HangingBundle b;
  b.start();
  (void)b.run(HangingBundle::stuck());
  b.tracker().submit(2, HangingBundle::stuck());
  b.turn_for(kTimeout + 4 * kGrace);
  EXPECT_EQ(b.tracker().result_of(2), nullptr);
  const std::string said = GetCapturedStderr();
  const std::string kept = "a handler does not stop; its run continues  task=t2";
  EXPECT_THAT(said, HasSubstr(kept));
  EXPECT_THAT(said.substr(std::min(said.find(kept) + 1, said.size())), Not(HasSubstr(kept)));
}

TEST(HangingHandler, GivesItsThreadBackWhenItReturns) {
  HangingBundle b;
  b.start();
  (void)b.run(HangingBundle::stuck());
  b.tracker().submit(2, HangingBundle::stuck());
  b.turn_for(kTimeout + 2 * kGrace);
  b.gate->open();
  ASSERT_TRUE(b.until_result(2));
  EXPECT_EQ(b.tracker().result_of(2)->message, "timed out after 30ms");
  b.gate->await_returned(2);
  {
    const MutexLock lock(b.gate->mutex);
    b.gate->is_open = false;
  }
  b.last_job = 2;
  EXPECT_THAT(b.run(HangingBundle::stuck()).message, HasSubstr("its thread is lost"));
}

TEST(HangingHandler, IsRequeuedWithoutWaitingWhenItsWorkerStops) {
  HangingBundle b;
  b.start();
  b.tracker().submit(1, HangingBundle::stuck(Duration{0}));
  ASSERT_TRUE(b.until([&] { return b.gate->has_begun(1); }));
  b.worker->request_stop(milliseconds{50});
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  ASSERT_NE(b.tracker().result_of(1), nullptr);
  EXPECT_EQ(b.tracker().result_of(1)->outcome, wire::RunOutcome::kLater);
  EXPECT_THAT(b.tracker().result_of(1)->message, HasSubstr("worker 'host-1' shuts down; handler"));
  EXPECT_EQ(b.tracker().byes, 1);
}

// It has lost the worker, its pool and its handlers, and uses none of them.
TEST(HangingHandler, OutlivesAPoolThatEndsAtOnce) {
  std::shared_ptr<Gate> gate;
  {
    WorkerBundle b({.kill_grace = kGrace});
    gate = std::make_shared<Gate>();
    b.handlers["stuck"] = [gate](JobContext& context) { return gate->pass(context); };
    b.start();
    b.tracker().submit(1, HangingBundle::stuck());
    b.tracker().submit(2, HangingBundle::stuck(Duration{0}));
    ASSERT_TRUE(b.until([&] { return b.tracker().result_of(1) != nullptr && gate->has_begun(2); }));
  }
  gate->open();
  gate->await_returned(2);
}

}  // namespace
}  // namespace carillon::tasktracker
