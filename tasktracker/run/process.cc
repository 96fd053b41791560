#include "tasktracker/run/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/runtime/open_files.h"
#include "shared/runtime/private_process.h"

namespace carillon::tasktracker {
namespace {

constexpr std::size_t kErrorTailBytes = 600;
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kReadsPerTurnMax = 16;  // then other descriptors get a turn
constexpr int kCameLate = -1;         // instead of an errno

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read{};
  Descriptor write{};
};

bool open_pipe(Pipe& pipe) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read = Descriptor{ends[0]};
  pipe.write = Descriptor{ends[1]};
  return true;
}

// The bytes as a file, positioned at its start: a pipe would need a writer while the program runs.
Descriptor open_input(const std::string& bytes) {
  if (bytes.empty()) return Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  Descriptor file{::memfd_create("carillon-input", MFD_CLOEXEC)};
  if (!file.is_open()) return file;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Descriptor{};
    done += static_cast<std::size_t>(written);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// glibc 2.36 declares its own wrapper in a form that C++ cannot link.
Descriptor open_process(pid_t pid) {
  return Descriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  // exec never writes to them; its type predates const.
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

class ProcessRun {
 public:
  ProcessRun(const ProcessLimits& limits, RunControl& control, GroupGuard& guard,
             const Clock& clock)
      : limits_(limits), control_(control), guard_(guard), clock_(clock), buffer_(kReadBytes) {}

  ProcessEnd run(const ProcessRequest& request);

 private:
  bool start(const ProcessRequest& request);
  bool failed(const char* step);
  [[noreturn]] void become(char* const* arguments, char* const* environment, const RunAs* run_as,
                           int input, int failure, pid_t parent) const;
  void attend();
  void read_from(Descriptor& pipe, wire::Stream stream);
  void obey();
  bool ends_group() const;
  void end();
  int wait_milliseconds() const;

  const ProcessLimits& limits_;
  RunControl& control_;
  GroupGuard& guard_;
  const Clock& clock_;
  std::vector<char> buffer_;
  ProcessEnd end_{};
  pid_t pid_ = -1;
  Descriptor process_{};
  Pipe out_{};
  Pipe err_{};
  std::string error_tail_;
  bool exited_ = false;
  bool asked_ = false;                   // SIGTERM was sent
  std::optional<SteadyTime> kill_at_{};  // SIGKILL follows
  SteadyTime leave_at_{};                // exited_: end of the wait for leftovers
};

bool ProcessRun::failed(const char* step) {
  end_.not_started = errno;
  end_.step = step;
  return false;
}

// Runs in the child, which shares the worker's memory until exec: only system calls, because
// another thread may hold any lock, and no signal handlers of the worker. A stopped worker
// continues here when it resumes.
void ProcessRun::become(char* const* arguments, char* const* environment, const RunAs* run_as,
                        int input, int failure, pid_t parent) const {
  ::setpgid(0, 0);
  const bool is_user = run_as == nullptr || become_user(*run_as);
  const int error_of_user = errno;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);       // A change of the user resets it.
  if (::getppid() != parent) ::_exit(127);  // The worker died before the previous line.
  guard_.add(::getpid());
  ::signal(SIGPIPE, SIG_IGN);  // Drops a pending SIGPIPE of a dead guard.
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    const bool is_handled = ::sigaction(signal, nullptr, &action) == 0 &&
                            action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (is_handled) ::signal(signal, SIG_DFL);
  }
  for (const int reset : {SIGPIPE, SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
    ::signal(reset, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(input, STDIN_FILENO);
  ::dup2(out_.write.get(), STDOUT_FILENO);
  ::dup2(err_.write.get(), STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  restore_open_files();
  restore_umask_and_core_files();
  const bool is_late = clock_.steady_now() >= control_.begin_before();
  if (is_user && !is_late) ::execvpe(arguments[0], arguments, environment);
  const int error = is_late ? kCameLate : is_user ? errno : error_of_user;
  [[maybe_unused]] const ssize_t written = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

bool ProcessRun::start(const ProcessRequest& request) {
  Pipe failure;
  if (!open_pipe(out_) || !open_pipe(err_) || !open_pipe(failure))
    return failed("create a pipe for");
  const Descriptor input = open_input(request.input);
  if (!input.is_open()) return failed("store the payload for");
  const std::vector<char*> arguments = pointers(request.arguments);
  const std::vector<char*> environment = pointers(request.environment);
  const pid_t parent = ::getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  // Returns when the child runs another program, or has ended. A fork would copy the page tables,
  // and concurrent forks wait for one another.
  pid_ = ::vfork();
  if (pid_ == 0) {
    become(arguments.data(), environment.data(), request.run_as, input.get(), failure.write.get(),
           parent);
  }
  const int error_of_fork = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error_of_fork;
  if (pid_ < 0) return failed("fork for");
  process_ = open_process(pid_);
  failure.write.reset();
  out_.write.reset();
  err_.write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof error) || !process_.is_open()) {
    if (got == static_cast<ssize_t>(sizeof error)) errno = error;
    failed("run");
    end_.came_late = error == kCameLate;
    end();
    return false;
  }
  ::fcntl(out_.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err_.read.get(), F_SETFL, O_NONBLOCK);
  return true;
}

void ProcessRun::read_from(Descriptor& pipe, wire::Stream stream) {
  for (int i = 0; i < kReadsPerTurnMax && pipe.is_open(); ++i) {
    const ssize_t got = ::read(pipe.get(), buffer_.data(), buffer_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      pipe.reset();
      return;
    }
    const std::string_view bytes{buffer_.data(), static_cast<std::size_t>(got)};
    control_.output().append(stream, bytes);
    if (stream != wire::Stream::kStderr) continue;
    error_tail_.append(bytes);
    if (error_tail_.size() > kErrorTailBytes) {
      error_tail_.erase(0, error_tail_.size() - kErrorTailBytes);
    }
  }
}

// Handles stop requests and time-outs.
void ProcessRun::obey() {
  if (control_.reason() == StopReason::kNone || exited_) return;
  if (!asked_) {
    asked_ = true;
    kill_at_ = clock_.steady_now() + limits_.kill_grace;
    ::kill(-pid_, SIGTERM);
    ::kill(-pid_, SIGCONT);  // A stopped process would not see SIGTERM.
  }
  if (control_.at_once() || clock_.steady_now() >= *kill_at_) {
    ::kill(-pid_, SIGKILL);
    // Repeated: a process that forked at that moment may have been missed.
    kill_at_ = clock_.steady_now() + limits_.leftovers;
  }
}

int ProcessRun::wait_milliseconds() const {
  std::optional<SteadyTime> until;
  if (exited_) {
    until = leave_at_;
  } else if (kill_at_) {
    until = kill_at_;
  }
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - clock_.steady_now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Until the program has ended and its output was read.
void ProcessRun::attend() {
  while (true) {
    obey();
    if (exited_ && !out_.read.is_open() && !err_.read.is_open()) return;
    if (exited_ && clock_.steady_now() >= leave_at_) return;
    // poll() skips a negative descriptor.
    std::array<pollfd, 4> waiting{{{out_.read.get(), POLLIN, 0},
                                   {err_.read.get(), POLLIN, 0},
                                   {exited_ ? -1 : process_.get(), POLLIN, 0},
                                   {control_.wakeup().fd(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), wait_milliseconds()) < 0) continue;
    if (waiting[3].revents != 0) control_.wakeup().clear();
    if (waiting[0].revents != 0) read_from(out_.read, wire::Stream::kStdout);
    if (waiting[1].revents != 0) read_from(err_.read, wire::Stream::kStderr);
    if (waiting[2].revents != 0) {
      exited_ = true;
      leave_at_ = clock_.steady_now() + limits_.leftovers;
    }
  }
}

// Whether the rest of the group ends with the program. Background processes continue if the program
// ended by itself.
bool ProcessRun::ends_group() const {
  return limits_.kill_leftovers || end_.not_started != 0 || control_.reason() != StopReason::kNone;
}

// The program is a zombie until the last line, so that no other group can have its number.
void ProcessRun::end() {
  if (ends_group()) ::kill(-pid_, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  guard_.remove(pid_);
  int reaped = -1;
  do {
    reaped = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
  } while (reaped < 0 && errno == EINTR);
  if (reaped < 0) {
    // Another part of the process waited for it: a program that ignores SIGCHLD, or waits for any
    // child.
    failed("get the exit status of");
  } else if (info.si_code == CLD_EXITED) {
    end_.exit_status = info.si_status;
  } else {
    end_.signal = info.si_status;
  }
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const std::size_t before = text.find_last_of("\r\n", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end - begin + 1);
}

ProcessEnd ProcessRun::run(const ProcessRequest& request) {
  if (!start(request)) return end_;
  attend();
  end();
  end_.last_error_line = last_line(error_tail_);
  return end_;
}

}  // namespace

ProcessEnd run_process(const ProcessRequest& request, const ProcessLimits& limits,
                       RunControl& control, GroupGuard& guard, const Clock& clock) {
  return ProcessRun(limits, control, guard, clock).run(request);
}

}  // namespace carillon::tasktracker
