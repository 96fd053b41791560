#include "shared/base/mutex.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace carillon {
namespace {

class Counter {
 public:
  void add() {
    const MutexLock lock{mutex_};
    ++value_;
    changed_.notify_all();
  }
  int wait_for_at_least(int least) {
    MutexLock lock{mutex_};
    while (value_ < least) changed_.wait(lock);
    return value_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int value_ CARILLON_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, LetsOneThreadInAtATimeAndWakesWaiters) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 1000;
  Counter counter;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&counter] {
      for (int round = 0; round < kRounds; ++round) counter.add();
    });
  }
  EXPECT_EQ(counter.wait_for_at_least(kThreads * kRounds), kThreads * kRounds);
}

TEST(Mutex, WaitTimesOut) {
  Mutex mutex;
  Condition never;
  MutexLock lock{mutex};
  EXPECT_FALSE(never.wait_for(lock, std::chrono::milliseconds{1}));
}

}  // namespace
}  // namespace carillon
