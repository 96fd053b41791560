#include "tasktracker/run/run_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/mutex.h"
#include "shared/runtime/wakeup.h"
#include "shared/wire/codec.h"
#include "tests/support/manual_clock.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::Field;
using ::testing::SizeIs;

constexpr int kThreads = 4;
constexpr Duration kLease = seconds{3};

// Threads, and a handler "gate" whose runs go on until the gate is opened.
struct RunPoolBundle {
  RunPoolBundle() {
    handlers["gate"] = [this](JobContext&) {
      MutexLock lock(mutex);
      ++begun;
      changed.notify_all();
      while (!is_open) changed.wait(lock);
      return RunReport::succeeded();
    };
    EXPECT_TRUE(pool.start().ok());
  }
  ~RunPoolBundle() { open(); }

  // Handed out now.
  void add(int jobs) {
    std::vector<wire::HandedJob> list;
    for (int i = 0; i < jobs; ++i) {
      list.push_back(
          {.id = {JobId{++last_job}, 1},
           .spec = wire::encode_spec({.run = {.kind = RunKind::kHandler, .handler = "gate"}})});
    }
    pool.add(std::move(list), clock.steady_now() + kLease);
  }
  void wait_begun(int runs) {
    MutexLock lock(mutex);
    while (begun < runs) changed.wait(lock);
  }
  void open() {
    const MutexLock lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  // Waits until as many have come out.
  std::vector<Ended> wait_ended(std::size_t jobs) {
    PoolNews news;
    while (true) {
      pool.collect(news, false);
      if (news.ended.size() >= jobs) return std::move(news.ended);
      news_came.wait();
    }
  }

  ManualClock clock;
  Environment environment;
  Handlers handlers;
  HttpSend http = [](const HttpRequest&, Duration, std::size_t,
                     const std::atomic<bool>&) -> Result<HttpAnswer> {
    return Error{ErrorCode::kUnavailable, "there is no network here"};
  };
  Runner runner{
      {.node = "host-1", .allow = {RunKind::kHandler}}, handlers, environment, http, clock};
  Mutex mutex;
  Condition changed;
  int begun = 0;
  bool is_open = false;
  std::int64_t last_job = 0;
  Wakeup news_came;
  RunPool pool{{.threads = kThreads}, runner, clock, [this] { news_came.signal(); }};
};

TEST(RunPool, StartsNoRunOnceItsLeaseHasEnded) {
  RunPoolBundle b;
  b.add(kThreads + 40);
  b.wait_begun(kThreads);
  b.clock.advance(kLease);  // As when the process is stopped and goes on.
  b.open();
  std::vector<Ended> ended = b.wait_ended(kThreads + 40);
  EXPECT_EQ(b.begun, kThreads);
  std::erase_if(ended, [](const Ended& one) { return !one.came_late; });
  EXPECT_THAT(ended, SizeIs(40));
}

TEST(RunPool, StartsARunThatWaitedNearlyAWholeLease) {
  RunPoolBundle b;
  b.add(kThreads + 40);
  b.wait_begun(kThreads);
  b.clock.advance(kLease - Duration{1});
  b.open();
  EXPECT_THAT(b.wait_ended(kThreads + 40), Each(Field(&Ended::came_late, false)));
  EXPECT_EQ(b.begun, kThreads + 40);
}

}  // namespace
}  // namespace carillon::tasktracker
