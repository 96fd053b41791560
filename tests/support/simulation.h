#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/tracker_bundle.h"

namespace carillon::testing {

// A job tracker with workers and a client from one seed: random jobs and acts, and everything dies,
// stands still, is cut off or answers late at random. Then the faults stop, and the checks say what
// was not as promised.
//
// Thread: the test's.
class Simulation {
 public:
  Simulation(std::uint64_t seed, Duration length);

  // Empty: all promises were kept.
  std::vector<std::string> run();

  const TrackerBundle& bundle() const { return bundle_; }

 private:
  // A definition that nobody acts on, whose every fire is checked.
  struct Steady {
    std::string task_id{};
    Duration interval{};
    WallTime first{};
  };
  struct Disturbance {
    SteadyTime from{};
    SteadyTime until{};
  };

  std::uint64_t below(std::uint64_t limit) { return bundle_.random.next() % limit; }
  Duration between(Duration least, Duration most);

  void submit_steady();
  void add_worker();
  void submit_something();
  void act_on_something();
  void something_fails();
  void tracker_fails();
  void worker_fails();
  void store_fails();
  void disturbed(const FakeWorker& worker, Duration time);
  void take_answer(const wire::Message& message);
  void stop_faults();
  void drain();

  void check_no_job_lost();
  void check_no_two_runs_at_once();
  void check_every_fire();
  void check_windows();
  void check_all_ended();
  void broken(std::string what) { broken_.push_back(std::move(what)); }

  TrackerBundle bundle_;
  Duration length_;
  std::vector<Steady> steady_;
  std::vector<std::string> task_ids_;
  std::map<JobId, std::string> accepted_;  // one-shot jobs
  std::map<std::string, std::vector<Disturbance>> disturbances_;
  std::vector<std::pair<FakeWorker*, int>> threads_;
  std::set<FakeWorker*> careful_;  // that accept handlers only
  std::vector<std::string> broken_;
};

}  // namespace carillon::testing
