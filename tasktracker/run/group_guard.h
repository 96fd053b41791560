#pragma once

#include <sys/types.h>

#include "carillon/result.h"

namespace carillon::tasktracker {

// Kills the process groups of a worker that was killed with SIGKILL, so that its processes do not
// continue while the same jobs run again elsewhere.
//
// A small process, forked when the first process is run. It learns of each group through a pipe.
// When the pipe breaks, because the worker has died, it kills the remaining groups and exits. It
// uses only system calls, because it is forked from a program with threads. If it cannot be
// created, or was killed, groups are not guarded.
//
// Thread: any.
class GroupGuard {
 public:
  GroupGuard() = default;
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  // Forks the guard. Call once, before add().
  Status start();

  void add(pid_t group);
  void remove(pid_t group);

 private:
  void tell(pid_t value);

  int pipe_ = -1;
  pid_t process_ = -1;
};

}  // namespace carillon::tasktracker
