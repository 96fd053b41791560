#include "jobtracker/cluster_watch.h"

#include <algorithm>
#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr Duration kLoopStuck = std::chrono::seconds{60};  // longer than the start of any session

}  // namespace

Result<std::unique_ptr<ClusterWatch>> ClusterWatch::start(
    const std::string& store, SessionId session, const Clock& clock, const LoopState& state,
    const StoreThread& connection, EventLoop& loop,
    std::function<void(const ClusterView&)> on_view) {
  auto heartbeat = CARILLON_TRY(MysqlHeartbeat::open(store, session));
  std::unique_ptr<ClusterWatch> watch(
      new ClusterWatch(clock, state, connection, loop, std::move(heartbeat), std::move(on_view)));
  watch->chore_ = CARILLON_TRY(Chore::start("beat", [raw = watch.get()] { return raw->look(); }));
  return watch;
}

ClusterWatch::ClusterWatch(const Clock& clock, const LoopState& state,
                           const StoreThread& connection, EventLoop& loop,
                           std::unique_ptr<MysqlHeartbeat> heartbeat,
                           std::function<void(const ClusterView&)> on_view)
    : clock_(clock),
      state_(state),
      connection_(connection),
      loop_(loop),
      heartbeat_(std::move(heartbeat)),
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

void ClusterWatch::heartbeat(SteadyTime now) {
  const bool is_stuck = now >= state_.turned_at.load() + kLoopStuck || stall_detector_.is_stalled();
  const bool yields = state_.yields;
  if ((now < next_heartbeat_ && yields == said_yields_) || is_stuck) return;
  next_heartbeat_ = now + kHeartbeat;
  if (!heartbeat_->run_once(yields).ok()) return;
  proven_ = now;
  said_yields_ = yields;
}

void ClusterWatch::watch_connection(const ClusterView& view) {
  const bool was_stalled = stall_detector_.is_stalled();
  stall_detector_.saw(connection_.commit_under_way(), view.asked, view.answered);
  if (stall_detector_.is_stalled() == was_stalled) return;
  if (was_stalled) {
    log_.info("the commit has ended; heartbeats resume");
  } else {
    log_.warn("a commit is stalled although the database answers; heartbeats pause until it ends");
  }
}

// Returns the time until the next look.
Duration ClusterWatch::look() {
  heartbeat(clock_.steady_now());
  auto view = heartbeat_->look(clock_, GroupId{std::min(groups_seen_, state_.last_group.load())});
  if (!view.ok()) return kLook;
  watch_connection(view.value());
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
