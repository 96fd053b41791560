#pragma once

#include "carillon/time.h"

namespace carillon::jobtracker {

// Learns the registration period of an executor, and detects a registration out of rhythm: a sign
// of a new process at the same address. A missed registration is not such a sign.
class Rhythm {
 public:
  Rhythm() = default;
  explicit Rhythm(WallTime last) : last_(last) {}

  // A registration at this time. Returns true if it is much too early: the process may not know the
  // runs of its predecessor.
  bool is_broken_by(WallTime at);

 private:
  WallTime last_{};
  Duration gap_{};     // before last_
  Duration period_{};  // 0: unknown
};

}  // namespace carillon::jobtracker
