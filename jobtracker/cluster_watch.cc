#include "jobtracker/cluster_watch.h"

#include <algorithm>
#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr Duration kLoopStuck = std::chrono::seconds{60};  // longer than the start of any session

}  // namespace

Result<std::unique_ptr<ClusterWatch>> ClusterWatch::start(
    const std::string& store, SessionId session, const Clock& clock, const LoopState& state,
    const StoreThread& lane, EventLoop& loop, std::function<void(const ClusterView&)> on_view) {
  auto beat = CARILLON_TRY(MysqlBeat::open(store, session));
  std::unique_ptr<ClusterWatch> watch(
      new ClusterWatch(clock, state, lane, loop, std::move(beat), std::move(on_view)));
  watch->chore_ = CARILLON_TRY(Chore::start("beat", [raw = watch.get()] { return raw->look(); }));
  return watch;
}

ClusterWatch::ClusterWatch(const Clock& clock, const LoopState& state, const StoreThread& lane,
                           EventLoop& loop, std::unique_ptr<MysqlBeat> beat,
                           std::function<void(const ClusterView&)> on_view)
    : clock_(clock),
      state_(state),
      lane_(lane),
      loop_(loop),
      beat_(std::move(beat)),
      on_view_(std::move(on_view)) {
  loop_.watch(views_.fd(), [this] {
    views_.clear();
    while (const auto view = views_.take()) on_view_(*view);
  });
}

ClusterWatch::~ClusterWatch() {
  chore_.reset();
  loop_.unwatch(views_.fd());
}

void ClusterWatch::beat(SteadyTime now) {
  const bool is_stuck = now >= state_.turned_at.load() + kLoopStuck || lane_watch_.stands_still();
  const bool yields = state_.yields;
  if ((now < next_beat_ && yields == said_yields_) || is_stuck) return;
  next_beat_ = now + kBeat;
  if (!beat_->run_once(yields).ok()) return;
  proven_ = now;
  said_yields_ = yields;
}

void ClusterWatch::watch_lane(const ClusterView& view) {
  const bool stood_still = lane_watch_.stands_still();
  lane_watch_.saw(lane_.commit_under_way(), view.asked, view.answered);
  if (lane_watch_.stands_still() == stood_still) return;
  if (stood_still) {
    log_.info("the commit has ended; heartbeats resume");
  } else {
    log_.warn("a commit is stalled although the database answers; heartbeats pause until it ends");
  }
}

// Returns the time until the next look.
Duration ClusterWatch::look() {
  beat(clock_.steady_now());
  auto view = beat_->look(clock_, GroupId{std::min(groups_seen_, state_.last_group.load())});
  if (!view.ok()) return kLook;
  watch_lane(view.value());
  for (const Group& group : view.value().groups) {
    used_.set(static_cast<std::size_t>(partition_of(group.id)));
    groups_seen_ = std::max(groups_seen_, group.id.value);
  }
  view.value().used = used_;
  view.value().proven = proven_;
  views_.put(std::move(view).value());
  return state_.is_in_a_hurry ? kLookSoon : kLook;
}

}  // namespace carillon::jobtracker
