#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <boost/lockfree/queue.hpp>

#include "shared/runtime/wakeup.h"

namespace carillon {

// Carries values from any number of threads to one. Bounded: full is an answer. The receiving
// thread waits on fd() (an EventLoop watches it) or in wait().
//
// What is still inside when it is destroyed is destroyed with it.
template <class T>
class Mailbox {
 public:
  // The queue makes its nodes now and bounded_push() never another one.
  explicit Mailbox(std::size_t capacity) : queue_(capacity) {}
  ~Mailbox() {
    while (take()) {
    }
  }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // False: full, and `value` was not taken. Thread: any.
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

  // The oldest, or nothing. Thread: the receiving one.
  std::optional<T> take() {
    T* raw = nullptr;
    if (!queue_.pop(raw)) return std::nullopt;
    std::unique_ptr<T> owned(raw);
    return std::move(*owned);
  }

  // Readable when there may be something to take; clear() before taking.
  int fd() const { return wakeup_.fd(); }
  void clear() { wakeup_.clear(); }
  // Blocks until there may be something to take.
  void wait() { wakeup_.wait(); }

 private:
  boost::lockfree::queue<T*> queue_;
  Wakeup wakeup_;
};

}  // namespace carillon
