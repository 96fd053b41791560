#include "shared/runtime/signals.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace carillon {
namespace {

// A signal handler can only use static data.
volatile std::sig_atomic_t exit_status = 0;

void end_process(int) { ::_exit(exit_status); }

sigset_t caught_signals() {
  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&caught, signal);
  return caught;
}

}  // namespace

void Signals::block() {
  const sigset_t caught = caught_signals();
  pthread_sigmask(SIG_BLOCK, &caught, nullptr);
}

Result<std::unique_ptr<Signals>> Signals::open(
    EventLoop& loop, std::function<void(int signal, int count)> on_signal) {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t caught = caught_signals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &caught, &before);
  const int fd = ::signalfd(-1, &caught, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) {
    const std::string why = std::strerror(errno);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return Error{ErrorCode::kUnavailable, "cannot receive signals: " + why};
  }
  return std::unique_ptr<Signals>(new Signals(loop, fd, before, std::move(on_signal)));
}

void Signals::end_process_on_next(int status) {
  exit_status = status;
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT}) {
    std::signal(signal, end_process);
    sigaddset(&ending, signal);
  }
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
}

void Signals::end_process_after(std::chrono::seconds time, int status) {
  exit_status = status;
  std::signal(SIGALRM, end_process);
  ::alarm(static_cast<unsigned>(time.count()));
}

Signals::Signals(EventLoop& loop, int fd, const sigset_t& mask_before,
                 std::function<void(int signal, int count)> on_signal)
    : loop_(loop), fd_(fd), mask_before_(mask_before), on_signal_(std::move(on_signal)) {
  loop_.watch(fd_, [this] { read_all(); });
}

Signals::~Signals() {
  loop_.unwatch(fd_);
  ::close(fd_);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Signals::read_all() {
  signalfd_siginfo info{};
  while (::read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    int& count = signal == SIGHUP ? hangups_ : stop_requests_;
    on_signal_(signal, ++count);
  }
}

}  // namespace carillon
