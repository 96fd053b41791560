#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/cluster.h"
#include "tests/sim/statistics.h"

namespace carillon::sim {

// What users do: jobs of every kind, and acts on them.
//
// Thread: the simulation's.
class Workload {
 public:
  Workload(Cluster& cluster, Statistics& statistics, Broken broken)
      : cluster_(cluster), statistics_(statistics), broken_(std::move(broken)) {
    for (const auto& client : cluster_.clients) {
      client->on_delivered = [this](const SubmitAnswer& answer) { take_delivered(answer); };
    }
  }

  // Schedules that nobody ever acts on, in every way to overlap and with every policy.
  void submit_steady();
  void submit_something();
  // Many short runs; behind one that kills its task tracker.
  void submit_burst(bool with_poison);
  void act_on_something();
  void push_something();
  void act_on_something_pushed();
  // So that it ends: everything there is.
  void cancel_everything();

  static RunPlan plan(Chance& chance, const JobSpec& spec);

 private:
  JobSpec something();
  std::string any_group();
  void choose_schedule(JobSpec& job);
  void choose_rules(JobSpec& job);
  void choose_children(JobSpec& job);
  void submit(std::vector<JobSpec> jobs);
  void take_answer(const SubmitAnswer& answer, const std::string& kind);
  void take_delivered(const SubmitAnswer& answer);
  void take_refusal(const Error& error);
  void act(wire::Act act);
  ClientProcess& client();

  Cluster& cluster_;
  Statistics& statistics_;
  Broken broken_;
  int last_ = 0;
  int submissions_ = 0;
  // Requests of each task: so many were made, and so many are under way, or nobody knows.
  struct Asked {
    int made = 0;
    int open = 0;
    int stored = 0;  // of those: on a disk
  };
  std::map<std::pair<std::string, std::string>, Asked> asked_;
};

}  // namespace carillon::sim
