#pragma once

#include <memory>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "carillon/result.h"
#include "shared/base/environment.h"
#include "tests/bench/child_process.h"

namespace carillon::bench {

struct ClusterOptions {
  std::string bin{};                         // the folder of jobtracker and tasktracker
  std::string store{};                       // the job tracker's --store
  std::string folder{};                      // for tokens and logs; must exist and be private
  std::vector<std::string> tracker_flags{};  // more flags for the job tracker
};

// A job tracker on a free port of 127.0.0.1, more of them beside it, and any number of task
// trackers, as processes of their own with our defaults: what is measured is what a user gets. All
// are killed with it.
//
// Thread: the one that started it; clients may be used anywhere.
class Cluster {
 public:
  // Clients of this process look for the job trackers' tokens in its folder from then on.
  Cluster(ClusterOptions options, const Environment& environment);

  // Returns when the job tracker is ready. After kill_tracker() it gets the same port again.
  Status start_tracker(const std::vector<std::string>& more_flags = {});
  void kill_tracker();  // SIGKILL
  // Another one on the same store, which has to be MariaDB. Task trackers and clients that begin
  // later know of it.
  Status add_tracker();

  // Task trackers, one more of each group in turn. start_workers() returns as soon as the processes
  // run; await_workers() when each has registered.
  Status start_workers(int count, int threads, const std::vector<std::string>& groups);
  Status await_workers();
  Status stop_workers();  // SIGTERM
  // SIGKILL. Requires: it was awaited.
  void kill_oldest_worker();

  Result<std::unique_ptr<JobClient>> client() const;
  // That knows of one only; its stats are that one's. 0: the first.
  Result<std::unique_ptr<JobClient>> client_of(std::size_t tracker) const;
  std::size_t trackers() const { return 1 + others_.size(); }
  const std::string& endpoint() const { return endpoint_; }
  // Where executors of xxl-job register, if it was started with --xxl-listen; else empty.
  const std::string& xxl_url() const { return xxl_url_; }
  // Of the HTTP API of the first job tracker: "http://127.0.0.1:8080".
  const std::string& http_url() const { return http_url_; }
  const std::string& folder() const { return options_.folder; }

  // SIGTERM to all that run, workers first. An unclean end of one is an error.
  Status stop();

  // With those that were killed.
  Usage tracker_usage() const;
  Usage worker_usage() const;
  // Those that run, in the order of their start.
  std::vector<const ChildProcess*> tracker_processes() const;
  std::vector<const ChildProcess*> worker_processes() const;

 private:
  struct Other {
    std::unique_ptr<ChildProcess> process{};
    std::string endpoint{};
  };

  Result<std::unique_ptr<ChildProcess>> launch(const std::string& program,
                                               std::vector<std::string> arguments) const;
  // Gives its ready line.
  Result<std::string> launch_tracker(std::unique_ptr<ChildProcess>& process,
                                     const std::string& listen,
                                     const std::vector<std::string>& more_flags) const;
  std::vector<std::string> endpoints() const;

  const ClusterOptions options_;
  std::map<std::string, std::string> variables_;
  std::string endpoint_{"tcp://127.0.0.1:0"};
  std::string http_url_{};
  std::string xxl_url_{};
  int workers_started_ = 0;
  std::unique_ptr<ChildProcess> tracker_{};
  std::vector<Other> others_{};
  std::vector<std::unique_ptr<ChildProcess>> workers_{};
  std::size_t awaited_ = 0;  // of workers_, from the front
  Usage killed_trackers_{};
  Usage killed_workers_{};
};

}  // namespace carillon::bench
