#include "jobtracker/recurrence/occurrence_ids.h"

#include <set>

#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;

constexpr WallTime kNow = std::chrono::sys_days{std::chrono::year{2026} / 11 / 23};

TEST(OccurrenceIds, OfTheSameTimeAreAdjacent) {
  IdSource ids(0, 5);
  OccurrenceIds occurrence_ids(ids);
  const auto one = occurrence_ids.next_column(kNow);
  const auto other = occurrence_ids.next_column(kNow + milliseconds{900});
  for (std::size_t row = 0; row < OccurrenceIds::kRows; ++row) {
    EXPECT_EQ(other.id_of(row).value, one.id_of(row).value + kIdStep);
  }
  EXPECT_GT(one.id_of(1), other.id_of(0));
}

TEST(OccurrenceIds, AreUnique) {
  IdSource ids(0, 5);
  OccurrenceIds occurrence_ids(ids);
  std::set<std::int64_t> given;
  std::size_t count = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto column = occurrence_ids.next_column(kNow + milliseconds{i});
    for (std::size_t row = 0; row < OccurrenceIds::kRows; ++row, ++count) {
      given.insert(column.id_of(row).value);
    }
    given.insert(ids.next(kNow + milliseconds{i}));
    ++count;
  }
  EXPECT_EQ(given.size(), count);
  EXPECT_EQ(*given.rbegin() % kIdStep, 5);
  EXPECT_LE(*given.rbegin(), ids.high());
}

TEST(OccurrenceIds, EncodeWhenTheyWereAssigned) {
  IdSource ids(0, 5);
  OccurrenceIds occurrence_ids(ids);
  occurrence_ids.next_column(kNow);
  const WallTime later = kNow + milliseconds{1500};
  EXPECT_GE(occurrence_ids.next_column(later).id_of(0).value, IdSource::first_of(later));
}

}  // namespace
}  // namespace carillon::jobtracker
