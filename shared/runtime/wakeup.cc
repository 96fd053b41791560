#include "shared/runtime/wakeup.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "carillon/abort.h"

namespace carillon {

Wakeup::Wakeup() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) abort_with("cannot create an event descriptor", std::strerror(errno));
}

Wakeup::~Wakeup() { ::close(fd_); }

void Wakeup::signal() {
  // A second signal skips the system call: the receiver reads only after clear(), whose exchange
  // makes all earlier writes visible.
  if (pending_.exchange(true, std::memory_order_acq_rel)) return;
  const int saved_errno = errno;  // May run in a signal handler.
  const std::uint64_t one = 1;
  // It fails only if the counter is at its maximum, and then the descriptor is readable anyway.
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
  errno = saved_errno;
}

bool Wakeup::clear() {
  std::uint64_t count = 0;
  // Nothing to read: not signalled.
  [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
  // After the read: this exchange sees a signal between the two, and a later one writes again.
  return pending_.exchange(false, std::memory_order_acq_rel);
}

bool Wakeup::wait_for(Duration longest) {
  pollfd descriptor{.fd = fd_, .events = POLLIN, .revents = 0};
  const auto milliseconds =
      std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(longest).count(), 60'000);
  (void)::poll(&descriptor, 1, static_cast<int>(milliseconds));
  return clear();  // A signal may arrive after poll() timed out.
}

void Wakeup::wait() {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, -1) < 0 && errno == EINTR) {
  }
  clear();
}

}  // namespace carillon

#if defined(__SANITIZE_THREAD__)
// Suppressions for false reports of the thread sanitizer. Boost.Lockfree's free list reads the link
// of a node that another thread may have taken, and discards the value, because its tagged
// compare-and-swap fails. ZeroMQ was compiled without the sanitizer, which does not see its locks.
// They are here because each program with a Mailbox links this file.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:boost/lockfree/detail/freelist.hpp\n"
         "race:boost/lockfree/detail/tagged_ptr_ptrcompression.hpp\n"
         "race:libzmq.so\n"
         "called_from_lib:libzmq.so\n";
}
#endif
