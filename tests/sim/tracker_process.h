#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "jobtracker/job_tracker.h"
#include "jobtracker/store/beat_watch.h"
#include "jobtracker/store/memory_store.h"
#include "jobtracker/waiting_room.h"
#include "tests/sim/chance.h"
#include "tests/sim/network.h"
#include "tests/sim/watched_store.h"
#include "tests/support/fake_lane.h"

namespace carillon::sim {

struct TrackerOptions {
  std::string name{};
  std::string endpoint{};
  jobtracker::JobTrackerConfig config{};
  bool is_watched = false;  // by one that stands by
};

// A job tracker with its lane to the database that all of them share: all of it but its transport,
// its threads and SQL.
//
// Thread: the simulation's.
class TrackerProcess final : public Process {
 public:
  TrackerProcess(Timeline& timeline, Network& network, Chance& chance, Random& random,
                 jobtracker::MemoryDatabase& database, TrackerOptions options)
      : Process(timeline, options.name),
        network_(network),
        chance_(chance),
        random_(random),
        database_(database),
        options_(std::move(options)) {}
  ~TrackerProcess() override { kill(false); }

  // Each life has a session of its own, and fences every earlier one.
  void start(SessionId session);
  // Watches whoever works on the database, answers that it does not serve, and calls `take_over`
  // once the other is silent.
  void stand_by(std::function<void()> take_over);
  // kill -9. `commit_lands`: what its COMMIT has begun is on disk all the same.
  void kill(bool commit_lands);
  // SIGTERM: it stores and answers what it has taken, and stops.
  void leave();

  // ---- faults of its way to the database ----
  void stall_store(Duration time);
  void fill_store(Duration time) { store_->fill_until(timeline_.now() + time); }
  void fail_store(WatchedStore::Fault fault) { store_->fail_next(fault); }
  void mend_store();

  const TrackerOptions& options() const { return options_; }
  SessionId session() const { return session_; }
  // Another took its place; it has stopped deciding.
  bool was_fenced() const { return was_fenced_; }
  jobtracker::JobTracker& tracker() { return *tracker_; }
  bool is_ready() const { return tracker_ && tracker_->is_ready(); }
  bool stands_by() const { return room_ != nullptr; }
  bool was_stalled_since(SteadyTime when) const { return away_until_ >= when; }
  SteadyTime stands_by_since() const { return stands_by_since_; }
  // When the loop handed its batch to the lane.
  SteadyTime flushed_at() const { return flushed_at_; }

  std::function<void(TrackerProcess&, const jobtracker::Batch&, const jobtracker::Committed&)>
      on_commit;

 private:
  class Lane;
  class Questions;

  void end_turn() override;
  void look();
  void see(SteadyTime asked);

  Network& network_;
  Chance& chance_;
  Random& random_;
  jobtracker::MemoryDatabase& database_;
  const TrackerOptions options_;
  SessionId session_{};
  SteadyTime flushed_at_{};
  SteadyTime away_until_{};  // the database, for this process
  bool was_fenced_ = false;
  bool is_leaving_ = false;
  std::unique_ptr<net::ServerTransport> transport_;
  std::unique_ptr<jobtracker::WaitingRoom> room_;  // while it stands by
  jobtracker::BeatWatch watch_;
  std::function<void()> take_over_;
  SteadyTime stands_by_since_{};
  std::unique_ptr<WatchedStore> store_;
  std::unique_ptr<testing::FakeLane> lane_;
  std::unique_ptr<jobtracker::StoreLane> timed_lane_;
  std::unique_ptr<jobtracker::Questions> questions_;
  std::unique_ptr<jobtracker::JobTracker> tracker_;
};

}  // namespace carillon::sim
