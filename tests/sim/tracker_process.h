#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobtracker/cluster/membership.h"
#include "jobtracker/job_tracker.h"
#include "jobtracker/startup_responder.h"
#include "jobtracker/store/commit_stall_detector.h"
#include "jobtracker/store/heartbeat_watch.h"
#include "jobtracker/store/memory_store.h"
#include "shared/net/poster.h"
#include "shared/runtime/scoped_task_runner.h"
#include "tests/sim/chance.h"
#include "tests/sim/network.h"
#include "tests/sim/watched_store.h"
#include "tests/support/fake_store_connection.h"

namespace carillon::sim {

struct TrackerOptions {
  std::string name{};
  std::string endpoint{};
  jobtracker::JobTrackerConfig config{};
  std::vector<Duration> leases{};  // that its lives give in turn; none: the config's
  bool is_watched = false;         // by one that stands by
  bool is_one_of_several = false;
};

// A job tracker with its connection to the database that all of them share: all of it but its
// transport, its threads and SQL. It works alone (start, stand_by), or is one of several (join).
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
  // Works beside the others, as one session after the other, as jobtracker/host.h does.
  void join();
  // kill -9. `commit_lands`: what its COMMIT has begun is on disk all the same.
  void kill(bool commit_lands);
  // SIGTERM: it stores and answers what it has taken, and stops.
  void leave();

  // ---- faults of its way to the database ----
  void stall_store(Duration time);
  // Its commits, while the database answers its looks, and others.
  void hang_commits(Duration time) {
    if (life_) life_->connection->hangs_until = timeline_.now() + time;
  }
  std::uint64_t commit_under_way() const {
    return life_ ? life_->connection->commit_under_way() : 0;
  }
  void fill_store(Duration time) {
    if (life_) life_->store->fill_until(timeline_.now() + time);
  }
  void fail_store(WatchedStore::Fault fault) {
    if (life_) life_->store->fail_next(fault);
  }
  void mend_store();

  const TrackerOptions& options() const { return options_; }
  // As which it works; 0: it does not.
  SessionId session() const { return life_ ? life_->session : SessionId{}; }
  jobtracker::JobTracker& tracker() { return *life_->tracker; }
  bool works() const { return life_ != nullptr; }
  bool is_ready() const { return works() && life_->tracker->is_ready(); }
  Sizes sizes() const;
  // It was told to stop.
  bool is_leaving() const { return is_to_stop_; }
  bool stands_by() const { return !works() && room_ != nullptr; }
  bool was_stalled_since(SteadyTime when) const { return away_until_ >= when; }
  SteadyTime stands_by_since() const { return stands_by_since_; }
  // When the loop handed its batch to the connection.
  SteadyTime flushed_at() const { return flushed_at_; }
  // How long before its time it may claim a job.
  Duration claim_ahead() const;
  // That it gives to task trackers, in this life.
  Duration lease() const { return options_.config.recovery.lease; }
  // By which it decides what is due: its machine's clock, or the database's that it shares.
  WallTime scheduling_now() const {
    return options_.is_one_of_several ? timeline_.wall_now() : wall_now();
  }

  // A frame was taken off its network.
  void came() {
    if (is_keeping_) ++kept_;
  }

  // What becomes of the sessions of one of several.
  struct Watch {
    // It is noted in the database, with what it owns; `before`: in whose place.
    std::function<void(TrackerProcess&, SessionId session, SessionId before,
                       const jobtracker::SessionStart&)>
        on_begun{};
    // And decides from now on; instead of another one, perhaps.
    std::function<void(SessionId, SessionId before, const jobtracker::Partitions&)> on_works{};
    std::function<void(SessionId)> on_beat{};
    std::function<void(SessionId)> on_ended{};         // it says so itself
    std::function<void(TrackerProcess&)> on_fenced{};  // it has come to know, and its process ends
    // Not all that came while it became another session is taken by that one.
    std::function<void(const TrackerProcess&)> on_dropped{};
  };
  Watch watch;
  // By which it calls executors; none: nothing is pushed.
  net::Poster* poster = nullptr;
  std::function<void(TrackerProcess&, const jobtracker::Batch&, const jobtracker::Committed&)>
      on_commit;

 private:
  class Connection;
  class Passing;
  class Questions;
  // Of one session.
  struct Life {
    Life(TaskRunner& outer, SessionId own) : task_runner(outer), session(own) {}
    ScopedTaskRunner task_runner;
    const SessionId session;
    std::unique_ptr<WatchedStore> store{};
    std::unique_ptr<testing::FakeStoreConnection> connection{};
    std::unique_ptr<jobtracker::StoreConnection> timed_connection{};
    std::unique_ptr<jobtracker::Questions> questions{};
    std::unique_ptr<jobtracker::JobTracker> tracker{};
    // Of its look at the others.
    jobtracker::CommitStallDetector commit_stall_detector{};
    SteadyTime next_heartbeat{};
    SteadyTime proven{};
    jobtracker::Partitions used{};
    std::int32_t groups_seen = 0;
    bool yields = false;
    bool said_yields = false;
    bool is_in_a_hurry = true;
    bool has_expected_pause = false;
    bool prepares = false;
    bool is_prepared = false;  // for the next session
    std::optional<jobtracker::OwnershipChange> wanted{};
  };

  static constexpr Duration kPatience = std::chrono::seconds{5};  // as it stops, or makes way
  static constexpr Duration kUnseenMax = std::chrono::seconds{5};

  void end_turn() override;
  void choose_lease();
  void fill_life(const std::optional<jobtracker::SessionStart>& start);
  void look();
  void see(SteadyTime asked);
  Duration work_time() {
    return chance_.between(std::chrono::microseconds{100}, std::chrono::microseconds{5000});
  }

  // ---- one of several ----
  // Does that on the database as soon as it answers.
  void reach_database(std::function<void()> then);
  void open();
  void watch_others();
  void begin_session(jobtracker::SessionPlan plan);
  void check_known(const jobtracker::KnownDefinitions& known) const;
  void work_as(SessionId session, const jobtracker::SessionStart& start, SteadyTime proven);
  void on_ready();
  void look_around();
  void look_at_others(SteadyTime began);
  void on_view(const jobtracker::ClusterView& view);
  void prepare();
  void expect_pause(bool expects);
  void make_way_if_prepared();
  void stop();
  void watch_leaving();
  void end();
  void die_fenced();

  Network& network_;
  Chance& chance_;
  Random& random_;
  jobtracker::MemoryDatabase& database_;
  TrackerOptions options_;
  std::size_t lives_ = 0;
  const Logger log_{"jobtracker"};
  SteadyTime flushed_at_{};
  SteadyTime away_until_{};  // the database, for this process
  bool was_fenced_ = false;
  bool is_to_stop_ = false;
  bool is_stopping_ = false;
  std::unique_ptr<net::ServerTransport> transport_;
  std::unique_ptr<jobtracker::StartupResponder> room_;  // while it does not serve
  jobtracker::HeartbeatWatch others_;
  std::function<void()> take_over_;
  SteadyTime stands_by_since_{};
  std::unique_ptr<Life> life_;
  // One of several.
  std::optional<jobtracker::Membership> membership_{};
  SteadyTime seen_at_{};  // the others, last
  bool is_opening_ = false;
  bool is_known_ready_ = false;
  bool is_keeping_ = false;  // frames, for the next session
  std::size_t kept_ = 0;
  std::optional<jobtracker::OwnershipChange> change_{};  // this session makes way for another
  TimerId patience_ = 0;
  SessionId next_{};   // that is to begin
  SessionId begun_{};  // that has, and this process was not told yet
};

}  // namespace carillon::sim
