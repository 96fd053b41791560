#include "tests/bench/child_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace carillon::bench {
namespace {

constexpr std::size_t kLogTail = 800;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string tail_of(const std::string& path) {
  std::ifstream file{path};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  return text.size() > kLogTail ? text.substr(text.size() - kLogTail) : text;
}

}  // namespace

Usage operator+(const Usage& a, const Usage& b) {
  return {.cpu = a.cpu + b.cpu, .peak_memory_kib = std::max(a.peak_memory_kib, b.peak_memory_kib)};
}

Usage usage_of(pid_t process) {
  Usage usage;
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return usage;
  }
  usage.cpu = std::chrono::seconds{used.tv_sec} +
              std::chrono::floor<Duration>(std::chrono::nanoseconds{used.tv_nsec});
  std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) usage.peak_memory_kib = std::stoll(line.substr(6));
  }
  return usage;
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const Options& options) {
  std::vector<std::string> arguments{options.program};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(variables);

  int pipe[2] = {-1, -1};
  const int log = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0 || ::pipe2(pipe, O_CLOEXEC) != 0) {
    return Error{ErrorCode::kUnavailable, options.log + ": " + std::strerror(errno)};
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(pipe[1], STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execve(options.program.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  ::close(log);
  if (child < 0) {
    ::close(pipe[0]);
    return Error{ErrorCode::kUnavailable, options.program + ": " + std::strerror(errno)};
  }
  return std::unique_ptr<ChildProcess>{new ChildProcess{options, child, pipe[0]}};
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(output_);
}

Error ChildProcess::failed(const std::string& what) const {
  return {ErrorCode::kUnavailable, options_.program + " " + what + ": " + tail_of(options_.log)};
}

Result<std::string> ChildProcess::read_line(Duration patience) {
  const int wait_ms = static_cast<int>(patience.count() / 1000);
  while (unread_.find('\n') == std::string::npos) {
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, wait_ms) <= 0) return failed("said nothing in time");
    char bytes[4096];
    const ssize_t count = ::read(output_, bytes, sizeof bytes);
    if (count <= 0) return failed("ended before it was ready");
    unread_.append(bytes, static_cast<std::size_t>(count));
  }
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

Status ChildProcess::stop() {
  if (process_ <= 0) return {};
  ::kill(process_, SIGTERM);
  int status = 0;
  ::waitpid(std::exchange(process_, -1), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failed("did not stop cleanly (wait status " + std::to_string(status) + ")");
}

}  // namespace carillon::bench
