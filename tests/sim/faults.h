#pragma once

#include <string>

#include "tests/sim/cluster.h"
#include "tests/sim/statistics.h"

namespace carillon::sim {

// What goes wrong, each by chance, with an end.
//
// Thread: the simulation's.
class Faults {
 public:
  Faults(Cluster& cluster, Statistics& statistics) : cluster_(cluster), statistics_(statistics) {}

  void something_fails();
  void disk_fails();
  void executor_fails();
  void executor_is_crowded();
  void frames_are_repeated();
  void two_are_cut_off();
  // Everything works again, and nothing fails any more.
  void stop();

 private:
  void tracker_fails(TrackerProcess& tracker);
  void tracker_comes_back(const TrackerProcess& tracker, Duration after);
  void another_takes_over();
  void store_fails(TrackerProcess& tracker);
  void worker_fails(WorkerProcess& worker);
  void client_fails(ClientProcess& client);
  void network_fails();
  void clock_is_set(Process& process);
  Process& any_process(Chance& chance);
  void disturb(const ExecutorProcess& executor, const std::string& how, Duration time);
  void count(const std::string& type, Duration time);
  // One that touches no job tracker, nor what it decides by.
  void count_around(const std::string& type, Duration time);

  Cluster& cluster_;
  Statistics& statistics_;
};

}  // namespace carillon::sim
