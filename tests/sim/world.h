#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/cluster.h"
#include "tests/sim/faults.h"
#include "tests/sim/listeners.h"
#include "tests/sim/memory.h"
#include "tests/sim/progress.h"
#include "tests/sim/statistics.h"
#include "tests/sim/workload.h"

namespace carillon::sim {

// One simulation, from one seed: users and faults for some hours, then everything works again and
// has to end.
//
// Thread: the simulation's.
class World {
 public:
  // With several parts the first node group was split.
  World(std::uint64_t seed, int trackers, int parts, bool push, int length_h);

  // Tells each step of a task, or of a job by its id, and what went wrong around it.
  void watch(const std::string& name, const std::function<void(const std::string&)>& tell);

  // What was not as promised, each with its time; empty: nothing.
  const std::vector<std::string>& run();

  const Statistics& statistics() const { return statistics_; }
  std::uint64_t digest() const { return cluster_.digest.value(); }
  std::int64_t jobs_ended() const { return cluster_.ledger.ended(); }
  std::int64_t runs() const { return cluster_.runs.runs(); }
  std::int64_t pushed_runs() const { return cluster_.pushed.count(); }
  std::size_t frames() const { return cluster_.network.frames(); }

 private:
  void broken(const std::string& what);
  void users_go_on();
  void bursts_go_on();
  void faults_go_on();
  // Again and again, so long after each other at the most, until all is to end.
  void go_on_with(void (Faults::*fault)(), Chance& chance, Duration longest);
  void pushing_goes_on();
  void executor_faults_go_on();
  void checks_go_on();
  void memory_goes_on();
  void run_for(Duration time);
  std::string now() const;
  void check_end();

  std::vector<std::string> broken_;
  const int hours_;
  Statistics statistics_;
  Cluster cluster_;
  Workload workload_;
  Faults faults_;
  Progress progress_;
  Memory memory_;
  Listeners listeners_;
  bool is_ending_ = false;
};

}  // namespace carillon::sim
