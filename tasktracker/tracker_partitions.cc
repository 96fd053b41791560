#include <algorithm>

#include "shared/job/bucket.h"
#include "tasktracker/tracker_link.h"

// For a node group in partitions, which several job trackers may own: the job trackers of this
// worker, and the owners of partitions.
namespace carillon::tasktracker {
namespace {

constexpr Duration kUnreachedMax = std::chrono::seconds{5};  // then it is logged

}  // namespace

// Keeps the current job tracker and adds the others.
void TrackerLink::split(std::int32_t parts) {
  log_.info("the node group has partitions, which several job trackers may own", "group",
            config_.fetcher.group, "parts", parts, "trackers", trackers_.count());
  parts_.resize(static_cast<std::size_t>(std::clamp(parts, 1, kPartsMax)));
  leases_.resize(parts_.size(), leases_.front());
  std::vector<net::ClientReceiver*> receivers;
  home().connection = trackers_.chosen();
  for (std::size_t i = 0; i < trackers_.count(); ++i) {
    if (i == trackers_.chosen()) {
      receivers.push_back(&home());
      continue;
    }
    sessions_.push_back(
        std::make_unique<TrackerSession>(*this, Fetcher(config_.fetcher, home().fetcher)));
    sessions_.back()->connection = i;
    receivers.push_back(sessions_.back().get());
  }
  trackers_.speak_with_all(std::move(receivers));
}

// If two claim a partition, the one with the higher epoch owns it: it has taken it from the other.
void TrackerLink::take_parts(TrackerSession& tracker, const wire::Registered& registered) {
  lose_parts(tracker);
  for (const wire::OwnedPartition& owned : registered.owned) {
    if (owned.part < 0 || static_cast<std::size_t>(owned.part) >= parts_.size()) continue;
    PartitionOwner& owner = parts_[static_cast<std::size_t>(owned.part)];
    if (owned.epoch >= owner.epoch) owner = {.epoch = owned.epoch, .tracker = &tracker};
  }
}

void TrackerLink::lose_parts(const TrackerSession& tracker) {
  for (PartitionOwner& owner : parts_) {
    if (owner.tracker == &tracker) owner.tracker = nullptr;
  }
}

// Null: the owner is unknown or unreachable.
TrackerLink::TrackerSession* TrackerLink::owner_of(int bucket) {
  if (!is_split()) return home().fetcher.is_registered() ? &home() : nullptr;
  if (bucket < 0) return registered_one();
  const auto part = part_of_bucket(bucket, static_cast<std::int32_t>(parts_.size()));
  TrackerSession* owner = parts_[static_cast<std::size_t>(part)].tracker;
  return owner != nullptr && owner->fetcher.is_registered() ? owner : nullptr;
}

TrackerLink::TrackerSession* TrackerLink::registered_one() {
  for (const auto& tracker : sessions_) {
    if (tracker->fetcher.is_registered()) return tracker.get();
  }
  return nullptr;
}

bool TrackerLink::is_registered() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& tracker) { return tracker->fetcher.is_registered(); });
}

bool TrackerLink::is_connected(const TrackerSession& tracker) const {
  return tracker.connection ? trackers_.is_connected(*tracker.connection)
                            : trackers_.is_connected();
}

const std::string& TrackerLink::endpoint_of(const TrackerSession& tracker) const {
  return tracker.connection ? trackers_.endpoint(*tracker.connection) : trackers_.endpoint();
}

// Another address of a known job tracker: it must see this worker once.
bool TrackerLink::is_twin(TrackerSession& tracker) {
  if (tracker.twin != nullptr) {
    const Fetcher& twin = tracker.twin->fetcher;
    if (twin.is_registered() && twin.tracker_session() == tracker.twin_session) return true;
    tracker.twin = nullptr;
    if (is_connected(tracker)) on_connected(tracker);
    return false;
  }
  if (!tracker.fetcher.is_registered()) return false;
  for (const auto& other : sessions_) {
    if (other.get() == &tracker || !other->fetcher.is_registered() || other->twin != nullptr ||
        other->fetcher.tracker_session() != tracker.fetcher.tracker_session())
      continue;
    tracker.twin = other.get();
    tracker.twin_session = other->fetcher.tracker_session();
    tracker.fetcher.on_disconnected();
    for (PartitionOwner& owner : parts_) {
      if (owner.tracker == &tracker) owner.tracker = other.get();
    }
    return true;
  }
  return false;
}

// Logs partitions whose owner is not among the addresses: their jobs wait, and no other program
// knows why.
void TrackerLink::say_unreached(SteadyTime now) {
  const auto unreached =
      std::count_if(parts_.begin(), parts_.end(),
                    [](const PartitionOwner& part) { return part.tracker == nullptr; });
  if (unreached == 0 || !is_registered()) {
    unreached_since_.reset();
    said_unreached_ = false;
    return;
  }
  if (!unreached_since_) unreached_since_ = now;
  if (now < *unreached_since_ + kUnreachedMax || std::exchange(said_unreached_, true)) return;
  log_.warn(
      "job trackers that own partitions of this group are unreachable; taking no jobs of these "
      "partitions (list all job trackers in --tracker)",
      "group", config_.fetcher.group, "parts", unreached, "of", parts_.size(), "trackers",
      trackers_.count());
}

}  // namespace carillon::tasktracker
