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

// The accepted and unreported triggers of executors, each an empty file, so that the next process
// can report those of a killed one: an admin would wait for them forever.
//
// They must survive the process but not a power failure, so that a trigger need not wait for the
// disk. Each process has a numbered folder with a lock.
//
// Thread: add() and remove() any number at a time.
class TakenTriggers {
 public:
  // Creates `folder` if necessary.
  static Result<std::unique_ptr<TakenTriggers>> open(const std::string& folder);
  TakenTriggers(const TakenTriggers&) = delete;
  TakenTriggers& operator=(const TakenTriggers&) = delete;

  // Triggers of processes that have died.
  const std::vector<TakenTrigger>& left_behind() const { return left_behind_; }
  // They were reported.
  void forget_left_behind();

  // An error means only that the trigger is lost if this process is killed.
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
