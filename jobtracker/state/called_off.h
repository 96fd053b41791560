#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "carillon/ids.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Recently cancelled jobs, and ended jobs with a lost run, with the reason: none of their runs is
// wanted any more, even if a task tracker that was declared dead still has one.
//
// Thread: the loop.
class CalledOff {
 public:
  // More: a task tracker that returns later still gets stop requests. About 100 bytes each.
  static constexpr std::size_t kMax = 10'000;

  void add(JobId id, const std::string& reason) {
    if (!reasons_.emplace(id, reason).second) return;
    order_.push_back(id);
    if (order_.size() <= kMax) return;
    reasons_.erase(order_.front());
    order_.pop_front();
  }
  // Null: it was not cancelled.
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
