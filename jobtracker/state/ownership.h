#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/partitions.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// The node groups that this job tracker owns, and the owners of the others.
//
// Thread: the loop.
class Ownership {
 public:
  // `epochs`: of the partitions.
  void begin(Partitions owned, std::map<std::int32_t, std::int64_t> epochs) {
    owned_ = owned;
    epochs_ = std::move(epochs);
  }
  void saw(const ClusterView& view) {
    std::map<SessionId, std::string> addresses;
    for (const ClusterView::Tracker& one : view.trackers) addresses[one.session] = one.address;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      const auto found = addresses.find(view.owners[i]);
      addresses_[i] = found == addresses.end() ? std::string{} : found->second;
    }
    trackers_ = view.trackers.size();
    seen_.clear();
    for (const ClusterView::Tracker& one : view.trackers) {
      Tracker& tracker = seen_.emplace_back(Tracker{.name = one.name, .address = one.address});
      for (std::size_t i = 0; i < view.owners.size(); ++i)
        tracker.partitions.set(i, view.owners[i] == one.session);
    }
  }

  // The job trackers of a shared store, as they were seen last.
  struct Tracker {
    std::string name{};
    std::string address{};
    Partitions partitions{};
  };
  const std::vector<Tracker>& seen() const { return seen_; }

  bool has(GroupId group) const { return has_group(owned_, group); }
  // Whether this job tracker delivers the feedback of this client group.
  bool has_client_group(const std::string& name) const {
    return owned_.test(static_cast<std::size_t>(partition_of_client_group(name)));
  }
  bool has_all(const std::vector<GroupId>& parts) const {
    return std::all_of(parts.begin(), parts.end(), [this](GroupId part) { return has(part); });
  }
  std::int64_t epoch(GroupId part) const {
    const auto found = epochs_.find(partition_of(part));
    return found == epochs_.end() ? 0 : found->second;
  }
  bool has_all() const { return owned_.all(); }
  std::size_t trackers() const { return trackers_; }
  bool are_several() const { return trackers_ > 1; }
  const Partitions& owned() const { return owned_; }
  // A redirect to the owner of another job tracker's group. Between two owners: an error that asks
  // to retry. `parts`: number of partitions of the group.
  wire::Message elsewhere(GroupId group, std::int32_t parts) const {
    return elsewhere(partition_of(group), parts == 1 ? 0 : parts);
  }
  wire::Message elsewhere(const std::string& client_group) const {
    return elsewhere(partition_of_client_group(client_group), 0);
  }

 private:
  wire::Message elsewhere(std::int32_t partition, std::int32_t parts) const {
    const auto at = static_cast<std::size_t>(partition);
    if (!addresses_[at].empty() && !owned_.test(at)) {
      return wire::Redirect{.address = addresses_[at], .parts = parts};
    }
    return wire::ErrorReply{
        Error{ErrorCode::kUnavailable, "no job tracker owns that now, try again"}};
  }

  Partitions owned_ = all_partitions();
  std::map<std::int32_t, std::int64_t> epochs_{};
  std::array<std::string, kPartitions> addresses_{};
  std::size_t trackers_ = 1;
  std::vector<Tracker> seen_{};
};

}  // namespace carillon::jobtracker
