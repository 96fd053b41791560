#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <boost/lockfree/queue.hpp>

#include "shared/runtime/wakeup.h"

namespace carillon {

// Passes values from any number of threads to one. Bounded: put() fails when it is full. The
// receiving thread waits on fd() (watched by an EventLoop) or in wait().
//
// Remaining values are destroyed with it.
template <class T>
class Mailbox {
 public:
  // The queue allocates its nodes now; bounded_push() allocates none.
  explicit Mailbox(std::size_t capacity) : queue_(capacity) {}
  ~Mailbox() {
    while (take()) {
    }
  }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // False: full, and `value` is unchanged. Thread: any.
  bool put(T&& value) {
    auto owned = std::make_unique<T>(std::move(value));
    if (!queue_.bounded_push(owned.get())) {
      value = std::move(*owned);
      return false;
    }
    (void)owned.release();  // The queue owns it now.
    wakeup_.signal();
    return true;
  }

  // The oldest value, or none. Thread: the receiving one.
  std::optional<T> take() {
    T* raw = nullptr;
    if (!queue_.pop(raw)) return std::nullopt;
    std::unique_ptr<T> owned(raw);
    return std::move(*owned);
  }

  // Readable when there may be a value; call clear() before take().
  int fd() const { return wakeup_.fd(); }
  void clear() { wakeup_.clear(); }
  // Blocks until there may be a value.
  void wait() { wakeup_.wait(); }

 private:
  boost::lockfree::queue<T*> queue_;
  Wakeup wakeup_;
};

}  // namespace carillon
