#include "tests/bench/cluster.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <stdlib.h>
#include <unistd.h>

namespace carillon::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds{30};

// The word after "NAME=" in a ready line.
Result<std::string> word_of(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(" " + name + "=");
  if (at == std::string::npos) {
    return Error{ErrorCode::kCorrupt, "no " + name + "= in the ready line '" + line + "'"};
  }
  const std::size_t begin = at + name.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

std::string by_comma(const std::vector<std::string>& endpoints) {
  std::string all;
  for (const std::string& endpoint : endpoints) all += (all.empty() ? "" : ",") + endpoint;
  return all;
}

}  // namespace

Cluster::Cluster(ClusterOptions options, const Environment& environment)
    : options_(std::move(options)) {
  // No setting of whoever runs this may change what is measured.
  for (const auto& [name, value] : environment.all()) {
    if (name.rfind("CARILLON_", 0) != 0) variables_.emplace(name, value);
  }
  variables_["XDG_RUNTIME_DIR"] = options_.folder;
  variables_["XDG_STATE_HOME"] = options_.folder;
  ::setenv("XDG_RUNTIME_DIR", options_.folder.c_str(), 1);
  ::setenv("XDG_STATE_HOME", options_.folder.c_str(), 1);
}

Result<std::unique_ptr<ChildProcess>> Cluster::launch(const std::string& program,
                                                      std::vector<std::string> arguments) const {
  const std::string path = options_.bin + "/" + program;
  if (::access(path.c_str(), X_OK) != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 path + " cannot be run: " + std::strerror(errno) +
                     " (build it, or name the folder of the programs with --bin)"};
  }
  return ChildProcess::start({.program = path,
                              .arguments = std::move(arguments),
                              .environment = variables_,
                              .log = options_.folder + "/" + program + ".log"});
}

Status Cluster::start_tracker(const std::vector<std::string>& more_flags) {
  const std::string ready = CARILLON_TRY(launch_tracker(tracker_, endpoint_, more_flags));
  endpoint_ = CARILLON_TRY(word_of(ready, "listen"));
  http_url_ = CARILLON_TRY(word_of(ready, "http"));
  if (auto xxl = word_of(ready, "xxl"); xxl.ok()) xxl_url_ = std::move(xxl).value();
  return {};
}

Status Cluster::add_tracker() {
  const std::string name = "tracker-" + std::to_string(trackers());
  Other& other = others_.emplace_back();
  const std::string ready =
      CARILLON_TRY(launch_tracker(other.process, "tcp://127.0.0.1:0",
                                  {"--name", name, "--data", options_.folder + "/" + name}));
  other.endpoint = CARILLON_TRY(word_of(ready, "listen"));
  return {};
}

Result<std::string> Cluster::launch_tracker(std::unique_ptr<ChildProcess>& process,
                                            const std::string& listen,
                                            const std::vector<std::string>& more_flags) const {
  std::vector<std::string> flags{"--store", options_.store, "--listen",
                                 listen,    "--http",       "127.0.0.1:0"};
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  flags.insert(flags.end(), options_.tracker_flags.begin(), options_.tracker_flags.end());
  process = CARILLON_TRY(launch("jobtracker", std::move(flags)));
  return process->read_line(kPatience);
}

std::vector<std::string> Cluster::endpoints() const {
  std::vector<std::string> all{endpoint_};
  for (const Other& other : others_) all.push_back(other.endpoint);
  return all;
}

void Cluster::kill_tracker() {
  killed_trackers_ = tracker_usage();
  tracker_.reset();
}

Status Cluster::start_workers(int count, int threads, const std::vector<std::string>& groups) {
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> flags{"--tracker", by_comma(endpoints()),
                                   "--group",   groups[static_cast<std::size_t>(i) % groups.size()],
                                   "--threads", std::to_string(threads),
                                   "--name",    "bench-" + std::to_string(++workers_started_)};
    workers_.push_back(CARILLON_TRY(launch("tasktracker", std::move(flags))));
  }
  return {};
}

Status Cluster::await_workers() {
  for (; awaited_ < workers_.size(); ++awaited_) {
    CARILLON_TRY(workers_[awaited_]->read_line(kPatience));
  }
  return {};
}

Result<std::unique_ptr<JobClient>> Cluster::client() const {
  return JobClient::open({.trackers = endpoints()});
}

Result<std::unique_ptr<JobClient>> Cluster::client_of(std::size_t tracker) const {
  return JobClient::open({.trackers = {endpoints().at(tracker)}});
}

Status Cluster::stop_workers() {
  for (const auto& worker : workers_) CARILLON_TRY(worker->stop());
  workers_.clear();
  awaited_ = 0;
  return {};
}

void Cluster::kill_oldest_worker() {
  killed_workers_ = killed_workers_ + workers_.front()->usage();
  workers_.erase(workers_.begin());
  --awaited_;
}

Status Cluster::stop() {
  CARILLON_TRY(stop_workers());
  for (const Other& other : others_) CARILLON_TRY(other.process->stop());
  others_.clear();
  return tracker_ ? tracker_->stop() : Status{};
}

std::vector<const ChildProcess*> Cluster::tracker_processes() const {
  std::vector<const ChildProcess*> all;
  if (tracker_) all.push_back(tracker_.get());
  for (const Other& other : others_) all.push_back(other.process.get());
  return all;
}

std::vector<const ChildProcess*> Cluster::worker_processes() const {
  std::vector<const ChildProcess*> all;
  for (const auto& worker : workers_) all.push_back(worker.get());
  return all;
}

Usage Cluster::tracker_usage() const {
  Usage all = tracker_ ? killed_trackers_ + tracker_->usage() : killed_trackers_;
  for (const Other& other : others_) all = all + other.process->usage();
  return all;
}

Usage Cluster::worker_usage() const {
  Usage all = killed_workers_;
  for (const auto& worker : workers_) all = all + worker->usage();
  return all;
}

}  // namespace carillon::bench
