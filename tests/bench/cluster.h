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

// A job tracker on a free port of 127.0.0.1 and any number of task trackers, as processes of their
// own with our defaults: what is measured is what a user gets.
//
// Thread: the one that started it; clients may be used anywhere.
class Cluster {
 public:
  static Result<std::unique_ptr<Cluster>> start(const ClusterOptions& options,
                                                const Environment& environment);

  // Task trackers of one group. start_workers() returns as soon as the processes run;
  // await_workers() when each has registered.
  Status start_workers(int count, int threads, const std::string& group);
  Status await_workers();

  Result<std::unique_ptr<JobClient>> client() const;
  const std::string& endpoint() const { return endpoint_; }
  std::string token_file() const;
  const std::string& folder() const { return options_.folder; }

  // SIGTERM to all, workers first. An unclean end of one is an error.
  Status stop();

  Usage tracker_usage() const { return tracker_->usage(); }
  Usage worker_usage() const;  // of all together; the memory of the largest

 private:
  Cluster(ClusterOptions options, const Environment& environment);
  Result<std::unique_ptr<ChildProcess>> launch(const std::string& program,
                                               std::vector<std::string> arguments) const;

  const ClusterOptions options_;
  std::map<std::string, std::string> variables_;
  std::string endpoint_{};
  std::unique_ptr<ChildProcess> tracker_{};
  std::vector<std::unique_ptr<ChildProcess>> workers_{};
};

}  // namespace carillon::bench
