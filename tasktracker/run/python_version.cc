#include "tasktracker/run/python_version.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tasktracker/run/run_environment.h"

namespace carillon::tasktracker {
namespace {

constexpr int kPatienceMs = 5000;
constexpr const char* kQuestion = "import sys; sys.exit(0 if sys.version_info[0] == 2 else 1)";

// The process id, or -1.
pid_t ask(const std::string& program, const Environment& environment) {
  std::vector<std::string> variables = run_environment(environment, {});
  std::vector<char*> pointers;
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  std::array<std::string, 3> words{program, "-c", kQuestion};
  std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &files, &attributes, arguments.data(), pointers.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -1;
}

}  // namespace

bool is_python2(const std::string& program, const Environment& environment) {
  const pid_t pid = ask(program, environment);
  if (pid < 0) return false;
  // glibc 2.36 declares its own wrapper in a form that C++ cannot link.
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd waiting{.fd = process, .events = POLLIN, .revents = 0};
  if (process < 0 || ::poll(&waiting, 1, kPatienceMs) <= 0) ::kill(pid, SIGKILL);
  if (process >= 0) ::close(process);
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  return reaped == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace carillon::tasktracker
