#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_spec.h"
#include "shared/base/random.h"

namespace carillon::jobtracker {

// What the routes that spread load remember of one job. Kept with the job, so that a restart, or
// another job tracker, goes on where the last one stopped.
class RouteMemory {
 public:
  static RouteMemory from_text(std::string_view text);  // of to_text(); of anything else: empty
  std::string to_text() const;                          // empty: nothing is remembered

  bool operator==(const RouteMemory&) const = default;

 private:
  friend class Routing;

  struct Use {
    std::int64_t count = 0;
    std::int64_t last = 0;  // smaller: longer ago
    bool operator==(const Use&) const = default;
  };

  std::int64_t turn_ = -1;  // ROUND; -1: none yet
  std::map<std::string, Use> uses_{};
};

// The order in which a job's executors are to be tried: the one that its route chooses first, then
// those that take its place if it refuses. `job` is what CONSISTENT_HASH goes by: of one that
// xxl-job knows, its number. `addresses` are not empty. FAILOVER and BUSYOVER ask in that order;
// SHARDING_BROADCAST calls all, the shards in that order.
std::vector<std::string> route(Route route, std::string_view job,
                               const std::vector<std::string>& addresses, RouteMemory& memory,
                               Random& random);

// The place on the ring of CONSISTENT_HASH: the first four bytes of the MD5, the lowest first.
std::uint32_t ring_hash(std::string_view key);

}  // namespace carillon::jobtracker
