#include "tasktracker/run/run_as.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace carillon::tasktracker {
namespace {

constexpr std::size_t kEntryBytesMax = 64 * 1024;  // of the user database
constexpr int kGroupsOfUserMax = 1024;

// The effective capabilities of this process, one bit each.
std::uint64_t own_capabilities() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  return 0;
}

Status check_may_change_user() {
  const std::uint64_t own = own_capabilities();
  for (const int needed : {CAP_SETUID, CAP_SETGID, CAP_KILL}) {
    if ((own >> needed & 1) != 0) continue;
    return Error{ErrorCode::kDenied,
                 "this process may not run programs as another user (start it as root, or with the "
                 "capabilities CAP_SETUID, CAP_SETGID and CAP_KILL)"};
  }
  return {};
}

}  // namespace

Result<RunAs> find_run_as(const std::string& user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kEntryBytesMax);
  const int failed = ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 "there is no user '" + user + "'" +
                     (failed == 0 ? "" : std::string{": "} + std::strerror(failed)) +
                     " (create it with: useradd --system '" + user + "')"};
  }
  if (entry.pw_uid == 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "user '" + user + "' is root and would keep all rights (name another user)"};
  }
  CARILLON_TRY(check_may_change_user());
  RunAs as{.user = user, .uid = entry.pw_uid, .gid = entry.pw_gid, .home = entry.pw_dir};
  as.groups.resize(kGroupsOfUserMax);
  int groups = kGroupsOfUserMax;
  if (::getgrouplist(user.c_str(), entry.pw_gid, as.groups.data(), &groups) < 0) {
    return Error{ErrorCode::kInvalidArgument, "user '" + user + "' has more than " +
                                                  std::to_string(kGroupsOfUserMax) + " groups"};
  }
  as.groups.resize(static_cast<std::size_t>(groups));
  return as;
}

Environment environment_as(const Environment& own, const RunAs& user) {
  std::map<std::string, std::string> variables = own.all();
  std::erase_if(variables, [](const auto& variable) {
    return variable.first.starts_with("XDG_") || variable.first == "TMPDIR";
  });
  variables["HOME"] = user.home;
  variables["USER"] = user.user;
  variables["LOGNAME"] = user.user;
  return Environment{std::move(variables)};
}

bool become_user(const RunAs& user) {
  if (::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0 ||
      ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0 ||
      ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) {
    return false;
  }
  // Capabilities that a service manager gave would otherwise stay with the program.
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return false;
  // The folder of this process may be closed to the user.
  return ::chdir(user.home.c_str()) == 0 || ::chdir("/") == 0;
}

}  // namespace carillon::tasktracker
