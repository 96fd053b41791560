#include "jobtracker/cluster/membership.h"

#include <algorithm>
#include <utility>

#include "jobtracker/cluster/assignment.h"

namespace carillon::jobtracker {
namespace {

// Nothing is given away so soon after a change: another one may be on its way.
// Nor is a silent one fenced that owns nothing: its own restart does that.
constexpr Duration kGiveAfter = std::chrono::seconds{2};

// For what anybody can do, and one is enough: the one with the lowest session comes first.
Duration turn(SessionId us, const std::vector<SessionId>& trackers) {
  return kOthersTurn *
         std::count_if(trackers.begin(), trackers.end(), [us](SessionId one) { return one < us; });
}

}  // namespace

void Membership::begin(SessionId us, Partitions owned, SteadyTime now) {
  us_ = us;
  owned_ = owned;
  unowned_since_.reset();
  changed_at_ = now;
}

std::vector<SessionId> Membership::living(const ClusterView& view) {
  std::vector<SessionBeat> others;
  for (const SessionBeat& beat : view.beats) {
    if (beat.session != us_) others.push_back(beat);
  }
  watch_.saw(others, view.asked, view.answered);
  std::vector<SessionId> living{us_};
  for (const ClusterView::Tracker& one : view.trackers) {
    if (one.session == us_ || watch_.is_silent(one.session)) continue;
    living.push_back(one.session);
  }
  if (living != living_) {
    changed_at_ = view.answered;
    for (const ClusterView::Tracker& one : view.trackers) {
      const auto is_in = [&](const std::vector<SessionId>& all) {
        return std::find(all.begin(), all.end(), one.session) != all.end();
      };
      if (is_in(living_) && !is_in(living)) {
        log_.warn("another job tracker is silent", "tracker", one.name, "session",
                  one.session.value);
      }
    }
    living_ = living;
  }
  return living;
}

std::optional<OwnershipChange> Membership::saw(const ClusterView& view) {
  const std::vector<SessionId> trackers = living(view);
  std::vector<PartitionShare> shares(kPartitions);
  bool has_unowned = false;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const bool lives =
        std::find(trackers.begin(), trackers.end(), view.owners[i]) != trackers.end();
    shares[i] = {.owner = lives ? view.owners[i] : SessionId{}, .is_used = view.used.test(i)};
    has_unowned = has_unowned || !lives;
  }
  if (!has_unowned) {
    unowned_since_.reset();
    if (view.answered < changed_at_ + kGiveAfter) return std::nullopt;
    const Partitions given = to_give(us_, trackers, shares);
    std::vector<SessionBeat> silent;
    if (view.answered >= changed_at_ + kGiveAfter + turn(us_, trackers)) {
      silent = watch_.silent_beats();
    }
    if (given.none() && silent.empty()) return std::nullopt;
    return OwnershipChange{.wanted = owned_ & ~given, .silent = std::move(silent)};
  }
  if (!unowned_since_) unowned_since_ = view.answered;
  const auto unowned_for = std::chrono::duration_cast<Duration>(view.answered - *unowned_since_);
  const Partitions taken = to_take(us_, trackers, shares, unowned_for);
  if (taken.none()) return std::nullopt;
  return OwnershipChange{.wanted = owned_ | taken, .silent = watch_.silent_beats()};
}

}  // namespace carillon::jobtracker
