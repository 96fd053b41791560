#include "jobtracker/store/store_thread.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "shared/base/clock.h"

// The threads between the loop and the store.
namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers at once, and counts.
class CountingStore final : public ReadOnlyStore {
 public:
  explicit CountingStore(std::atomic<int>& reads) : reads_(reads) {}
  Result<ReadAnswer> read(const Read&) override {
    ++reads_;
    return ReadAnswer{NodesAnswer{}};
  }

 private:
  std::atomic<int>& reads_;
};

Duration processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return seconds{used.ru_utime.tv_sec + used.ru_stime.tv_sec} +
         std::chrono::microseconds{used.ru_utime.tv_usec + used.ru_stime.tv_usec};
}

// A loop that is busy with something else, while people have asked more than fits into the way
// back.
TEST(QueryThread, WaitsWithoutSpinningForTheReaderAndLosesNoAnswers) {
  constexpr int kAnswersHeld = 2048;
  constexpr int kAsked = kAnswersHeld + 50;
  const SystemClock clock;
  EventLoop loop(clock);
  std::atomic<int> reads{0};
  auto questions = QueryThread::start(std::make_unique<CountingStore>(reads), loop).value();
  Wakeup never;
  std::vector<int> answered;
  for (int i = 0; i < kAsked; ++i) {
    while (i - reads > 1000) never.wait_for(milliseconds{1});
    questions->ask(ListNodes{}, [&answered, i](const Result<ReadAnswer>& answer) {
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      answered.push_back(i);
    });
  }
  while (reads <= kAnswersHeld) never.wait_for(milliseconds{1});

  const Duration before = processor_time();
  never.wait_for(milliseconds{300});
  EXPECT_LT(processor_time() - before, milliseconds{30});
  EXPECT_EQ(reads, kAnswersHeld + 1);

  const SteadyTime limit = clock.steady_now() + seconds{10};
  while (answered.size() < kAsked && clock.steady_now() < limit) loop.run_once(milliseconds{10});
  ASSERT_EQ(answered.size(), static_cast<std::size_t>(kAsked));
  EXPECT_TRUE(std::is_sorted(answered.begin(), answered.end()));
}

TEST(QueryThread, StopsWhileItsAnswersAreUnread) {
  const SystemClock clock;
  EventLoop loop(clock);
  std::atomic<int> reads{0};
  auto questions = QueryThread::start(std::make_unique<CountingStore>(reads), loop).value();
  Wakeup never;
  for (int i = 0; i < 2100; ++i) {
    while (i - reads > 1000) never.wait_for(milliseconds{1});
    questions->ask(ListNodes{}, [](const Result<ReadAnswer>&) {});
  }
  while (reads <= 2048) never.wait_for(milliseconds{1});
  questions.reset();
}

}  // namespace
}  // namespace carillon::jobtracker
