#pragma once

#include <cstdint>

#include "jobtracker/state/id_source.h"
#include "jobtracker/store/batch.h"

namespace carillon::jobtracker {

// Ids for occurrences that are written ahead, dealt so that those due at the same time lie beside
// each other in the store, though each definition's are written at once: they are deleted
// together, when they are due, and a page that is changed once is written once.
//
// Ids are taken as a table of kRows by kColumns. A definition gets a column, its n-th occurrence
// the n-th row's id. A table lasts for a second, because an id says when it was given.
//
// Thread: the loop.
class OccurrenceIds {
 public:
  static constexpr std::size_t kRows = 10;
  static constexpr std::int64_t kColumns = 2048;

  explicit OccurrenceIds(IdSource& ids) : ids_(ids) {}

  // The ids of a definition's next occurrences, `kRows` at most.
  class Column {
   public:
    JobId id_of(std::size_t row) const {
      return JobId{first_ + static_cast<std::int64_t>(row) * kColumns * kIdStep};
    }

   private:
    friend OccurrenceIds;
    explicit Column(std::int64_t first) : first_(first) {}
    std::int64_t first_;
  };
  Column next_column(WallTime now) {
    if (columns_left_ == 0 || now < from_ || now - from_ > kLife) {
      next_ = ids_.next_many(now, static_cast<std::int64_t>(kRows) * kColumns);
      columns_left_ = kColumns;
      from_ = now;
    }
    --columns_left_;
    const Column column(next_);
    next_ += kIdStep;
    return column;
  }

 private:
  static constexpr Duration kLife = std::chrono::seconds{1};

  IdSource& ids_;
  std::int64_t next_ = 0;
  std::int64_t columns_left_ = 0;
  WallTime from_{};
};

}  // namespace carillon::jobtracker
