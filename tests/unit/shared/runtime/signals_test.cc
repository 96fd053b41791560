#include "shared/runtime/signals.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct SignalsBundle {
  SystemClock clock;
  EventLoop loop{clock};
  std::vector<std::pair<int, int>> seen;
  std::unique_ptr<Signals> signals = Signals::open(loop, [this](int signal, int count) {
                                       seen.emplace_back(signal, count);
                                     }).value();
};

TEST(Signals, CountsSigtermAndSigintTogether) {
  SignalsBundle b;
  ASSERT_EQ(std::raise(SIGTERM), 0);
  b.loop.run_once(std::chrono::seconds{1});
  ASSERT_EQ(std::raise(SIGINT), 0);
  b.loop.run_once(std::chrono::seconds{1});
  EXPECT_THAT(b.seen, ElementsAre(Pair(SIGTERM, 1), Pair(SIGINT, 2)));
}

TEST(Signals, CountsSighupSeparately) {
  SignalsBundle b;
  ASSERT_EQ(std::raise(SIGTERM), 0);
  b.loop.run_once(std::chrono::seconds{1});
  ASSERT_EQ(std::raise(SIGHUP), 0);
  b.loop.run_once(std::chrono::seconds{1});
  EXPECT_THAT(b.seen, ElementsAre(Pair(SIGTERM, 1), Pair(SIGHUP, 1)));
}

TEST(Signals, ReportsSignalsThatArrivedWhileBlocked) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Signals::block();
  ASSERT_EQ(std::raise(SIGTERM), 0);
  {
    SignalsBundle b;
    b.loop.run_once(std::chrono::seconds{1});
    EXPECT_THAT(b.seen, ElementsAre(Pair(SIGTERM, 1)));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Signals, SurvivesABrokenPipe) {
  const SignalsBundle b;
  EXPECT_EQ(std::raise(SIGPIPE), 0);
}

TEST(SignalsDeathTest, NextSignalEndsTheProcessWhenRequested) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          const SignalsBundle b;
          Signals::end_process_on_next(3);
          std::raise(signal);
        },
        ::testing::ExitedWithCode(3), "");
  }
}

TEST(Signals, RestoresTheSignalMask) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ASSERT_EQ(sigismember(&before, SIGTERM), 0);
  {
    const SignalsBundle b;
    sigset_t during;
    pthread_sigmask(SIG_SETMASK, nullptr, &during);
    EXPECT_EQ(sigismember(&during, SIGTERM), 1);
  }
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
}

}  // namespace
}  // namespace carillon
