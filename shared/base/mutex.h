#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// A mutex that clang's -Wthread-safety can follow, which it cannot with std::mutex. For the few
// places where a Mailbox does not fit; each says why.
//
//   Mutex mutex_;
//   int open_ CARILLON_GUARDED_BY(mutex_) = 0;
#if defined(__clang__)
#define CARILLON_GUARDED_BY(mutex) __attribute__((guarded_by(mutex)))
#else
#define CARILLON_GUARDED_BY(mutex)
#endif

namespace carillon {

// Thread: any.
class
#if defined(__clang__)
    __attribute__((capability("mutex")))
#endif
    Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex as long as it lives.
class
#if defined(__clang__)
    __attribute__((scoped_lockable))
#endif
    MutexLock {
 public:
#if defined(__clang__)
  explicit MutexLock(Mutex& mutex) __attribute__((acquire_capability(mutex)))
#else
  explicit MutexLock(Mutex& mutex)
#endif
  : lock_(mutex.mutex_) {
  }
#if defined(__clang__)
  ~MutexLock() __attribute__((release_capability())) = default;
#else
  ~MutexLock() = default;
#endif
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

// Where threads wait for a change of what a mutex guards. Wakes up without reason, too: call it
// in a loop that looks at the guarded state.
class Condition {
 public:
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  // Whether it was woken before the time was up.
  bool wait_for(MutexLock& lock, std::chrono::microseconds longest) {
    return condition_.wait_for(lock.lock_, longest) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace carillon
