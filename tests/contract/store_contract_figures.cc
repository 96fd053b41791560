#include "tests/contract/store_contract.h"

// The figures of each minute.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Duration kMinute = std::chrono::minutes{1};

FiguresRow figures(int minute, std::int32_t group, std::int32_t part = 0) {
  return {.minute = WallTime{minute * kMinute},
          .group = GroupId{group},
          .part = GroupId{part == 0 ? group : part},
          .submitted = 7,
          .started = 6,
          .ended = 5,
          .failed = 4,
          .lateness_p50_ms = 1,
          .lateness_p95_ms = 20,
          .lateness_p99_ms = 300,
          .backlog = 1'000'000,
          .workers = 2,
          .threads = 8};
}

TEST_P(StoreContract, StoresTheFiguresOfAMinuteAndReplacesThem) {
  FiguresRow row = figures(10, 3);
  committed({PutFigures{row}});
  EXPECT_THAT(ask<FiguresAnswer>(ListFigures{.limit = 10}).rows, ElementsAre(row));
  row.ended = 50;
  committed({PutFigures{figures(10, 3)}, PutFigures{row}});
  EXPECT_THAT(ask<FiguresAnswer>(ListFigures{.limit = 10}).rows, ElementsAre(row));
}

TEST_P(StoreContract, FindsFiguresByGroupAndTimeInPages) {
  committed({PutFigures{figures(12, 1)}, PutFigures{figures(10, 2, 7)}, PutFigures{figures(10, 2)},
             PutFigures{figures(10, 1)}, PutFigures{figures(11, 2)}});
  const auto found = [&](const ListFigures& question) { return ask<FiguresAnswer>(question).rows; };
  EXPECT_THAT(found({.limit = 10}), ElementsAre(figures(10, 1), figures(10, 2), figures(10, 2, 7),
                                                figures(11, 2), figures(12, 1)));
  EXPECT_THAT(found({.group = GroupId{2}, .limit = 10}),
              ElementsAre(figures(10, 2), figures(10, 2, 7), figures(11, 2)));
  EXPECT_THAT(found({.since = WallTime{11 * kMinute}, .limit = 10}),
              ElementsAre(figures(11, 2), figures(12, 1)));
  EXPECT_THAT(found({.until = WallTime{11 * kMinute}, .limit = 2}),
              ElementsAre(figures(10, 1), figures(10, 2)));
  EXPECT_THAT(found({.after = figures_key(figures(10, 2)), .limit = 2}),
              ElementsAre(figures(10, 2, 7), figures(11, 2)));
  EXPECT_THAT(found({.after = figures_key(figures(12, 1)), .limit = 2}), IsEmpty());
}

TEST_P(StoreContract, PurgesOldFiguresInWholeMinutes) {
  committed({PutFigures{figures(10, 1)}, PutFigures{figures(10, 2)}, PutFigures{figures(11, 1)},
             PutFigures{figures(12, 1)}});
  const auto purged = [&](int minute) {
    return committed({Purge{.figures_before = WallTime{minute * kMinute}, .limit = 1}})
        .outcomes.front()
        .count;
  };
  EXPECT_EQ(purged(10), 0);
  EXPECT_EQ(purged(12), 2);
  EXPECT_EQ(purged(12), 1);
  EXPECT_EQ(purged(12), 0);
  EXPECT_THAT(ask<FiguresAnswer>(ListFigures{.limit = 10}).rows, ElementsAre(figures(12, 1)));
}

}  // namespace
}  // namespace carillon::jobtracker
