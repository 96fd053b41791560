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
  static RouteMemory from_text(
      std::string_view text);   // text from to_text(); invalid text gives an empty memory
  std::string to_text() const;  // empty: no memory

  bool operator==(const RouteMemory&) const = default;

 private:
  friend class Routing;

  struct Use {
    std::int64_t count = 0;
    std::int64_t last = 0;  // smaller: longer ago
    bool operator==(const Use&) const = default;
  };

  std::int64_t turn_ = -1;  // for ROUND; -1: none yet
  std::map<std::string, Use> uses_{};
};

// The order in which to try a job's executors: the route's choice first, then its substitutes after
// a rejection. `job`: hash key of CONSISTENT_HASH; for a job of xxl-job, its number. Requires:
// `addresses` is not empty. FAILOVER and BUSYOVER ask in this order; SHARDING_BROADCAST calls all,
// with the shards in this order.
std::vector<std::string> route(Route route, std::string_view job,
                               const std::vector<std::string>& addresses, RouteMemory& memory,
                               Random& random);

// Position on the ring of CONSISTENT_HASH: the first four bytes of the MD5, little-endian, like
// xxl-job.
std::uint32_t ring_hash(std::string_view key);

}  // namespace carillon::jobtracker
