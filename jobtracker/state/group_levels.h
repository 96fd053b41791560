#pragma once

#include <cstdint>

namespace carillon::jobtracker {

// The current work of a whole node group, and who does it.
struct GroupLevels {
  std::int64_t due = 0;  // jobs that would run now if a thread were free
  std::int64_t executing = 0;
  std::int64_t workers = 0;  // task trackers, or executors in service
  std::int64_t threads = 0;  // of the task trackers

  void add(const GroupLevels& other) {
    due += other.due;
    executing += other.executing;
    workers += other.workers;
    threads += other.threads;
  }
  bool operator==(const GroupLevels&) const = default;
};

}  // namespace carillon::jobtracker
