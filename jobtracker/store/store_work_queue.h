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

// A read and its number.
struct StoreQuestion {
  std::uint64_t token = 0;
  Read read{};
};
using StoreWork = std::variant<Batch, StoreQuestion>;

// The queue of a store connection. Reads that fill a preload are large and many at a session's
// start, so other reads pass them. A few are done after each batch and after some other reads, and
// all of them when nothing else waits.
//
// A passed read behaves like one that was sent later: it sees all commits whose outcomes precede
// its answer.
//
// Thread: the store connection's.
class StoreWorkQueue {
 public:
  void put(StoreWork work) {
    const auto* question = std::get_if<StoreQuestion>(&work);
    const bool fills = question != nullptr && fills_preload(question->read);
    (fills ? fills_ : others_).push_back(std::move(work));
  }

  std::optional<StoreWork> next() {
    const bool is_turn = others_.empty() || turns_ > 0;
    std::deque<StoreWork>& from = is_turn && !fills_.empty() ? fills_ : others_;
    if (from.empty()) return std::nullopt;
    StoreWork work = std::move(from.front());
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

  std::deque<StoreWork> fills_{};
  std::deque<StoreWork> others_{};
  int turns_ = 0;  // fill reads to do before others
  int reads_ = 0;  // other reads since the last batch or fill read
};

}  // namespace carillon::jobtracker
