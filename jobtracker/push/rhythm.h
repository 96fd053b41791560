#pragma once

#include "carillon/time.h"

namespace carillon::jobtracker {

// When an executor registers, and whether that is out of its rhythm, as that of a process which was
// started at the address of another one. A registration that is missed is no sign of that.
class Rhythm {
 public:
  Rhythm() = default;
  explicit Rhythm(WallTime last) : last_(last) {}

  // It has registered at that time. True: much too early, so whoever did may know nothing of what
  // ran there before.
  bool is_broken_by(WallTime at);

 private:
  WallTime last_{};
  Duration gap_{};     // before last_
  Duration period_{};  // 0: not known
};

}  // namespace carillon::jobtracker
