#include "tests/sim/tracker_process.h"

#include <algorithm>
#include <array>
#include <utility>

namespace carillon::sim {

using jobtracker::Batch;
using jobtracker::BatchDone;
using jobtracker::Committed;
using jobtracker::JobTracker;
using jobtracker::ReadDone;
using jobtracker::SessionStart;
using std::chrono::microseconds;

namespace {

// Those of a job tracker's statistics that say how much it holds.
const std::array<std::string, 6> kSizes{"jobs_in_memory", "jobs_executing",     "definitions",
                                        "groups",         "operations_pending", "alarms_waiting"};

}  // namespace

// Remembers when the loop let go of the batch under way.
class TrackerProcess::Connection final : public jobtracker::StoreConnection {
 public:
  explicit Connection(TrackerProcess& process) : process_(process) {}
  void commit(Batch batch) override {
    process_.flushed_at_ = process_.timeline_.now();
    process_.life_->connection->commit(std::move(batch));
  }
  void read(std::uint64_t token, jobtracker::Read question) override {
    process_.life_->connection->read(token, std::move(question));
  }

 private:
  TrackerProcess& process_;
};

// Answers from the database as it is when the question gets there.
class TrackerProcess::Questions final : public jobtracker::Questions {
 public:
  explicit Questions(TrackerProcess& process) : process_(process), reader_(process.database_) {}
  void ask(jobtracker::Read question,
           std::function<void(Result<jobtracker::ReadAnswer>)> on_answer) override {
    process_.life_->task_runner.post_at(
        process_.timeline_.now() + process_.work_time(),
        [this, question = std::move(question), on_answer = std::move(on_answer)] {
          on_answer(reader_.read(question));
        });
  }

 private:
  TrackerProcess& process_;
  jobtracker::MemoryReader reader_;
};

void TrackerProcess::start(SessionId session) {
  begin_life();
  choose_lease();
  was_fenced_ = false;
  is_to_stop_ = false;
  is_stopping_ = false;
  transport_ = network_.listen(*this, options_.endpoint);
  life_ = std::make_unique<Life>(*this, session);
  fill_life({});
  if (options_.is_watched) life_->tracker->proven(timeline_.now());
  life_->tracker->start(*transport_);
}

void TrackerProcess::choose_lease() {
  const auto& leases = options_.leases;
  if (!leases.empty()) options_.config.recovery.lease = leases[lives_++ % leases.size()];
}

void TrackerProcess::fill_life(const std::optional<SessionStart>& start) {
  Life& life = *life_;
  const jobtracker::StoreSession session{
      .session = life.session, .name = options_.name, .lease = lease()};
  life.store = std::make_unique<WatchedStore>(
      database_, session, start, *this, timeline_,
      [this](const Batch& batch, const Committed& done) { on_commit(*this, batch, done); });
  testing::FakeStoreConnection::Answers answers{
      .on_batch = [&life](BatchDone done) { life.tracker->on_batch_done(std::move(done)); },
      .on_read = [&life](ReadDone done) { life.tracker->on_read_done(std::move(done)); },
      .on_health = [&life](bool is_away) { life.tracker->on_store_health(is_away); }};
  life.connection = std::make_unique<testing::FakeStoreConnection>(*life.store, life.task_runner,
                                                                   *this, std::move(answers));
  life.connection->work_time = [this] { return work_time(); };
  life.connection->answer_time = [this] {
    return chance_.between(microseconds{10}, microseconds{1000});
  };
  life.connection->away_until = away_until_;
  life.timed_connection = std::make_unique<Connection>(*this);
  life.questions = std::make_unique<Questions>(*this);
  life.tracker = std::make_unique<JobTracker>(
      options_.config, life.session, *this, random_, life.task_runner, *life.timed_connection,
      *life.questions, [this] { on_ready(); },
      [this](const Error&) {
        // One that opens the store for its next session is told there.
        if (!is_opening_) was_fenced_ = true;
      });
  if (poster != nullptr) life.tracker->set_poster(*poster);
}

void TrackerProcess::stand_by(std::function<void()> take_over) {
  begin_life();
  stands_by_since_ = timeline_.now();
  transport_ = network_.listen(*this, options_.endpoint);
  room_ = std::make_unique<jobtracker::StartupResponder>(*transport_);
  others_ = jobtracker::HeartbeatWatch{};
  take_over_ = std::move(take_over);
  look();
}

void TrackerProcess::look() {
  const SteadyTime asked = timeline_.now();
  post_at(asked + work_time(), [this, asked] { see(asked); });
}

void TrackerProcess::see(SteadyTime asked) {
  // It may be mended earlier.
  if (timeline_.now() < away_until_)
    return (void)post_at(timeline_.now() + jobtracker::kLook, [this, asked] { see(asked); });
  others_.saw(database_.look(GroupId{}).heartbeats, asked, timeline_.now());
  if (!others_.are_all_silent()) {
    post_at(std::max<SteadyTime>(timeline_.now(), asked + jobtracker::kLook), [this] { look(); });
  } else {
    timeline_.at(timeline_.now(), take_over_);  // That ends this life.
  }
}

// As the real loop: a hook that asks for it gets another turn before time goes on.
void TrackerProcess::end_turn() {
  if (was_fenced_) return die_fenced();
  if (!works() || is_opening_) return;
  while (life_->tracker->end_turn()) continue;
  if (!life_->tracker->is_idle()) return;
  if (is_stopping_) return end();
  if (change_) open();
}

Sizes TrackerProcess::sizes() const {
  Sizes all;
  if (works()) {
    all = life_->tracker->sizes();
    for (const auto& [name, value] : life_->tracker->stats()) {
      const bool is_size = std::find(kSizes.begin(), kSizes.end(), name) != kSizes.end();
      if (is_size) all.emplace_back(name, static_cast<std::size_t>(value));
    }
  }
  if (room_) add_sizes(all, "room", room_->sizes());
  add_sizes(all, "others", others_.sizes());
  if (membership_) add_sizes(all, "membership", membership_->sizes());
  return all;
}

void TrackerProcess::kill(bool commit_lands) {
  if (!is_alive()) return;
  if (commit_lands && life_) life_->connection->finish_unanswered();
  end_life();
  room_.reset();
  transport_.reset();
  life_.reset();
}

void TrackerProcess::leave() {
  if (!works()) return options_.is_one_of_several && is_alive() ? end() : void();
  if (std::exchange(is_to_stop_, true)) return;
  run([this] {
    const bool works = life_->tracker->is_ready() || change_;
    if (!options_.is_one_of_several || !works || !membership_->has_others()) return stop();
    seen_at_ = timeline_.now();
    membership_->leave(seen_at_, seen_at_ + jobtracker::kNotice + lease());
    life_->yields = true;
    expect_pause(true);
    watch_leaving();
  });
}

void TrackerProcess::watch_leaving() {
  const SteadyTime now = timeline_.now();
  if (is_stopping_) return;
  if (now >= seen_at_ + kUnseenMax) return stop();
  post_at(now + jobtracker::kLook, [this] { watch_leaving(); });
}

void TrackerProcess::stop() {
  is_stopping_ = true;
  if (is_opening_) return end();
  life_->tracker->stop();
  if (options_.is_one_of_several) post_at(timeline_.now() + kPatience, [this] { end(); });
}

void TrackerProcess::stall_store(Duration time) {
  away_until_ = std::max<SteadyTime>(away_until_, timeline_.now() + time);
  if (life_) life_->connection->away_until = away_until_;
}

void TrackerProcess::mend_store() {
  away_until_ = {};
  if (!life_) return;
  life_->connection->away_until = {};
  life_->connection->hangs_until = {};
  life_->store->mend();
}

}  // namespace carillon::sim
