#include "jobtracker/cluster_watch.h"

#include <algorithm>
#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr Duration kLoopStuck = std::chrono::seconds{60};  // longer than any start takes to decide

}  // namespace

Result<std::unique_ptr<ClusterWatch>> ClusterWatch::start(
    const std::string& store, SessionId session, const Clock& clock, const LoopState& state,
    EventLoop& loop, std::function<void(const ClusterView&)> on_view) {
  auto beat = CARILLON_TRY(MysqlBeat::open(store, session));
  std::unique_ptr<ClusterWatch> watch(
      new ClusterWatch(clock, state, loop, std::move(beat), std::move(on_view)));
  watch->chore_ = CARILLON_TRY(Chore::start("beat", kLook, [raw = watch.get()] { raw->look(); }));
  return watch;
}

ClusterWatch::ClusterWatch(const Clock& clock, const LoopState& state, EventLoop& loop,
                           std::unique_ptr<MysqlBeat> beat,
                           std::function<void(const ClusterView&)> on_view)
    : clock_(clock),
      state_(state),
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

void ClusterWatch::look() {
  const SteadyTime now = clock_.steady_now();
  if (now >= next_beat_ && now < state_.turned_at.load() + kLoopStuck) {
    if (beat_->run_once().ok()) proven_ = now;
    next_beat_ = now + kBeat;
  }
  auto view = beat_->look(clock_, GroupId{std::min(groups_seen_, state_.last_group.load())});
  if (!view.ok()) return;
  for (const Group& group : view.value().groups) {
    used_.set(static_cast<std::size_t>(partition_of(group.id)));
    groups_seen_ = std::max(groups_seen_, group.id.value);
  }
  view.value().used = used_;
  view.value().proven = proven_;
  views_.put(std::move(view).value());
}

}  // namespace carillon::jobtracker
