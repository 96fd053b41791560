#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/store/push_rows.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// The session for claims of an executor group. It is the same at each job tracker and after each
// restart, and no task tracker uses it.
constexpr SessionId push_session(GroupId group) { return SessionId{-group.value}; }
constexpr bool is_push_session(SessionId session) { return session.value < 0; }

// The same address with or without its trailing slash: "http://10.0.0.1:9999" and
// "http://10.0.0.1:9999/".
inline std::string other_spelling(std::string address) {
  if (address.ends_with('/')) {
    address.pop_back();
  } else {
    address += '/';
  }
  return address;
}

// The executor groups, and the executors in service, as in the store. Thread: the loop.
class Executors {
 public:
  // By address.
  using Members = std::map<std::string, ExecutorRow>;

  void put_group(ExecutorGroup group) {
    const GroupId id = group.group;
    groups_[id].row = std::move(group);
  }
  // Requires: its group was put.
  void put(ExecutorRow row) {
    Group& group = groups_[row.group];
    std::string address = row.address;
    group.members.insert_or_assign(std::move(address), std::move(row));
    group.in_turn.clear();
  }
  void remove(GroupId group, const std::string& address) {
    const auto found = groups_.find(group);
    if (found == groups_.end()) return;
    found->second.members.erase(address);
    found->second.in_turn.clear();
  }
  void remove_group(GroupId group) { groups_.erase(group); }
  void clear() { groups_.clear(); }

  bool has(GroupId group) const { return groups_.contains(group); }
  std::vector<GroupId> groups() const {
    std::vector<GroupId> all;
    for (const auto& [id, group] : groups_) all.push_back(id);
    return all;
  }
  const Members& members(GroupId group) const {
    static const Members kNone;
    const auto found = groups_.find(group);
    return found == groups_.end() ? kNone : found->second.members;
  }
  // Whether they are listed by hand, which excludes others.
  bool are_listed(GroupId group) const {
    const Members& all = members(group);
    return std::any_of(all.begin(), all.end(),
                       [](const auto& member) { return member.second.is_manual; });
  }
  // In calling order: the listed ones in list order, otherwise sorted.
  const std::vector<std::string>& addresses(GroupId group) const {
    static const std::vector<std::string> kNone;
    const auto found = groups_.find(group);
    if (found == groups_.end()) return kNone;
    std::vector<std::string>& in_turn = found->second.in_turn;
    if (in_turn.empty()) {
      std::vector<std::pair<std::int32_t, std::string>> places;
      const bool have_list = are_listed(group);
      for (const auto& [address, row] : found->second.members) {
        if (row.is_manual || !have_list) places.emplace_back(row.place, address);
      }
      std::sort(places.begin(), places.end());
      for (auto& [place, address] : places) in_turn.push_back(std::move(address));
    }
    return in_turn;
  }
  // The executor with this address, with or without a trailing slash.
  const ExecutorRow* find(GroupId group, const std::string& address) const {
    const Members& all = members(group);
    auto found = all.find(address);
    if (found == all.end()) found = all.find(other_spelling(address));
    return found == all.end() ? nullptr : &found->second;
  }
  std::string token(GroupId group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? std::string{} : found->second.row.token;
  }

  // The token for calls; a group without its own uses the job tracker's.
  std::string token_to_send(GroupId group, const std::string& fallback) const {
    std::string own = token(group);
    return own.empty() ? fallback : own;
  }
  Sizes sizes() const {
    std::size_t members = 0;
    for (const auto& [id, group] : groups_) members += group.members.size();
    return {{"groups", groups_.size()}, {"members", members}};
  }

 private:
  struct Group {
    ExecutorGroup row{};
    Members members{};
    mutable std::vector<std::string> in_turn{};  // their addresses; empty: not computed
  };

  std::map<GroupId, Group> groups_;
};

}  // namespace carillon::jobtracker
