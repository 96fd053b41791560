#pragma once

#include <string>
#include <vector>

#include "carillon/time.h"
#include "shared/base/clock.h"
#include "tasktracker/run/group_guard.h"
#include "tasktracker/run/run_control.h"

// Runs a program as a process group of its own.
//
// The run ends when the program itself ends, whatever its exit status. The output of children that
// it left behind is read for a moment longer. Then the pipes are closed, and the children go on.
// With `kill_leftovers` they are killed.
//
// A stop, such as a time-out, ends the whole group: SIGTERM, and SIGKILL after a grace or once the
// program has ended. Only a child that made itself a session or group of its own (setsid) gets
// away.
//
// When this worker is killed with SIGKILL while the program runs, the kernel kills the program
// (PR_SET_PDEATHSIG) and the guard the rest of the group.
//
// Thread: any; blocks until the end. The thread must live as long as the process.
namespace carillon::tasktracker {

struct ProcessRequest {
  std::vector<std::string> arguments{};    // the program first, searched in PATH; at least one
  std::vector<std::string> environment{};  // NAME=value
  std::string input{};                     // its standard input, a file that can be read again
};

struct ProcessLimits {
  Duration kill_grace = std::chrono::seconds{5};        // between SIGTERM and SIGKILL
  Duration leftovers = std::chrono::milliseconds{100};  // for output of children left behind
  bool kill_leftovers = false;                          // also of a program that ended by itself
};

struct ProcessEnd {
  bool came_late = false;         // nothing was started; see RunControl::begin_before()
  int not_started = 0;            // errno of what failed before the program ran; 0: it ran
  std::string step{};             // what that was
  int exit_status = 0;            // of the program, when it exited
  int signal = 0;                 // what killed it, or 0
  std::string last_error_line{};  // of its stderr, for a short message
};

ProcessEnd run_process(const ProcessRequest& request, const ProcessLimits& limits,
                       RunControl& control, GroupGuard& guard, const Clock& clock);

}  // namespace carillon::tasktracker
