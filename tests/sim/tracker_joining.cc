// One of several job trackers: it joins those that are at work, and becomes another session
// whenever partitions come or go. The order of steps is that of jobtracker/host.h and
// jobtracker/cluster_watch.h, whose threads are events here; who takes what, and who is silent, is
// decided by the product's own parts.
#include <algorithm>
#include <utility>

#include "shared/base/assert.h"
#include "tests/sim/tracker_process.h"

namespace carillon::sim {

using jobtracker::SessionPlan;
using jobtracker::SessionStart;
using std::chrono::seconds;

namespace {

// A beat, or a look, that takes longer is none.
constexpr Duration kQuick = seconds{3};
// So that most that change hands are several.
constexpr std::size_t kPortion = 3;

}  // namespace

// Frames that were kept are taken by the session that they are passed to.
class TrackerProcess::Passing final : public net::ServerReceiver {
 public:
  explicit Passing(TrackerProcess& process) : process_(process) {}
  void on_frame(const net::Sender& sender, std::string_view frame) override {
    if (process_.network_.on_server_takes) process_.network_.on_server_takes(process_, frame);
    process_.life_->tracker->on_frame(sender, frame);
    ++count_;
  }
  std::size_t count() const { return count_; }

 private:
  TrackerProcess& process_;
  std::size_t count_ = 0;
};

void TrackerProcess::join() {
  begin_life();
  choose_lease();
  was_fenced_ = false;
  is_to_stop_ = false;
  is_stopping_ = false;
  is_known_ready_ = false;
  is_keeping_ = false;
  kept_ = 0;
  change_.reset();
  patience_ = 0;
  membership_.emplace(log_, jobtracker::kSilence, kPortion);
  transport_ = network_.listen(*this, options_.endpoint);
  room_ = std::make_unique<jobtracker::StartupResponder>(*transport_);
  open();
}

void TrackerProcess::reach_database(std::function<void()> then) {
  post_at(timeline_.now() + work_time(), [this, then = std::move(then)] {
    if (timeline_.now() >= away_until_) return then();
    post_at(away_until_, then);
  });
}

// ---- a session begins ----

void TrackerProcess::open() {
  is_opening_ = true;
  if (patience_ != 0) cancel(std::exchange(patience_, 0));
  next_ = SessionId{static_cast<std::int64_t>(random_.next() >> 2) + 1};
  if (change_) {
    return begin_session({.silent = change_->silent,
                          .before = session(),
                          .wanted = change_->wanted,
                          .address = options_.endpoint});
  }
  others_ = jobtracker::HeartbeatWatch{};
  watch_others();
}

void TrackerProcess::watch_others() {
  reach_database([this, asked = timeline_.now()] {
    others_.saw(database_.look(GroupId{}).heartbeats, asked, timeline_.now());
    if (others_.is_settled())
      return begin_session({.silent = others_.silent_heartbeats(), .address = options_.endpoint});
    post_at(timeline_.now() + jobtracker::kLook, [this] { watch_others(); });
  });
}

void TrackerProcess::begin_session(SessionPlan plan) {
  reach_database([this, plan = std::move(plan), asked = timeline_.now()]() mutable {
    const auto begun = database_.begin_session({.session = next_, .name = name(), .lease = lease()},
                                               wall_now(), plan);
    if (begun.ok()) {
      begun_ = next_;
      watch.on_begun(*this, next_, plan.before, begun.value());
      post_at(timeline_.now() + work_time(),
              [this, start = begun.value(), asked] { work_as(next_, start, asked); });
      return;
    }
    if (begun.error().code != ErrorCode::kConflict) {
      was_fenced_ = true;
      return;
    }
    // Who has a place fences nobody the second time; who has none watches again.
    plan.silent.emplace();
    post_at(timeline_.now() + jobtracker::kLook, [this, plan] {
      if (plan.before) return begin_session(plan);
      others_ = jobtracker::HeartbeatWatch{};
      watch_others();
    });
  });
}

// What is not read again is as it is stored.
void TrackerProcess::check_known(const jobtracker::KnownDefinitions& known) const {
  const auto& stored = database_.tables().definitions;
  for (const auto& [id, definition] : known.definitions.all) {
    jobtracker::Definition row = definition->row;
    const auto found = stored.find(id);
    CARILLON_ASSERT(found != stored.end(), "a known definition is stored");
    row.last_fire = found->second.last_fire;
    CARILLON_ASSERT(row == found->second, "a known definition is as it is stored");
  }
}

void TrackerProcess::work_as(SessionId session, const SessionStart& start, SteadyTime proven) {
  is_opening_ = false;
  begun_ = {};
  const auto change = std::exchange(change_, std::nullopt);
  const SessionId before = life_ ? this->session() : SessionId{};
  auto memory = life_ && change ? life_->tracker->take_memory(change->wanted)
                                : jobtracker::JobTracker::Memory{};
  check_known(memory.definitions);
  life_ = std::make_unique<Life>(*this, session);
  life_->yields = membership_->is_leaving();
  fill_life(start);
  life_->tracker->go_on_from(std::move(memory));
  watch.on_works(session, before, start.owned);
  look_around();
  life_->tracker->proven(proven);
  life_->tracker->start(*transport_);
  if (is_known_ready_) room_->receive();  // What comes is kept until it has read its store.
}

void TrackerProcess::on_ready() {
  if (!options_.is_one_of_several) return;
  seen_at_ = timeline_.now();
  membership_->begin(session(), life_->tracker->owned(), timeline_.now());
  if (!std::exchange(is_known_ready_, true)) return;
  Passing passing(*this);
  is_keeping_ = false;
  room_->pass_to(passing);
  if (passing.count() < std::exchange(kept_, 0)) watch.on_dropped(*this);
  transport_->set_receiver(life_->tracker.get());
}

// ---- it beats, and looks at the others ----

void TrackerProcess::look_around() {
  const SteadyTime began = timeline_.now();
  const bool is_due = began >= life_->next_heartbeat || life_->yields != life_->said_yields;
  if (!is_due || life_->commit_stall_detector.is_stalled()) return look_at_others(began);
  life_->next_heartbeat = began + jobtracker::kHeartbeat;
  reach_database([this, began, own = session(), yields = life_->yields] {
    if (own != session()) return;
    const bool is_late = timeline_.now() > began + kQuick;
    if (is_late || !database_.raise_heartbeat(own, yields)) return look_at_others(began);
    watch.on_beat(own);
    life_->said_yields = yields;
    life_->task_runner.post_at(timeline_.now() + work_time(), [this, began] {
      life_->proven = began;
      look_at_others(began);
    });
  });
}

void TrackerProcess::look_at_others(SteadyTime began) {
  reach_database([this, began, asked = timeline_.now(), own = session()] {
    if (own != session()) return;
    const std::int32_t known = life_->tracker->last_group().value;
    auto view = database_.look(GroupId{std::min(life_->groups_seen, known)});
    view.asked = asked;
    life_->task_runner.post_at(timeline_.now() + work_time(), [this, began, view]() mutable {
      life_->commit_stall_detector.saw(life_->connection->commit_under_way(), view.asked,
                                       timeline_.now());
      for (const jobtracker::Group& group : view.groups) {
        life_->used.set(static_cast<std::size_t>(jobtracker::partition_of(group.id)));
        life_->groups_seen = std::max(life_->groups_seen, group.id.value);
      }
      view.used = life_->used;
      view.answered = timeline_.now();
      view.proven = life_->proven;
      const Duration pause = life_->is_in_a_hurry ? jobtracker::kLookSoon : jobtracker::kLook;
      const auto next = std::max<SteadyTime>(timeline_.now(), began + pause);
      life_->task_runner.post_at(next, [this] { look_around(); });
      if (view.answered <= view.asked + kQuick) on_view(view);
    });
  });
}

// ---- and makes way for the next ----

void TrackerProcess::on_view(const jobtracker::ClusterView& view) {
  life_->tracker->on_cluster(view);
  if (!life_->tracker->is_ready() || is_stopping_ || change_) return;
  seen_at_ = timeline_.now();
  auto move =
      membership_->saw(view, !life_->tracker->awaits_silent(), life_->tracker->definition_counts());
  if (move.ends) return stop();
  life_->yields = move.yields;
  life_->wanted = std::move(move.change);
  life_->is_in_a_hurry = move.is_unsettled;
  expect_pause(membership_->is_leaving() || (move.prepares && move.is_unsettled));
  if (move.prepares) prepare();
  make_way_if_prepared();
}

void TrackerProcess::expect_pause(bool expects) {
  life_->tracker->expect_pause(expects);
  life_->has_expected_pause = life_->has_expected_pause || expects;
}

Duration TrackerProcess::claim_ahead() const {
  const jobtracker::DispatcherConfig& config = options_.config.dispatcher;
  return life_->has_expected_pause ? std::max(config.claim_ahead, config.pause_claim_ahead)
                                   : config.claim_ahead;
}

void TrackerProcess::make_way_if_prepared() {
  if (!life_->wanted || !life_->is_prepared || is_stopping_ || change_) return;
  change_ = std::move(life_->wanted);
  room_.reset();
  room_ = std::make_unique<jobtracker::StartupResponder>(*transport_);
  room_->keep();
  is_keeping_ = true;
  life_->tracker->hand_over(*room_);
  patience_ = post_at(timeline_.now() + kPatience, [this] {
    patience_ = 0;
    if (!is_opening_ && !is_stopping_) open();
  });
}

void TrackerProcess::prepare() {
  if (std::exchange(life_->prepares, true)) return;
  reach_database([this, own = session()] {
    if (own != session()) return;
    life_->is_prepared = true;
    make_way_if_prepared();
  });
}

// ---- it ends ----

// As it stops, or is stopped.
void TrackerProcess::end() {
  if (options_.is_one_of_several && timeline_.now() >= away_until_) {
    for (const SessionId one : {session(), begun_}) {
      if (!one) continue;
      database_.end_session(one);
      watch.on_ended(one);
    }
  }
  kill(false);
}

void TrackerProcess::die_fenced() {
  kill(false);
  if (watch.on_fenced) watch.on_fenced(*this);
}

}  // namespace carillon::sim
