#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Limits the node groups that registrations of executors from one address create: 50 an hour. Each
// group has a table of its own.
//
// Thread: the loop.
class NewGroupLimit {
 public:
  explicit NewGroupLimit(const Logger& log) : log_(log) {}

  // Counts a new group. An empty address is not limited. Error: kLimit; the first one of an hour
  // is logged.
  Status take(const std::string& address, SteadyTime now);
  Sizes sizes() const { return {{"addresses", of_.size()}}; }

 private:
  struct Made {
    std::deque<SteadyTime> at{};  // within the last hour
    bool is_said = false;
  };

  void forget_old(SteadyTime now);

  const Logger& log_;
  std::map<std::string, Made> of_{};  // by address
};

}  // namespace carillon::jobtracker
