#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <variant>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/reads.h"

namespace carillon::jobtracker {

// A read, and by which number its answer goes.
struct LaneQuestion {
  std::uint64_t token = 0;
  Read read{};
};
using LaneWork = std::variant<Batch, LaneQuestion>;

// What a lane was asked and has not begun, in order; but reads that fill a preload, many rows each,
// and many of them when a session begins, let all others go first. Some have their turn after each
// batch, one after some other reads, and all when nothing else waits.
//
// To who asked it, a read that was overtaken is one that was asked a little later: it sees all that
// was committed in the batches whose outcomes come before its answer.
//
// Thread: the lane's.
class LaneLine {
 public:
  void put(LaneWork work) {
    const auto* question = std::get_if<LaneQuestion>(&work);
    const bool fills = question != nullptr && fills_preload(question->read);
    (fills ? fills_ : others_).push_back(std::move(work));
  }

  std::optional<LaneWork> next() {
    const bool is_turn = others_.empty() || turns_ > 0;
    std::deque<LaneWork>& from = is_turn && !fills_.empty() ? fills_ : others_;
    if (from.empty()) return std::nullopt;
    LaneWork work = std::move(from.front());
    from.pop_front();
    if (&from == &fills_) {
      turns_ = std::max(turns_ - 1, 0);
      reads_ = 0;
    } else if (std::holds_alternative<Batch>(work)) {
      turns_ = kAfterBatch;
      reads_ = 0;
    } else if (++reads_ >= kReadsBefore) {
      turns_ = std::max(turns_, 1);
    }
    return work;
  }

 private:
  static constexpr int kAfterBatch = 4;
  static constexpr int kReadsBefore = 16;

  static bool fills_preload(const Read& read) {
    return std::holds_alternative<ReadDue>(read) || std::holds_alternative<ReadUpcoming>(read);
  }

  std::deque<LaneWork> fills_{};
  std::deque<LaneWork> others_{};
  int turns_ = 0;  // of those that fill, before others
  int reads_ = 0;  // others, since a batch or one that fills
};

}  // namespace carillon::jobtracker
