#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "carillon/result.h"
#include "shared/base/environment.h"

namespace carillon::tasktracker {

// The user that commands, shell lines and scripts run as.
struct RunAs {
  std::string user{};
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};  // all of the user
  std::string home{};
};

// Error: kInvalidArgument if the user is unknown or root. kDenied if this process may not change to
// another user and end its processes (CAP_SETUID, CAP_SETGID and CAP_KILL). Thread: any.
Result<RunAs> find_run_as(const std::string& user);

// The variables of a run as this user: HOME, USER and LOGNAME are its own, and folders of this
// process's user (XDG_*, TMPDIR) are left out. Thread: any.
Environment environment_as(const Environment& own, const RunAs& user);

// Changes the user, its groups and the working folder of a child before exec, and gives up all
// capabilities. Uses only system calls: the C library's functions would change the user of the
// parent's threads, too. False: errno is set.
bool become_user(const RunAs& user);

}  // namespace carillon::tasktracker
