#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "shared/runtime/task_runner.h"

namespace carillon::sim {

// Virtual time: what is to happen, in the order of its time and, within a moment, of asking. As
// soon as there is nothing to do now it is the time of what comes next.
//
// Thread: the simulation's.
class Timeline {
 public:
  using Work = std::function<void()>;

  SteadyTime now() const { return now_; }
  // True time.
  WallTime wall_now() const {
    return wall_begin + std::chrono::duration_cast<Duration>(now_.time_since_epoch());
  }

  TimerId at(SteadyTime when, Work work) {
    std::uint64_t slot = works_.size();
    if (free_.empty()) {
      works_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    const TimerId id = ++asked_ << kSlotBits | slot;
    works_[slot] = {.id = id, .work = std::move(work)};
    heap_.push_back({.when = std::max(when, now_), .id = id});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return id;
  }

  void cancel(TimerId id) {
    Slot& slot = works_[id & kSlotMask];
    if (slot.id == id) slot.work = nullptr;  // Its place in the heap goes when its time comes.
  }

  // Does what comes next, if it comes by `limit`. False: nothing does, and it is `limit` now.
  bool run_one(SteadyTime limit) {
    while (!heap_.empty() && heap_.front().when <= limit) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const Entry entry = heap_.back();
      heap_.pop_back();
      const std::uint64_t slot = entry.id & kSlotMask;
      const Work work = std::exchange(works_[slot], {}).work;
      free_.push_back(slot);
      if (!work) continue;
      now_ = entry.when;
      current_ = entry.id;
      work();
      return true;
    }
    now_ = std::max(now_, limit);
    return false;
  }

  // The work that is being done.
  TimerId current() const { return current_; }
  std::size_t pending() const { return heap_.size(); }

  // What all clocks showed when steady time was 0.
  WallTime wall_begin{};

 private:
  static constexpr int kSlotBits = 20;
  static constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;

  struct Slot {
    TimerId id = 0;
    Work work{};
  };
  struct Entry {
    SteadyTime when{};
    TimerId id = 0;
  };
  static bool later(const Entry& one, const Entry& other) {
    return std::pair{one.when, one.id} > std::pair{other.when, other.id};
  }

  SteadyTime now_{std::chrono::hours{1}};
  std::uint64_t asked_ = 0;
  TimerId current_ = 0;
  std::vector<Slot> works_;
  std::vector<std::uint64_t> free_;
  std::vector<Entry> heap_;
};

}  // namespace carillon::sim
