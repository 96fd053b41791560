#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/log.h"

namespace carillon::net {

// Logs rejected requests for the operator: the first immediately, then at most one line in ten
// seconds with their number, so that a flood of rejections does not fill the disk.
//
// Thread: one.
class RefusalLog {
 public:
  // `clock` must outlive it.
  RefusalLog(Logger log, const Clock& clock);

  void add(const std::string& peer, std::string_view reason);

 private:
  const Logger log_;
  const Clock& clock_;
  SteadyTime quiet_until_{};
  std::int64_t unsaid_ = 0;
};

}  // namespace carillon::net
