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

// Which executors a job is called at, the best first: as its route says, but those that did not
// answer, or that nobody was at lately, last, and where an attempt failed not for the next one.
//
// Thread: the loop.
class ExecutorChoice {
 public:
  // The references must outlive it.
  ExecutorChoice(Catalog& catalog, const Executors& executors, const ExecutorHealth& health,
                 Random& random)
      : catalog_(catalog), executors_(executors), health_(health), random_(random) {}

  // What routes remembered before a restart; removes what nobody needs any more.
  void start(const std::vector<RouteRow>& rows, std::vector<Operation>& operations);

  // Those in service that a job may be called at, in the order in which they are called in turn.
  std::vector<std::string> all_for(const PushedJob& job) const;
  // In the order of its route, with what that remembers of it to be stored. Requires: one of
  // CONSISTENT_HASH and the like, which asks nobody before.
  std::vector<std::string> by_route(const PushedJob& job, const std::vector<std::string>& addresses,
                                    std::vector<Operation>& operations);
  void prefer_the_well(GroupId group, std::vector<std::string>& order) const;
  // To the one where the attempt before failed, which comes last.
  void prefer_another(JobId job, std::vector<std::string>& order);

  // Another try of the job had better be made elsewhere. Nothing says that there will be none, so
  // it is remembered for a while, from when it is due at the latest.
  void failed_at(JobId job, const std::string& address, SteadyTime due);

  // Now and then: definitions may be gone, and tries that did not come.
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
  // By task, so that what replaces a definition goes on where that stopped.
  std::map<std::pair<GroupId, std::string>, RouteMemory> memories_;
  std::map<JobId, Failed> failed_at_;
};

}  // namespace carillon::jobtracker
