#pragma once

#include <cstdint>

#include "shared/base/clock.h"

namespace carillon::jobtracker {

// The id up to which the log of a session is complete: no later commit adds a row with an id up to
// it. Another session may read the log up to there without missing a row of this session.
//
// Each posted change belongs to the current epoch. Two epochs are open: the new one, and the
// previous one, which ends when all its changes are stored or rejected. The ids of a change are
// drawn at most kSlack before it is posted, so they belong to its epoch or to the previous one.
//
// Thread: the batcher's.
class SettledLog {
 public:
  using Epoch = std::uint64_t;
  static constexpr Duration kSlack = std::chrono::seconds{1};

  // A change is posted.
  Epoch posted() {
    ++open_[newest_ % 2];
    return newest_;
  }
  // It is stored or rejected, and is not posted again.
  void ended(Epoch epoch) { --open_[epoch % 2]; }

  bool has_any() const { return through_ != 0; }

  // Call before each commit. `id_high`: the highest assigned id.
  std::int64_t through(std::int64_t id_high, SteadyTime now) {
    if (began_ == SteadyTime{}) began_ = now;
    if (now >= began_ + kSlack && open_[(newest_ + 1) % 2] == 0) {
      through_ = high_before_;
      high_before_ = high_;
      high_ = id_high;
      ++newest_;
      began_ = now;
    }
    return through_;
  }

 private:
  Epoch newest_ = 1;
  std::uint64_t open_[2] = {};    // changes of the two epochs
  SteadyTime began_{};            // start of the newest epoch
  std::int64_t high_ = 0;         // the highest id at the start of the newest epoch
  std::int64_t high_before_ = 0;  // and of the previous one
  std::int64_t through_ = 0;
};

}  // namespace carillon::jobtracker
