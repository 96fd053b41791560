#include "jobclient/cli/table.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "jobclient/cli/text_width.h"

namespace carillon::cli {
namespace {

std::vector<TableColumn> columns() {
  return {{.header = "TASK"},
          {.header = "ATTEMPT", .is_number = true},
          {.header = "STATE", .may_be_cut = false, .is_state = true},
          {.header = "MESSAGE"}};
}

std::string printed(std::size_t width, const std::vector<std::vector<std::string>>& rows,
                    bool colours = false) {
  std::ostringstream out;
  Table table(out, columns(), width, colours);
  for (const auto& row : rows) table.add(row);
  table.finish();
  return out.str();
}

const std::vector<std::vector<std::string>> kRows{
    {"nightly-backup-of-everything", "1", "succeeded", ""},
    {"mail", "12", "timed_out", "it took longer than the five minutes that it was given"}};

TEST(Table, AlignsTextLeftAndNumbersRight) {
  EXPECT_EQ(printed(0, {{"mail", "1", "failed", "no"}, {"news", "12", "later", "busy"}}),
            "TASK  ATTEMPT  STATE   MESSAGE\n"
            "mail        1  failed  no\n"
            "news       12  later   busy\n");
}

TEST(Table, UsesItsFullWidthWithoutALimit) {
  EXPECT_EQ(
      printed(0, kRows),
      "TASK                          ATTEMPT  STATE      MESSAGE\n"
      "nightly-backup-of-everything        1  succeeded\n"
      "mail                               12  timed_out  it took longer than the five minutes "
      "that it was given\n");
}

TEST(Table, TruncatesTheWidestColumnsToFit) {
  EXPECT_EQ(printed(80, kRows),
            "TASK                          ATTEMPT  STATE      MESSAGE\n"
            "nightly-backup-of-everything        1  succeeded\n"
            "mail                               12  timed_out  it took longer than the five …\n");
  EXPECT_EQ(printed(50, kRows),
            "TASK            ATTEMPT  STATE      MESSAGE\n"
            "nightly-backu…        1  succeeded\n"
            "mail                 12  timed_out  it took longe…\n");
}

TEST(Table, TruncatesKeyColumnsLast) {
  const auto task_of = [](std::size_t width, std::vector<TableColumn> made) {
    made[0].is_key = true;
    std::ostringstream out;
    Table table(out, std::move(made), width, false);
    for (const auto& row : kRows) table.add(row);
    table.finish();
    std::istringstream lines(out.str());
    std::string line;
    for (int i = 0; i < 2; ++i) std::getline(lines, line);
    return line.substr(0, line.find("  "));
  };
  EXPECT_EQ(task_of(80, columns()), "nightly-backup-of-everything");
  EXPECT_EQ(task_of(60, columns()), "nightly-backup-of-everything");
  EXPECT_EQ(task_of(46, columns()), "nightly-backup-of-everyth…")
      << "the message goes below its row first";
}

class TableOfWidth : public ::testing::TestWithParam<std::size_t> {};

TEST_P(TableOfWidth, KeepsEveryLineWithinTheWidth) {
  std::istringstream lines(printed(GetParam(), kRows));
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(width_of(line), GetParam()) << line;
}
INSTANTIATE_TEST_SUITE_P(Widths, TableOfWidth,
                         ::testing::Values(20, 25, 33, 40, 41, 60, 79, 80, 120, 200));

TEST(Table, PutsTheLastColumnsBelowTheirRowWhenThereIsNoRoomForThem) {
  EXPECT_EQ(printed(30, kRows),
            "TASK        ATTEMPT  STATE\n"
            "nightly-b…        1  succeeded\n"
            "mail             12  timed_out\n"
            "    MESSAGE: it took longer t…\n");
  EXPECT_EQ(printed(20, kRows),
            "TASK         ATTEMPT\n"
            "nightly-ba…        1\n"
            "    STATE: succeeded\n"
            "mail              12\n"
            "    STATE: timed_out\n"
            "    MESSAGE: it too…\n");
}

TEST(Table, NarrowsItsGapsBeforeAColumnGoesBelow) {
  EXPECT_EQ(printed(32, {{"mail", "12", "timed_out", "it took too long"}}),
            "TASK ATTEMPT STATE     MESSAGE\n"
            "mail      12 timed_out it took …\n");
}

TEST(Table, PrintsNothingWithoutRows) { EXPECT_EQ(printed(80, {}), ""); }

TEST(Table, PutsMultilineCellsOnOneLine) {
  EXPECT_EQ(printed(0, {{"a", "1", "failed", "first\nsecond"}}),
            "TASK  ATTEMPT  STATE   MESSAGE\n"
            "a           1  failed  first second\n");
}

TEST(Table, ColoursStatesAndTheHeaderOnRequest) {
  const std::string text = printed(0, {{"a", "1", "failed", "x"}}, true);
  EXPECT_NE(text.find("\x1b[31mfailed\x1b[0m"), std::string::npos);
  EXPECT_NE(text.find("\x1b[1mTASK\x1b[0m"), std::string::npos);
}

TEST(Table, KeepsTheWidthsOfTheFirstRows) {
  std::ostringstream out;
  Table table(out, {{.header = "A"}, {.header = "B"}}, 30, false);
  for (std::size_t i = 0; i < Table::kSampleRows; ++i) table.add({"short", "b"});
  const std::string sample = out.str();
  EXPECT_EQ(std::count(sample.begin(), sample.end(), '\n'),
            static_cast<std::ptrdiff_t>(Table::kSampleRows + 1));
  table.add({"much longer than the sample", "b"});
  EXPECT_EQ(out.str().substr(sample.size()), "much…  b\n");
}

}  // namespace
}  // namespace carillon::cli
