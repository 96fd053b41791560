#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/state/executors.h"

namespace carillon::jobtracker {

// Result of an executor's last call or heartbeat.
enum class Health : std::uint8_t {
  kWell,    // it answered, or has registered since
  kQuiet,   // it did not answer
  kSilent,  // it has not answered for long: see executor_silence.h
  kAbsent   // no program listened at its port
};

// Health of the executors in service; kept by the owner of their group. Thread: the loop.
class ExecutorHealth {
 public:
  // Must outlive this object.
  explicit ExecutorHealth(const Executors& executors) : executors_(executors) {}

  void set_well(GroupId group, const std::string& address) { unwell_.erase({group, address}); }
  // True: its health changed.
  bool set_unwell(GroupId group, const std::string& address, Health health) {
    return std::exchange(unwell_[{group, address}], health) != health;
  }
  // The executors of a group have changed.
  void forget_gone(GroupId group) {
    std::erase_if(unwell_, [&](const auto& one) {
      const auto& [of, address] = one.first;
      return of == group && executors_.find(group, address) == nullptr;
    });
  }

  Health of(GroupId group, const std::string& address) const {
    if (unwell_.empty()) return Health::kWell;
    const auto found = unwell_.find({group, address});
    return found == unwell_.end() ? Health::kWell : found->second;
  }
  bool is_reachable(GroupId group, const std::string& address) const {
    return of(group, address) < Health::kSilent;
  }
  // No address of the group has a listening program, or it has no address.
  bool is_nobody_there(GroupId group) const {
    const std::vector<std::string>& addresses = executors_.addresses(group);
    return std::none_of(addresses.begin(), addresses.end(),
                        [&](const std::string& address) { return is_reachable(group, address); });
  }
  bool does_any_hang(GroupId group) const {
    const std::vector<std::string>& addresses = executors_.addresses(group);
    return std::any_of(addresses.begin(), addresses.end(), [&](const std::string& address) {
      return of(group, address) == Health::kSilent;
    });
  }
  std::vector<std::pair<GroupId, std::string>> unreachable() const {
    std::vector<std::pair<GroupId, std::string>> places;
    for (const auto& [place, health] : unwell_) {
      if (health >= Health::kSilent) places.push_back(place);
    }
    return places;
  }
  std::size_t size() const { return unwell_.size(); }

 private:
  const Executors& executors_;
  std::map<std::pair<GroupId, std::string>, Health> unwell_;
};

}  // namespace carillon::jobtracker
