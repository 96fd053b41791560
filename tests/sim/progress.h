#pragma once

#include <vector>

#include "tests/sim/cluster.h"

namespace carillon::sim {

// While nothing is wrong, everything goes on: what is due runs, what has ended is stored, what is
// to stop stops.
//
// Thread: the simulation's.
class Progress {
 public:
  Progress(Cluster& cluster, Broken broken) : cluster_(cluster), broken_(std::move(broken)) {}

  // From time to time.
  void check();
  // A run of a task tracker has ended, and no job tracker was told yet: it may end an isolation.
  void run_ended();

 private:
  void check_executing(JobId id, const Ledger::Job& job);
  void check_waiting(JobId id, const Ledger::Job& job, WallTime now);
  void check_schedules(WallTime now);
  void check_owners(const std::vector<TrackerProcess*>& trackers);
  void check_disks();
  bool waits_for_another(JobId id, const Ledger::Job& job) const;
  bool is_one_isolated();
  const WorkerProcess* idle_worker(const Ledger::Job& job);
  void broken(JobId id, const Ledger::Job& job, const std::string& what) const;

  Cluster& cluster_;
  Broken broken_;
  SteadyTime isolated_at_{};  // when a run ended and a task tracker was isolated
};

}  // namespace carillon::sim
