#include "shared/runtime/event_loop.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

// Time that stands still until it is told to move.
class StandingClock final : public Clock {
 public:
  WallTime wall_now() const override { return WallTime{}; }
  SteadyTime steady_now() const override { return now; }
  SteadyTime now{hours{1}};
};

// A pipe that closes itself.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void write() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  void read() const {
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  }
  std::array<int, 2> ends{};
};

struct LoopBundle {
  StandingClock clock;
  EventLoop loop{clock};
  std::vector<std::string> seen;

  std::function<void()> note(std::string what) {
    return [this, what] { seen.push_back(what); };
  }
};

TEST(EventLoop, DefersWorkPostedByWorkToTheNextTurn) {
  LoopBundle b;
  b.loop.post([&] {
    b.seen.push_back("first");
    b.loop.post(b.note("third"));
  });
  b.loop.post(b.note("second"));
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre("first", "second"));
  b.loop.run_once(hours{1});
  EXPECT_THAT(b.seen, ElementsAre("first", "second", "third"));
}

TEST(EventLoop, RunsTimersInOrderAndNeverEarly) {
  LoopBundle b;
  b.loop.post_at(b.clock.now + milliseconds{20}, b.note("late"));
  b.loop.post_at(b.clock.now + milliseconds{10}, b.note("early"));
  b.loop.post_at(b.clock.now + milliseconds{10}, b.note("early too"));
  b.loop.post_at(b.clock.now + hours{1}, b.note("never"));
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre());
  b.clock.now += milliseconds{20};
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre("early", "early too", "late"));
}

TEST(EventLoop, RunsAPastTimerInTheNextTurn) {
  LoopBundle b;
  b.loop.post_at(b.clock.now, [&] {
    b.seen.push_back("outer");
    b.loop.post_at(SteadyTime{}, b.note("inner"));
  });
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre("outer"));
  b.loop.run_once(hours{1});
  EXPECT_THAT(b.seen, ElementsAre("outer", "inner"));
}

TEST(EventLoop, SkipsATimerCancelledInTheSameTurn) {
  LoopBundle b;
  TimerId second = 0;
  b.loop.post_at(b.clock.now, [&] {
    b.seen.push_back("first");
    b.loop.cancel(second);
  });
  second = b.loop.post_at(b.clock.now, b.note("second"));
  b.loop.post_at(b.clock.now, b.note("third"));
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre("first", "third"));
  b.loop.cancel(second);
}

TEST(EventLoop, WakesForATimerOnTheSystemClock) {
  const SystemClock clock;
  EventLoop loop(clock);
  const SteadyTime due = clock.steady_now() + milliseconds{5};
  SteadyTime ran{};
  loop.post_at(due, [&] {
    ran = clock.steady_now();
    loop.stop();
  });
  loop.post_at(due + hours{1}, [&] { ADD_FAILURE() << "an hour has not passed"; });
  loop.run();
  EXPECT_GE(ran, due);
}

TEST(EventLoop, CallsAWatcherWhileItsDescriptorIsReadable) {
  LoopBundle b;
  const Pipe pipe;
  b.loop.watch(pipe.ends[0], b.note("readable"));
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre());
  pipe.write();
  b.loop.run_once(Duration{0});
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre("readable", "readable"));
  pipe.read();
  b.loop.run_once(Duration{0});
  EXPECT_EQ(b.seen.size(), 2U);
  b.loop.unwatch(pipe.ends[0]);
}

TEST(EventLoop, SkipsAWatcherRemovedInTheSameTurn) {
  LoopBundle b;
  const Pipe one;
  const Pipe two;
  one.write();
  two.write();
  const auto stop_both = [&] {
    b.seen.push_back("called");
    b.loop.unwatch(one.ends[0]);
    b.loop.unwatch(two.ends[0]);
  };
  b.loop.watch(one.ends[0], stop_both);
  b.loop.watch(two.ends[0], stop_both);
  b.loop.run_once(Duration{0});
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre("called"));
}

TEST(EventLoop, RunsDescriptorsThenTimersThenPostsThenHooks) {
  LoopBundle b;
  const Pipe pipe;
  pipe.write();
  b.loop.at_end_of_turn([&] {
    b.seen.push_back("hook 1");
    return false;
  });
  b.loop.at_end_of_turn([&] {
    b.seen.push_back("hook 2");
    return false;
  });
  b.loop.post(b.note("posted"));
  b.loop.post_at(b.clock.now, b.note("timer"));
  b.loop.watch(pipe.ends[0], b.note("descriptor"));
  b.loop.run_once(Duration{0});
  EXPECT_THAT(b.seen, ElementsAre("descriptor", "timer", "posted", "hook 1", "hook 2"));
  b.loop.unwatch(pipe.ends[0]);
}

TEST(EventLoop, TurnsAgainAtOnceWhenAHookAsks) {
  LoopBundle b;
  int left = 3;
  b.loop.at_end_of_turn([&] { return --left > 0; });
  b.loop.run_once(Duration{0});
  b.loop.run_once(hours{1});
  b.loop.run_once(hours{1});
  EXPECT_EQ(left, 0);
}

TEST(EventLoop, HonorsAStopRequestedBeforeItRuns) {
  LoopBundle b;
  b.loop.stop();
  b.loop.run();
  b.loop.post([&] { b.loop.stop(); });
  b.loop.run();
}

TEST(EventLoop, CanBeStoppedByAnotherThread) {
  const SystemClock clock;
  EventLoop loop(clock);
  const auto other = Thread::start("stopper", [&] { loop.stop(); });
  ASSERT_TRUE(other.ok());
  loop.run();
}

TEST(EventLoop, ReadsAMailboxThatAnotherThreadFills) {
  const SystemClock clock;
  EventLoop loop(clock);
  Mailbox<int> mailbox(8);
  std::int64_t sum = 0;
  loop.watch(mailbox.fd(), [&] {
    mailbox.clear();
    while (auto number = mailbox.take()) {
      sum += *number;
      if (*number == 1000) loop.stop();
    }
  });
  const auto other = Thread::start("filler", [&] {
    for (int number = 1; number <= 1000;) {
      if (mailbox.put(int{number})) ++number;
    }
  });
  ASSERT_TRUE(other.ok());
  loop.run();
  EXPECT_EQ(sum, 500'500);
  loop.unwatch(mailbox.fd());
}

}  // namespace
}  // namespace carillon
