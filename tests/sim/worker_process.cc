#include "tests/sim/worker_process.h"

#include <utility>

namespace carillon::sim {

void WorkerProcess::start(SessionId session) {
  begin_life();
  session_ = session;
  has_stopped_ = false;
  tasktracker::WorkerConfig config;
  config.fetcher = {.session = session,
                    .name = options_.name,
                    .group = options_.group,
                    .threads = options_.threads,
                    .prefetch_max = options_.prefetch_max,
                    .prefetch_work = options_.prefetch_work};
  config.fetcher.allow = {"handler"};
  if (!options_.handlers_only)
    config.fetcher.allow.insert(config.fetcher.allow.end(), {"command", "shell", "script", "http"});
  std::vector<tasktracker::TrackerAddress> addresses;
  for (const std::string& endpoint : options_.trackers) {
    addresses.push_back({.endpoint = endpoint, .transport = network_.connect(*this, endpoint)});
  }
  if (disk_) disk_->begin_life();
  runs_ = std::make_unique<TimedRuns>(*this, options_.threads, options_.handlers_only, watch);
  worker_ = std::make_unique<tasktracker::Worker>(
      config, *runs_, *this, *this, std::move(addresses),
      tasktracker::ReportOutbox(disk_.get(), disk_ ? disk_->last_id() : 0),
      tasktracker::Worker::Callbacks{.on_stopped = [this] { has_stopped_ = true; },
                                     .wake = [this] { post([] {}); }});
  post([] {});
}

void WorkerProcess::end_turn() {
  worker_->end_turn();
  if (!has_stopped_) return;
  if (worker_->has_left()) on_left(session_);
  kill();
}

void WorkerProcess::kill() {
  if (!is_alive()) return;
  end_life();
  if (disk_) disk_->end_life();
  worker_.reset();
  runs_.reset();
}

void WorkerProcess::leave(Duration drain) {
  if (is_alive()) worker_->request_stop(drain);
}

}  // namespace carillon::sim
