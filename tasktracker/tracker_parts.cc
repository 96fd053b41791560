#include <algorithm>

#include "shared/job/bucket.h"
#include "tasktracker/tracker_link.h"

// Of a node group in parts, which several job trackers may look after: with whom this worker
// speaks, and whose a part is.
namespace carillon::tasktracker {
namespace {

constexpr Duration kUnreachedMax = std::chrono::seconds{5};  // then it is said

}  // namespace

// The one that is spoken with stays; each of the others is spoken with from now on.
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

// Of two that say that they look after a part the one with the higher epoch does: it has taken the
// part from the other.
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

// Null: nobody is known, or there is nobody to be reached.
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

// It is the same job tracker as another one, by another address: it has this worker once.
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

// The jobs of a part whose owner has none of the addresses wait, and nobody else knows why.
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
