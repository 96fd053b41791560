#include "jobtracker/cluster/membership.h"

#include <algorithm>
#include <utility>

#include "jobtracker/store/session_plan.h"

namespace carillon::jobtracker {
namespace {

// Wait after a change before partitions are given away, because another change may follow. A silent
// session without partitions is not fenced earlier either, because its own restart does that.
constexpr Duration kGiveAfter = std::chrono::seconds{2};

// Longest wait for the new owners of a portion.
constexpr Duration kPortionPauseMax = std::chrono::seconds{10};

// A longer delay has another cause, and frequent looks do not help.
constexpr Duration kUnsettledMax = std::chrono::seconds{2};

// Delay for actions that any job tracker may do, and one is enough: the one with the lowest session
// is first.
Duration turn(SessionId us, const std::vector<SessionId>& trackers) {
  return kOthersTurn *
         std::count_if(trackers.begin(), trackers.end(), [us](SessionId one) { return one < us; });
}

}  // namespace

void Membership::begin(SessionId us, Partitions owned, SteadyTime now) {
  us_ = us;
  owned_ = owned;
  unowned_since_.reset();
  yields_since_.reset();
  unsettled_since_.reset();
  all_work_since_.reset();
  changed_at_ = now;
}

std::vector<SessionId> Membership::living(const ClusterView& view) {
  std::vector<SessionHeartbeat> others;
  for (const SessionHeartbeat& heartbeat : view.heartbeats) {
    if (heartbeat.session != us_) others.push_back(heartbeat);
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
        log_.warn("another job tracker stopped sending heartbeats", "tracker", one.name, "session",
                  one.session.value);
      }
    }
    living_ = living;
  }
  return living;
}

std::optional<OwnershipChange> Membership::even_out(const ClusterView& view,
                                                    const std::vector<SessionId>& trackers,
                                                    const std::vector<PartitionShare>& shares,
                                                    bool may_give) const {
  if (!has_more_to_give_ && view.answered < changed_at_ + kGiveAfter) return std::nullopt;
  const Partitions given = may_give ? to_give(us_, trackers, shares) : Partitions{};
  std::vector<SessionHeartbeat> silent;
  if (view.answered >= changed_at_ + kGiveAfter + turn(us_, trackers)) {
    silent = watch_.silent_heartbeats();
  }
  if (given.none() && silent.empty()) return std::nullopt;
  return OwnershipChange{.wanted = owned_ & ~given, .silent = std::move(silent)};
}

ClusterMove Membership::saw(const ClusterView& view, bool may_give,
                            const DefinitionCounts& definitions) {
  ClusterMove move = decide(view, may_give, definitions);
  move.prepares = move.prepares || (move.yields && !leaving_) || move.change;
  if (!move.prepares && !unowned_since_) {
    unsettled_since_.reset();
    return move;
  }
  if (!unsettled_since_) unsettled_since_ = view.answered;
  move.is_unsettled = view.answered < *unsettled_since_ + kUnsettledMax;
  return move;
}

// A session with a commit has read its store before.
void Membership::note_workers(const ClusterView& view, bool has_unowned) {
  const bool all_work =
      !has_unowned &&
      std::all_of(view.heartbeats.begin(), view.heartbeats.end(), [&](const auto& heartbeat) {
        return heartbeat.session == us_ || heartbeat.connection == kHeartbeatConnection ||
               heartbeat.batch > 0 || watch_.is_silent(heartbeat.session);
      });
  if (!all_work) return all_work_since_.reset();
  if (!all_work_since_) all_work_since_ = view.answered;
}

bool Membership::pauses(const ClusterView& view) const {
  if (!has_more_to_give_ || view.answered >= changed_at_ + kPortionPauseMax) return false;
  return !all_work_since_ || view.answered < *all_work_since_ + kPortionPause;
}

ClusterMove Membership::decide(const ClusterView& view, bool may_give,
                               const DefinitionCounts& definitions) {
  std::vector<SessionId> trackers = living(view);
  const auto lives = [&](SessionId one) {
    return std::find(trackers.begin(), trackers.end(), one) != trackers.end();
  };
  std::vector<PartitionShare> shares(kPartitions);
  bool has_unowned = false;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const SessionId owner = lives(view.owners[i]) ? view.owners[i] : SessionId{};
    shares[i] = {.owner = owner, .is_used = view.used.test(i)};
    has_unowned = has_unowned || !owner;
  }
  note_workers(view, has_unowned);
  ClusterMove move;
  // A job tracker that is giving up its partitions gets none.
  for (const ClusterView::Tracker& one : view.trackers) {
    if (one.session == us_ || !one.yields || !lives(one.session)) continue;
    std::erase(trackers, one.session);
    move.prepares = true;
  }
  if (leaving_) return go_on_leaving(view, trackers.size() > 1, has_unowned, may_give, definitions);
  move.yields = has_more_to_give_;
  if (has_unowned) {
    yields_since_.reset();
    if (!unowned_since_) unowned_since_ = view.answered;
    const auto unowned_for = std::chrono::duration_cast<Duration>(view.answered - *unowned_since_);
    // Partitions that this one has just given up go to others, which may still be reading the
    // previous portion.
    if (has_more_to_give_ && unowned_for < kUnsettledMax) return move;
    const Partitions taken = to_take(us_, trackers, shares, unowned_for);
    if (taken.any()) move.change = {.wanted = owned_ | taken, .silent = watch_.silent_heartbeats()};
    return move;
  }
  unowned_since_.reset();
  if (pauses(view)) return move;
  move.change = even_out(view, trackers, shares, may_give);
  give_some(view, move, definitions);
  return move;
}

// The notice is given once, for all portions.
void Membership::give_some(const ClusterView& view, ClusterMove& move,
                           const DefinitionCounts& definitions) {
  move.yields = move.change && move.change->wanted != owned_;
  if (!move.yields) {
    yields_since_.reset();
    has_more_to_give_ = false;
    return;
  }
  if (!yields_since_) yields_since_ = has_more_to_give_ ? view.answered - kNotice : view.answered;
  if (view.answered < *yields_since_ + kNotice) return move.change.reset();
  const Partitions all = owned_ & ~move.change->wanted;
  const Partitions given = first_portion(all, definitions, portion_);
  move.change->wanted = owned_ & ~given;
  has_more_to_give_ = given != all;
}

ClusterMove Membership::go_on_leaving(const ClusterView& view, bool has_heirs, bool has_unowned,
                                      bool may_give, const DefinitionCounts& definitions) {
  const SteadyTime now = view.answered;
  const Partitions given = first_portion(owned_, definitions, portion_);
  const bool is_last = given == owned_;
  ClusterMove move{.yields = true, .prepares = !is_last && has_heirs};
  move.ends = !has_heirs;
  if (!has_heirs || now < leaving_->since + kNotice) return move;
  if ((!may_give && now < leaving_->until) || pauses(view)) return move;
  if (!has_unowned) unowned_since_.reset();
  if (has_unowned && !unowned_since_) unowned_since_ = now;
  // Waits until the previous portion has an owner.
  const bool follows = !is_last || has_more_to_give_;
  if (follows && unowned_since_ && now < *unowned_since_ + kUnsettledMax) return move;
  has_more_to_give_ = follows;
  move.ends = is_last;
  if (!is_last) move.change = OwnershipChange{.wanted = owned_ & ~given};
  return move;
}

}  // namespace carillon::jobtracker
