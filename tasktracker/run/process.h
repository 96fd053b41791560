#pragma once

#include <string>
#include <vector>

#include "carillon/time.h"
#include "shared/base/clock.h"
#include "tasktracker/run/group_guard.h"
#include "tasktracker/run/run_as.h"
#include "tasktracker/run/run_control.h"

// Runs a program in its own process group.
//
// The run ends when the program itself ends, with any exit status. Output of remaining children is
// read for a short time. Then the pipes are closed, and the children continue. With
// `kill_leftovers` they are killed.
//
// A stop, such as a time-out, ends the whole group: SIGTERM, then SIGKILL after a grace time or
// when the program has ended. Only a child with its own session or group (setsid) escapes.
//
// When this worker is killed with SIGKILL while the program runs, the kernel kills the program
// (PR_SET_PDEATHSIG), and the guard kills the rest of the group.
//
// Thread: any; blocks until the end. The thread must live as long as the process.
namespace carillon::tasktracker {

struct ProcessRequest {
  std::vector<std::string> arguments{};    // the program first, searched in PATH; at least one
  std::vector<std::string> environment{};  // NAME=value
  std::string input{};                     // content of its standard input
  const RunAs* run_as = nullptr;           // the user of the program; null: this process's
};

struct ProcessLimits {
  Duration kill_grace = std::chrono::seconds{5};        // between SIGTERM and SIGKILL
  Duration leftovers = std::chrono::milliseconds{100};  // for output of remaining children
  bool kill_leftovers = false;                          // also after the program ended by itself
};

struct ProcessEnd {
  bool came_late = false;         // it did not start; see RunControl::begin_before()
  int not_started = 0;            // errno of the failed step before the program ran; 0: it ran
  std::string step{};             // the failed step
  int exit_status = 0;            // of the program, when it exited
  int signal = 0;                 // the signal that killed it, or 0
  std::string last_error_line{};  // of its stderr, for a short message
};

ProcessEnd run_process(const ProcessRequest& request, const ProcessLimits& limits,
                       RunControl& control, GroupGuard& guard, const Clock& clock);

}  // namespace carillon::tasktracker
