#pragma once

#include <map>
#include <string>

#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/partitions.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// Which node groups this job tracker looks after, and who the others.
//
// Thread: the loop.
class Ownership {
 public:
  void begin(Partitions owned) { owned_ = owned; }
  void saw(const ClusterView& view) {
    std::map<SessionId, std::string> addresses;
    for (const ClusterView::Tracker& one : view.trackers) addresses[one.session] = one.address;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      const auto found = addresses.find(view.owners[i]);
      addresses_[i] = found == addresses.end() ? std::string{} : found->second;
    }
    are_several_ = view.trackers.size() > 1;
  }

  bool has(GroupId group) const { return has_group(owned_, group); }
  // The results that wait for a client group are given out by one job tracker.
  bool has_client_group(const std::string& name) const {
    return owned_.test(static_cast<std::size_t>(partition_of_client_group(name)));
  }
  bool has_all() const { return owned_.all(); }
  bool are_several() const { return are_several_; }
  const Partitions& owned() const { return owned_; }
  // For who asks about a group that is another's. Between two owners it has none: come again.
  wire::Message elsewhere(GroupId group) const { return elsewhere(partition_of(group)); }
  wire::Message elsewhere(const std::string& client_group) const {
    return elsewhere(partition_of_client_group(client_group));
  }

 private:
  wire::Message elsewhere(std::int32_t partition) const {
    const auto at = static_cast<std::size_t>(partition);
    if (!addresses_[at].empty() && !owned_.test(at)) {
      return wire::Elsewhere{.address = addresses_[at]};
    }
    return wire::ErrorReply{
        Error{ErrorCode::kUnavailable, "no job tracker looks after that just now, try again"}};
  }

  Partitions owned_ = all_partitions();
  std::array<std::string, kPartitions> addresses_{};
  bool are_several_ = false;
};

}  // namespace carillon::jobtracker
