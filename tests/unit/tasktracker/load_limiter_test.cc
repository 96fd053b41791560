#include "tasktracker/load_limiter.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace carillon::tasktracker {
namespace {

using carillon::testing::TempFolder;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A machine with 100 ticks a second in all, that is as busy as the test says.
struct Machine {
  explicit Machine(LoadLimits limits)
      : gate(limits, [this]() -> Result<MachineLoad> {
          ++reads;
          if (is_unreadable) return Error{ErrorCode::kUnavailable, "the test says so"};
          return load;
        }) {
    load.memory_all = 1000;
    gate.run_once(now);
  }

  void go_on(int busy_percent, int count = 1) {
    for (int second = 0; second < count; ++second) {
      now += seconds{1};
      load.cpu_all += 100;
      load.cpu_busy += busy_percent;
      gate.run_once(now);
    }
  }

  SteadyTime now{seconds{100}};
  MachineLoad load{};
  bool is_unreadable = false;
  int reads = 0;
  LoadLimiter gate;
};

TEST(LoadLimiter, ClosesWhenTheProcessorsAreBusyForThreeSeconds) {
  Machine m{{.cpu = 90}};
  m.go_on(0, 10);
  m.go_on(100, 2);
  EXPECT_EQ(m.gate.overload(), "") << "66 percent of three seconds";
  m.go_on(100);
  EXPECT_EQ(m.gate.overload(), "cpu 100%");
  m.go_on(0);
  EXPECT_EQ(m.gate.overload(), "");
}

TEST(LoadLimiter, ReopensFivePointsBelowItsLimit) {
  Machine m{{.cpu = 90}};
  m.go_on(90, 10);
  EXPECT_EQ(m.gate.overload(), "cpu 90%");
  m.go_on(86, 10);
  EXPECT_EQ(m.gate.overload(), "cpu 90%") << "as it began";
  m.go_on(84, 10);
  EXPECT_EQ(m.gate.overload(), "");
  m.go_on(89, 10);
  EXPECT_EQ(m.gate.overload(), "");
}

TEST(LoadLimiter, ClosesWhenMemoryIsLow) {
  Machine m{{.memory = 80}};
  m.load.memory_used = 799;
  m.go_on(100, 5);
  EXPECT_EQ(m.gate.overload(), "");
  m.load.memory_used = 800;
  m.go_on(0);
  EXPECT_EQ(m.gate.overload(), "memory 80%");
  m.load.memory_used = 740;
  m.go_on(0);
  EXPECT_EQ(m.gate.overload(), "");
}

TEST(LoadLimiter, NamesEveryExceededLimit) {
  Machine m{{.cpu = 50, .memory = 50}};
  m.go_on(60, 2);
  m.load.memory_used = 510;
  m.go_on(60);
  EXPECT_EQ(m.gate.overload(), "cpu 60%, memory 51%");
}

TEST(LoadLimiter, ReopensEvenWithTheSmallestLimit) {
  Machine m{{.cpu = 1}};
  m.go_on(1, 5);
  EXPECT_EQ(m.gate.overload(), "cpu 1%");
  m.go_on(0, 5);
  EXPECT_EQ(m.gate.overload(), "");
}

TEST(LoadLimiter, StaysOpenWhileTheLoadCannotBeRead) {
  Machine m{{.memory = 80}};
  m.load.memory_used = 900;
  m.go_on(0);
  EXPECT_EQ(m.gate.overload(), "memory 90%");
  m.is_unreadable = true;
  m.go_on(0);
  EXPECT_EQ(m.gate.overload(), "");
  m.is_unreadable = false;
  m.go_on(0);
  EXPECT_EQ(m.gate.overload(), "memory 90%");
}

TEST(LoadLimiter, ReadsTheLoadEachSecondOnlyWithALimit) {
  Machine none{{}};
  none.go_on(100, 5);
  EXPECT_EQ(none.reads, 0);
  EXPECT_EQ(none.gate.next_time(), std::nullopt);

  Machine one{{.cpu = 90}};
  const int before = one.reads;
  for (int i = 0; i < 100; ++i) {
    one.now += milliseconds{100};
    one.gate.run_once(one.now);
  }
  EXPECT_EQ(one.reads, before + 10);
  EXPECT_EQ(one.gate.next_time(), one.now + seconds{1});
}

TEST(MachineLoad, IsReadFromTheKernel) {
  const auto before = read_machine_load();
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_GT(before.value().cpu_busy, 0);
  EXPECT_GT(before.value().cpu_all, before.value().cpu_busy);
  EXPECT_GT(before.value().memory_used, 0);
  EXPECT_GT(before.value().memory_all, before.value().memory_used);
}

TEST(MachineLoad, CountsIoWaitAsIdleAndGuestTimeOnce) {
  const TempFolder proc;
  std::ofstream(proc.path() / "stat")
      << "cpu  1 2 4 8 16 32 64 128 1 2\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
  std::ofstream(proc.path() / "meminfo")
      << "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    250 kB\n";
  const auto load = read_machine_load(proc.path());
  ASSERT_TRUE(load.ok()) << load.error().message;
  EXPECT_EQ(load.value().cpu_all, 255);
  EXPECT_EQ(load.value().cpu_busy, 255 - 8 - 16);
  EXPECT_EQ(load.value().memory_all, 1000 * 1024);
  EXPECT_EQ(load.value().memory_used, 750 * 1024);
}

TEST(MachineLoad, ReadErrorNamesTheFile) {
  const TempFolder proc;
  const auto reason = [&] {
    const auto load = read_machine_load(proc.path());
    return load.ok() ? std::string{"fine"} : load.error().message;
  };
  EXPECT_THAT(reason(), HasSubstr("/stat: it cannot be read"));
  std::ofstream(proc.path() / "stat") << "cpu 1 2 3\n";
  EXPECT_THAT(reason(), HasSubstr("/stat: its first line is 'cpu 1 2 3'"));
  std::ofstream(proc.path() / "stat") << "cpu 1 2 3 4 5 6 7 8\n";
  std::ofstream(proc.path() / "meminfo") << "MemTotal: 5 kB\n";
  EXPECT_THAT(reason(), HasSubstr("/meminfo: it has no MemTotal and MemAvailable"));
}

}  // namespace
}  // namespace carillon::tasktracker
