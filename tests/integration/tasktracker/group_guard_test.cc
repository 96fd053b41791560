#include "tasktracker/run/group_guard.h"

#include <array>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/integration/tasktracker/alive.h"

namespace carillon::tasktracker {
namespace {

// A process that sleeps in a group of its own.
pid_t start_group() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    // As exec would, or this process would keep the guard's pipe open.
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    while (true) ::pause();
  }
  ::setpgid(pid, pid);
  return pid;
}

// A process of its own with a guard and two groups, one of which it takes from the guard again.
struct Worker {
  pid_t process = -1;
  std::array<pid_t, 2> groups{};

  Worker() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    process = ::fork();
    if (process == 0) {
      GroupGuard guard;
      const bool started = guard.start().ok();
      const std::array<pid_t, 2> mine{start_group(), start_group()};
      guard.add(mine[0]);
      guard.add(mine[1]);
      guard.remove(mine[1]);
      if (started) [[maybe_unused]]
        const auto n = ::write(ends[1], mine.data(), sizeof mine);
      while (true) ::pause();
    }
    EXPECT_EQ(::read(ends[0], groups.data(), sizeof groups), static_cast<ssize_t>(sizeof groups));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Worker() {
    for (const pid_t group : groups) {
      if (group > 0) ::kill(-group, SIGKILL);
    }
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
};

bool dies(pid_t pid) {
  const SystemClock clock;
  const SteadyTime limit = clock.steady_now() + std::chrono::seconds{10};
  while (is_alive(pid)) {
    if (clock.steady_now() > limit) return false;
    ::usleep(1000);
  }
  return true;
}

TEST(GroupGuard, KillsTheProcessGroupsOfAKilledWorker) {
  Worker worker;
  EXPECT_TRUE(is_alive(worker.groups[0]));
  ::kill(worker.process, SIGKILL);
  EXPECT_TRUE(dies(worker.groups[0]));
  EXPECT_TRUE(is_alive(worker.groups[1])) << "that one was taken from it";
}

TEST(GroupGuard, LeavesAFinishedProcessGroupAlone) {
  const pid_t group = start_group();
  {
    GroupGuard guard;
    ASSERT_TRUE(guard.start().ok());
    guard.add(group);
    guard.remove(group);
  }
  EXPECT_TRUE(is_alive(group));
  ::kill(-group, SIGKILL);
  ::waitpid(group, nullptr, 0);
}

}  // namespace
}  // namespace carillon::tasktracker
