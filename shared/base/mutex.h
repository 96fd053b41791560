#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// A mutex that clang's -Wthread-safety can check, unlike std::mutex. For the few places where a
// Mailbox does not fit; each has a comment with the reason.
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

// Holds a mutex during its lifetime.
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

// Waits for changes of data that a mutex guards. Spurious wake-ups are possible: call it in a loop
// that checks the data.
class Condition {
 public:
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  // False: the time is over.
  bool wait_for(MutexLock& lock, std::chrono::microseconds longest) {
    return condition_.wait_for(lock.lock_, longest) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace carillon
