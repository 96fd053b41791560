#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/log.h"

namespace carillon::net {

// Tells whoever operates a server that requests are refused: of the first at once, then in a line
// each ten seconds at most, which says how many there were. Whoever is refused a thousand times a
// second fills no disk.
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
