#include "tests/sim/tracker_process.h"

#include <algorithm>
#include <utility>

namespace carillon::sim {

using jobtracker::Batch;
using jobtracker::BatchDone;
using jobtracker::Committed;
using jobtracker::JobTracker;
using jobtracker::ReadDone;
using std::chrono::microseconds;

// Remembers when the loop let go of the batch under way.
class TrackerProcess::Lane final : public jobtracker::StoreLane {
 public:
  explicit Lane(TrackerProcess& process) : process_(process) {}
  void commit(Batch batch) override {
    process_.flushed_at_ = process_.timeline_.now();
    process_.lane_->commit(std::move(batch));
  }
  void read(std::uint64_t token, jobtracker::Read question) override {
    process_.lane_->read(token, std::move(question));
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
    const Duration time = process_.chance_.between(microseconds{100}, microseconds{5000});
    process_.post_at(process_.timeline_.now() + time,
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
  session_ = session;
  was_fenced_ = false;
  is_leaving_ = false;
  transport_ = network_.listen(*this, options_.endpoint);
  store_ = std::make_unique<WatchedStore>(
      database_, jobtracker::StoreSession{.session = session, .name = options_.name}, *this,
      [this](const Batch& batch, const Committed& done) { on_commit(*this, batch, done); });
  testing::FakeLane::Answers answers{
      .on_batch = [this](BatchDone done) { tracker_->on_batch_done(std::move(done)); },
      .on_read = [this](ReadDone done) { tracker_->on_read_done(std::move(done)); },
      .on_health = [this](bool is_away) { tracker_->on_store_health(is_away); }};
  lane_ = std::make_unique<testing::FakeLane>(*store_, *this, *this, std::move(answers));
  lane_->work_time = [this] { return chance_.between(microseconds{100}, microseconds{5000}); };
  lane_->answer_time = [this] { return chance_.between(microseconds{10}, microseconds{1000}); };
  lane_->away_until = away_until_;
  timed_lane_ = std::make_unique<Lane>(*this);
  questions_ = std::make_unique<Questions>(*this);
  tracker_ = std::make_unique<JobTracker>(
      options_.config, session, *this, random_, *this, *timed_lane_, *questions_, [] {},
      [this](const Error&) { was_fenced_ = true; });
  if (options_.is_watched) tracker_->proven(timeline_.now());
  tracker_->start(*transport_);
}

void TrackerProcess::stand_by(std::function<void()> take_over) {
  begin_life();
  session_ = {};
  stands_by_since_ = timeline_.now();
  transport_ = network_.listen(*this, options_.endpoint);
  room_ = std::make_unique<jobtracker::WaitingRoom>(*transport_);
  watch_ = {};
  take_over_ = std::move(take_over);
  look();
}

void TrackerProcess::look() {
  const SteadyTime asked = timeline_.now();
  post_at(asked + chance_.between(microseconds{100}, microseconds{5000}),
          [this, asked] { see(asked); });
}

void TrackerProcess::see(SteadyTime asked) {
  if (timeline_.now() < away_until_)
    return (void)post_at(away_until_, [this, asked] { see(asked); });
  std::vector<jobtracker::SessionBeat> beats;
  for (const auto& [lane, row] : database_.tables().trackers) {
    beats.push_back({.session = lane.first,
                     .lane = lane.second,
                     .name = row.name,
                     .batch = row.batch,
                     .at = row.beat});
  }
  watch_.saw(beats, asked, timeline_.now());
  if (!watch_.are_all_silent()) {
    post_at(std::max<SteadyTime>(timeline_.now(), asked + jobtracker::kLook), [this] { look(); });
  } else {
    timeline_.at(timeline_.now(), take_over_);  // That ends this life.
  }
}

// As the real loop: a hook that asks for it gets another turn before time goes on.
void TrackerProcess::end_turn() {
  if (stands_by()) return;
  if (was_fenced_) return kill(false);
  while (tracker_->end_turn()) continue;
  if (is_leaving_ && tracker_->is_idle()) kill(false);
}

void TrackerProcess::kill(bool commit_lands) {
  if (!is_alive()) return;
  if (commit_lands && lane_) lane_->finish_unanswered();
  end_life();
  room_.reset();
  transport_.reset();
  tracker_.reset();
  questions_.reset();
  timed_lane_.reset();
  lane_.reset();
  store_.reset();
}

void TrackerProcess::leave() {
  if (!tracker_) return;
  is_leaving_ = true;
  run([this] { tracker_->stop(); });
}

void TrackerProcess::stall_store(Duration time) {
  away_until_ = std::max<SteadyTime>(away_until_, timeline_.now() + time);
  if (lane_) lane_->away_until = away_until_;
}

void TrackerProcess::mend_store() {
  away_until_ = {};
  if (!lane_) return;
  lane_->away_until = {};
  store_->mend();
}

}  // namespace carillon::sim
