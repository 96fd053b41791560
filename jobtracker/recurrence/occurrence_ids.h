#pragma once

#include <cstdint>

#include "jobtracker/state/id_source.h"
#include "jobtracker/store/batch.h"

namespace carillon::jobtracker {

// Assigns ids to occurrences that are written ahead. Occurrences with the same due time get
// neighbouring ids, although each definition's are written together. They are deleted together when
// they are due, so the store writes each changed page once.
//
// The ids form a table of kRows by kColumns. A definition gets a column; its n-th occurrence gets
// the id in the n-th row. A table is used for one second, because an id contains its time.
//
// Thread: the loop.
class OccurrenceIds {
 public:
  static constexpr std::size_t kRows = 10;
  static constexpr std::int64_t kColumns = 2048;

  explicit OccurrenceIds(IdSource& ids) : ids_(ids) {}

  // The ids of a definition's next occurrences, at most `kRows`.
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
