#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tasktracker/worker.h"
#include "tests/sim/disk.h"
#include "tests/sim/network.h"
#include "tests/sim/timed_runs.h"

namespace carillon::sim {

struct WorkerOptions {
  std::string name{};
  std::string group = "default";
  int threads = 1;
  int prefetch_max = 0;
  Duration prefetch_work = std::chrono::milliseconds{10};
  bool handlers_only = false;
  std::vector<std::string> trackers{};
};

// A task tracker: all of it but its transport and its threads.
//
// Thread: the simulation's.
class WorkerProcess final : public Process {
 public:
  WorkerProcess(Timeline& timeline, Network& network, WorkerOptions options)
      : Process(timeline, options.name), network_(network), options_(std::move(options)) {}
  // What it reports is kept there while nobody confirms it. Before its first life.
  Disk& add_disk(Chance& chance) { return *(disk_ = std::make_unique<Disk>(*this, chance)); }
  ~WorkerProcess() override { kill(); }

  // Each life has a session of its own.
  void start(SessionId session);
  // kill -9.
  void kill();
  // SIGTERM: it ends what runs, within that time, and stops.
  void leave(Duration drain);

  const WorkerOptions& options() const { return options_; }
  SessionId session() const { return session_; }
  bool was_free_since(SteadyTime when) const { return runs_ && runs_->was_free_since(when); }
  Sizes sizes() const { return worker_ == nullptr ? Sizes{} : worker_->sizes(); }
  std::size_t unfinished() const { return runs_ == nullptr ? 0 : runs_->unfinished(); }
  std::vector<wire::AttemptId> unfinished_ids() const {
    return runs_ == nullptr ? std::vector<wire::AttemptId>{} : runs_->unfinished_ids();
  }
  const Disk* disk() const { return disk_.get(); }

  TimedRuns::Watch watch;
  std::function<void(SessionId)> on_left;  // in good order, and all who may hold jobs for it know

 private:
  void end_turn() override;

  Network& network_;
  const WorkerOptions options_;
  SessionId session_{};
  bool has_stopped_ = false;
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<TimedRuns> runs_;
  std::unique_ptr<tasktracker::Worker> worker_;
};

}  // namespace carillon::sim
