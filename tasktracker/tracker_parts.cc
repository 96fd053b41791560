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
  home().line = trackers_.chosen();
  for (std::size_t i = 0; i < trackers_.count(); ++i) {
    if (i == trackers_.chosen()) {
      receivers.push_back(&home());
      continue;
    }
    talks_.push_back(std::make_unique<Talk>(*this, Fetcher(config_.fetcher, home().fetcher)));
    talks_.back()->line = i;
    receivers.push_back(talks_.back().get());
  }
  trackers_.speak_with_all(std::move(receivers));
}

// If two claim a partition, the one with the higher epoch owns it: it has taken it from the other.
void TrackerLink::take_parts(Talk& talk, const wire::Registered& registered) {
  lose_parts(talk);
  for (const wire::OwnedPart& owned : registered.owned) {
    if (owned.part < 0 || static_cast<std::size_t>(owned.part) >= parts_.size()) continue;
    PartOwner& owner = parts_[static_cast<std::size_t>(owned.part)];
    if (owned.epoch >= owner.epoch) owner = {.epoch = owned.epoch, .talk = &talk};
  }
}

void TrackerLink::lose_parts(const Talk& talk) {
  for (PartOwner& owner : parts_) {
    if (owner.talk == &talk) owner.talk = nullptr;
  }
}

// Null: the owner is unknown or unreachable.
TrackerLink::Talk* TrackerLink::owner_of(int bucket) {
  if (!is_split()) return home().fetcher.is_registered() ? &home() : nullptr;
  if (bucket < 0) return registered_one();
  const auto part = part_of_bucket(bucket, static_cast<std::int32_t>(parts_.size()));
  Talk* owner = parts_[static_cast<std::size_t>(part)].talk;
  return owner != nullptr && owner->fetcher.is_registered() ? owner : nullptr;
}

TrackerLink::Talk* TrackerLink::registered_one() {
  for (const auto& talk : talks_) {
    if (talk->fetcher.is_registered()) return talk.get();
  }
  return nullptr;
}

bool TrackerLink::is_registered() const {
  return std::any_of(talks_.begin(), talks_.end(),
                     [](const auto& talk) { return talk->fetcher.is_registered(); });
}

bool TrackerLink::is_connected(const Talk& talk) const {
  return talk.line ? trackers_.is_connected(*talk.line) : trackers_.is_connected();
}

const std::string& TrackerLink::endpoint_of(const Talk& talk) const {
  return talk.line ? trackers_.endpoint(*talk.line) : trackers_.endpoint();
}

// Another address of a known job tracker: it must see this worker once.
bool TrackerLink::is_twin(Talk& talk) {
  if (talk.twin != nullptr) {
    const Fetcher& twin = talk.twin->fetcher;
    if (twin.is_registered() && twin.tracker_session() == talk.twin_session) return true;
    talk.twin = nullptr;
    if (is_connected(talk)) on_connected(talk);
    return false;
  }
  if (!talk.fetcher.is_registered()) return false;
  for (const auto& other : talks_) {
    if (other.get() == &talk || !other->fetcher.is_registered() || other->twin != nullptr ||
        other->fetcher.tracker_session() != talk.fetcher.tracker_session())
      continue;
    talk.twin = other.get();
    talk.twin_session = other->fetcher.tracker_session();
    talk.fetcher.on_disconnected();
    for (PartOwner& owner : parts_) {
      if (owner.talk == &talk) owner.talk = other.get();
    }
    return true;
  }
  return false;
}

// Logs partitions whose owner is not among the addresses: their jobs wait, and no other program
// knows why.
void TrackerLink::say_unreached(SteadyTime now) {
  const auto unreached = std::count_if(parts_.begin(), parts_.end(),
                                       [](const PartOwner& part) { return part.talk == nullptr; });
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
