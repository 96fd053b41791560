#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/client_process.h"
#include "tests/sim/executor_network.h"
#include "tests/sim/ledger.h"
#include "tests/sim/owners.h"
#include "tests/sim/tracker_process.h"
#include "tests/sim/worker_process.h"

namespace carillon::sim {

// The handler whose runs take their process with them.
inline constexpr const char* kPoison = "poison";
// Takes a few milliseconds.
inline constexpr const char* kBrief = "brief";

// Groups of executors.
inline constexpr const char* kHonestApp = "app";
inline constexpr const char* kLyingApp = "lying-app";

// Every process of a world, the network between them and the database, and what is known of them.
//
// Thread: the simulation's.
class Cluster {
 public:
  // `trackers`: so many job trackers are at work together. `parts`: the first group was split into
  // so many. `push`: there are executors of xxl-job.
  Cluster(std::uint64_t seed, int trackers, int parts, bool push, Broken broken);

  // One of them, started where it was down.
  void start_tracker(std::size_t index);
  bool has_several() const { return at_work_ > 1; }
  // In some worlds the second one stands by, and whoever has died after it.
  bool has_standbys() const { return !has_several() && seed_ % 6 == 1; }
  void stand_by(std::size_t index);
  // Nothing is under way to the store.
  bool is_idle() const;
  // How many parts a node group has: the first may have been split.
  int parts_of(const std::string& group) const { return group == groups.front() ? parts_ : 1; }
  // In some, task trackers fetch many ahead, and users submit many short runs at a time.
  bool has_deep_queues() const { return !has_several() && seed_ % 12 == 6; }
  // In some, frames are repeated.
  bool has_repeats() const { return seed_ % 7 % 4 == 0; }
  // Task trackers that work for several job trackers are cut off with one of them.
  bool has_common_cuts() const { return parts_ > 1 && seed_ % 5 == 3; }
  // In some, executors have no connection free for a while, and what is pushed start deadlines.
  bool has_crowds() const { return !executors.empty() && seed_ % 5 == 3; }
  // In some, each life of a job tracker gives another lease than the one before.
  bool has_differing_leases() const { return seed_ % 19 == 1 || seed_ % 19 == 10; }
  // In some, clocks are set by up to an hour.
  bool has_far_clocks() const { return seed_ % 17 == 9 || seed_ % 17 == 11; }
  void start_worker(WorkerProcess& worker);
  void start_client(ClientProcess& client);

  // Those at work: of several all that live, otherwise who opened the store last, if it lives.
  std::vector<TrackerProcess*> active();
  TrackerProcess* any_active();
  std::vector<WorkerProcess*> live_workers();
  // In service, well, and within reach.
  bool has_executor(GroupId group) const;

  Chance chance;
  // Apart, so that worlds without disks, or frames that are repeated, are as they were.
  Chance disk_chance;
  Chance repeat_chance;
  Chance cut_chance;
  Chance crowd_chance;
  Timeline timeline;
  Digest digest;
  SeededRandom product_random;  // what the product draws
  Network network{timeline, chance, repeat_chance, digest};
  jobtracker::MemoryDatabase database;
  RunBook runs;
  Ledger ledger;
  Owners owners;       // where there are several
  Chance push_chance;  // apart likewise
  PushedRuns pushed;
  ExecutorNetwork executor_network{timeline, push_chance, pushed};
  std::vector<std::string> groups;  // of jobs and task trackers
  std::vector<Disk*> disks;         // of workers and of a client; in some worlds
  std::vector<std::unique_ptr<TrackerProcess>> trackers;
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  std::vector<std::unique_ptr<ClientProcess>> clients;
  std::vector<std::unique_ptr<ExecutorProcess>> executors;

  // Called with each commit, before the ledger has it.
  std::function<void(const TrackerProcess&, const Commit&)> on_commit = [](const auto&,
                                                                           const auto&) {};
  // The same.
  std::function<void(const Commit&)> on_stored = [](const auto&) {};
  // A run of a task tracker has ended, not with its process, and no job tracker was told yet.
  std::function<void()> on_run_end = [] {};
  // A client begins a life.
  std::function<void(ClientProcess&)> on_client = [](auto&) {};
  // Called with what else may tell why something happened.
  std::function<void(const std::string&)> on_event = [](const std::string&) {};
  // How a run shall go.
  std::function<RunPlan(const wire::HandedJob&, const JobSpec&)> plan;
  // Nothing is asked of progress before: something was just disturbed.
  SteadyTime quiet_from{};
  SteadyTime executors_quiet_from{};  // of runs of executors
  bool are_executors_quiet() const { return timeline.now() >= executors_quiet_from; }
  SteadyTime trackers_quiet_from{};  // of order: it was a job tracker, its clock or its store
  void disturbed(Duration time);
  // But no job tracker, nor what it decides by.
  void disturbed_around(Duration time);
  // Nobody gets an answer of the database.
  void stall_database(Duration time);
  void mend_stores();
  // The commits of one of several, though the database answers all: another one takes over.
  void hang_commits(TrackerProcess& tracker, Duration time);
  // That of a tracker; their times cannot be compared over that.
  bool clock_was_set_since(SteadyTime when) const;

 private:
  void split_group();
  void watch_network();
  void add_trackers();
  std::vector<Duration> leases_of(std::size_t tracker) const;
  void watch_sessions(TrackerProcess& tracker);
  void notice_new_groups();
  void committed(TrackerProcess& tracker, const jobtracker::Batch& batch,
                 const jobtracker::Committed& done);
  bool looks_after(const TrackerProcess& tracker, GroupId group) const;
  void add_workers();
  void add_disks();
  void add_executors();
  void take_over(std::size_t index);
  void dies(WorkerProcess& worker);
  void check_not_early(const WorkerProcess& worker, const wire::AttemptId& id);
  void check_queue(const WorkerProcess& worker);
  void check_lost(const TrackerProcess& tracker, const jobtracker::Batch& batch) const;
  bool is_as_stored(const wire::HandedJob& handed, const jobtracker::WaitingJob& row) const;
  void check_sent(TrackerProcess& tracker, std::string_view frame);
  void check_clock(const TrackerProcess& tracker, const jobtracker::Batch& batch) const;

  const Broken broken_;
  const std::uint64_t seed_;
  const int at_work_;
  const int parts_;
  std::vector<std::string> endpoints_;
  std::int64_t last_session_ = 0;
  std::set<wire::AttemptId> confirmed_;  // to anybody, by anybody
  SessionId newest_tracker_{};
  WallTime last_commit_{};
  SteadyTime last_commit_at_{};
  SteadyTime database_back_at_{};
  DeadTimes dead_times_{};
  std::size_t groups_made_ = 0;
};

}  // namespace carillon::sim
