#include "tasktracker/run/group_guard.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace carillon::tasktracker {
namespace {

constexpr std::size_t kGroupsMax = 4096;  // further groups are not guarded

// The code of the guard. A positive number adds a group, a negative one removes it.
[[noreturn]] void guard_groups(int pipe) {
  ::prctl(PR_SET_NAME, "carillon-guard");
  // It must outlive the worker, even if a terminal or a service manager signals all processes.
  for (const int ignored : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(ignored, SIG_IGN);
  ::setpgid(0, 0);
  static std::array<pid_t, kGroupsMax> groups;
  std::size_t count = 0;
  pid_t value = 0;
  while (true) {
    const ssize_t got = ::read(pipe, &value, sizeof value);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof value)) break;
    if (value > 0) {
      if (count < kGroupsMax) groups[count++] = value;
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (groups[i] == -value) {
        groups[i] = groups[--count];
        break;
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) ::kill(-groups[i], SIGKILL);
  ::_exit(0);
}

}  // namespace

Status GroupGuard::start() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{ErrorCode::kUnavailable,
                 std::string{"cannot create a pipe: "} + std::strerror(errno)};
  }
  process_ = ::fork();
  if (process_ == 0) {
    // Keeps only the reading end: a writing end here would keep the pipe open.
    ::dup2(ends[0], 0);
    ::close_range(1, ~0U, 0);
    guard_groups(0);
  }
  ::close(ends[0]);
  if (process_ < 0) {
    ::close(ends[1]);
    return Error{ErrorCode::kUnavailable, std::string{"cannot fork: "} + std::strerror(errno)};
  }
  // A full pipe must not block a run.
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_ = ends[1];
  return {};
}

GroupGuard::~GroupGuard() {
  if (pipe_ >= 0) ::close(pipe_);
  while (process_ > 0 && ::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void GroupGuard::add(pid_t group) { tell(group); }

void GroupGuard::remove(pid_t group) { tell(-group); }

void GroupGuard::tell(pid_t value) {
  if (pipe_ < 0) return;
  // Small writes are complete or fail. If the guard is dead, the error has no effect: SIGPIPE is
  // ignored in the worker, and reset in a new child.
  [[maybe_unused]] const ssize_t written = ::write(pipe_, &value, sizeof value);
}

}  // namespace carillon::tasktracker
