#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/push/pushed_job.h"
#include "jobtracker/push/routes.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executor_health.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/store/batch.h"
#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Chooses the executors for a job, best first. The order comes from its route. Executors that did
// not answer, or whose port was closed lately, come last, as does the one where the previous
// attempt failed.
//
// Thread: the loop.
class ExecutorChoice {
 public:
  // The references must outlive this object.
  ExecutorChoice(Catalog& catalog, const Executors& executors, const ExecutorHealth& health,
                 Random& random)
      : catalog_(catalog), executors_(executors), health_(health), random_(random) {}

  // Restores the memories of routes after a restart and removes unused ones.
  void start(const std::vector<RouteRow>& rows, std::vector<Operation>& operations);

  // The executors in service for a job, in calling order.
  std::vector<std::string> all_for(const PushedJob& job) const;
  // The order by the job's route, and the route's new memory, to be stored. Requires: a route that
  // asks no executor first, such as CONSISTENT_HASH.
  std::vector<std::string> by_route(const PushedJob& job, const std::vector<std::string>& addresses,
                                    std::vector<Operation>& operations);
  void prefer_the_well(GroupId group, std::vector<std::string>& order) const;
  // Moves the executor where the previous attempt failed to the end.
  void prefer_another(JobId job, std::vector<std::string>& order);

  // Another try of the job should use another executor. The entry expires some time after `due`,
  // because the try may never happen.
  void failed_at(JobId job, const std::string& address, SteadyTime due);

  // Removes entries of removed definitions and of tries that did not happen. Call it regularly.
  void tidy(SteadyTime now);
  Sizes sizes() const { return {{"memories", memories_.size()}, {"failed_at", failed_at_.size()}}; }

 private:
  struct Failed {
    std::string address{};
    SteadyTime until{};
  };

  Catalog& catalog_;
  const Executors& executors_;
  const ExecutorHealth& health_;
  Random& random_;
  // By task, so that a replacing definition continues with the memory.
  std::map<std::pair<GroupId, std::string>, RouteMemory> memories_;
  std::map<JobId, Failed> failed_at_;
};

}  // namespace carillon::jobtracker
