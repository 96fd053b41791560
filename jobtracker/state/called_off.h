#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "carillon/ids.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Jobs that were called off lately, or have ended after a run of them was lost, and why: none of
// their runs is wanted any more, also where a task tracker that was taken for dead still has one.
//
// Thread: the loop.
class CalledOff {
 public:
  // More: a task tracker that comes back later is told; about 100 bytes each.
  static constexpr std::size_t kMax = 10'000;

  void add(JobId id, const std::string& reason) {
    if (!reasons_.emplace(id, reason).second) return;
    order_.push_back(id);
    if (order_.size() <= kMax) return;
    reasons_.erase(order_.front());
    order_.pop_front();
  }
  // Null: it was not.
  const std::string* find(JobId id) const {
    const auto found = reasons_.find(id);
    return found == reasons_.end() ? nullptr : &found->second;
  }
  bool empty() const { return order_.empty(); }
  std::size_t size() const { return order_.size(); }

 private:
  std::unordered_map<JobId, std::string> reasons_;
  std::deque<JobId> order_;
};

}  // namespace carillon::jobtracker
