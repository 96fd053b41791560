#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "shared/base/file_lock.h"

namespace carillon::tasktracker {

struct TakenTrigger {
  std::int64_t log_id = 0;
  std::int64_t log_time_ms = 0;
  auto operator<=>(const TakenTrigger&) const = default;
};

// The triggers that executors have taken and not reported, each an empty file, so that the next one
// can report those of a process that was killed: an admin would wait for them for ever.
//
// They are to outlive the process, not the machine's power, so that a trigger costs no wait for the
// disk. Each process has a numbered folder of its own, held by a lock.
//
// Thread: add() and remove() any number at a time.
class TakenTriggers {
 public:
  // `folder` is made when needed.
  static Result<std::unique_ptr<TakenTriggers>> open(const std::string& folder);
  TakenTriggers(const TakenTriggers&) = delete;
  TakenTriggers& operator=(const TakenTriggers&) = delete;

  // Those that processes left which are gone now.
  const std::vector<TakenTrigger>& left_behind() const { return left_behind_; }
  // They were reported.
  void forget_left_behind();

  // Failing means that a kill of this process would lose it, no more.
  void add(const TakenTrigger& trigger) const;
  void remove(const TakenTrigger& trigger) const;

 private:
  struct Slot {
    FileLock lock;
    std::string path{};
  };

  explicit TakenTriggers(Slot own) : own_(std::move(own)) {}

  const Slot own_;
  std::vector<Slot> adopted_{};
  std::vector<TakenTrigger> left_behind_{};
};

}  // namespace carillon::tasktracker
