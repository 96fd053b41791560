#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/net/poster.h"
#include "tests/sim/executor_process.h"
#include "tests/sim/tracker_process.h"

namespace carillon::sim {

// HTTP between job trackers and executors. A call waits for a connection, comes once or not at all;
// its answer may be lost; whoever is not there refuses, and whoever dies hangs up.
//
// Thread: the simulation's.
class ExecutorNetwork {
 public:
  ExecutorNetwork(Timeline& timeline, Chance& chance, PushedRuns& runs);
  ~ExecutorNetwork();

  // `may_call`: whether it is one of those at work.
  void add(TrackerProcess& tracker, std::function<bool()> may_call);
  void add(ExecutorProcess& executor) { executors_[executor.options().address] = &executor; }
  // Its process has died: its connections break.
  void died(const ExecutorProcess& executor);
  // Asks one job tracker after the other until one answers 200.
  void tell(ExecutorProcess& from, const jobtracker::ExecutorRequest& request,
            std::function<void(bool)> done);

 private:
  class Line;

  SteadyTime free_at(const std::string& address) const;
  Duration way() {
    return chance_.between(std::chrono::microseconds{50}, std::chrono::milliseconds{3});
  }
  void ask(ExecutorProcess& from, const jobtracker::ExecutorRequest& request,
           const std::function<void(bool)>& done, std::size_t at, std::size_t left);

  Timeline& timeline_;
  Chance& chance_;
  PushedRuns& runs_;
  std::map<std::string, ExecutorProcess*> executors_;  // by address
  std::vector<std::unique_ptr<Line>> lines_;
};

}  // namespace carillon::sim
