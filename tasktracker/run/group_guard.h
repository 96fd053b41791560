#pragma once

#include <sys/types.h>

#include "carillon/result.h"

namespace carillon::tasktracker {

// Kills the process groups of a worker that was itself killed with SIGKILL, so that what its jobs
// started does not run on while the same jobs are run again elsewhere.
//
// A small process of its own, forked off when the first process is run. It is told of every group
// over a pipe; when the pipe breaks, because the worker is gone, it kills the groups that are left
// and ends. It runs nothing but system calls, since it is forked from a program with threads. When
// it cannot be made, or was killed, groups are simply not guarded.
//
// Thread: any.
class GroupGuard {
 public:
  GroupGuard() = default;
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  // Forks the guard. Once, before add().
  Status start();

  void add(pid_t group);
  void remove(pid_t group);

 private:
  void tell(pid_t value);

  int pipe_ = -1;
  pid_t process_ = -1;
};

}  // namespace carillon::tasktracker
