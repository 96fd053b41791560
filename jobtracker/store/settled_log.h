#pragma once

#include <cstdint>

#include "shared/base/clock.h"

namespace carillon::jobtracker {

// Up to which id the log of a session is complete: no later commit adds a row with an id up to
// that. Another session may read the log up to there and miss none of this session's rows.
//
// Whatever is posted belongs to the epoch of that moment. Two epochs are open: the new one, and the
// one before, which ends when all that was posted in it is stored or refused. The ids of a change
// are drawn at most kSlack before the change is posted, so they belong to its epoch or to the one
// before.
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
  // It is stored or refused, and does not come again.
  void ended(Epoch epoch) { --open_[epoch % 2]; }

  bool has_any() const { return through_ != 0; }

  // To be asked before each commit. `id_high`: the highest id given out.
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
  SteadyTime began_{};            // the newest epoch
  std::int64_t high_ = 0;         // the highest id when the newest epoch began
  std::int64_t high_before_ = 0;  // and when the one before began
  std::int64_t through_ = 0;
};

}  // namespace carillon::jobtracker
