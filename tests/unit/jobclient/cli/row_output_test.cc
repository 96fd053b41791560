#include "jobclient/cli/row_output.h"

#include <sstream>

#include <gtest/gtest.h>

namespace carillon::cli {
namespace {

const WallTime kShown =
    std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} + std::chrono::hours{8};

RowStyle style(Format format) {
  return {.format = format, .zone = Zone::load("Europe/Berlin").value(), .now = kShown};
}

std::string printed(Format format, const std::vector<Row>& rows) {
  std::ostringstream out;
  RowOutput output(out, style(format),
                   {{"task_id"},
                    {"priority", ColumnKind::kNumber},
                    {"trigger_time", ColumnKind::kTime},
                    {"overlap", ColumnKind::kText, true}});
  for (const Row& row : rows) output.add(row);
  output.finish();
  return out.str();
}

const Row kRow{{"job_id", std::string{"9007199254740993"}},
               {"task_id", std::string{"say \"hi\""}},
               {"priority", std::int64_t{100}},
               {"trigger_time", std::string{"2026-11-21T07:05:03.250Z"}},
               {"overlap", std::string{"skip"}},
               {"is_due", true},
               {"node", std::monostate{}}};

TEST(RowOutput, ShowsATableWithTheRequestedColumns) {
  EXPECT_EQ(printed(Format::kTable, {kRow}),
            "TASK ID   PRIORITY  TRIGGER TIME\n"
            "say \"hi\"       100  08:05:03\n");
}

TEST(RowOutput, ShowsEveryColumnAndFullTimesWhenWide) {
  EXPECT_EQ(printed(Format::kWide, {kRow}),
            "TASK ID   PRIORITY  TRIGGER TIME             OVERLAP\n"
            "say \"hi\"       100  2026-11-21 08:05:03.250  skip\n");
}

TEST(RowOutput, ShowsEveryFieldUnchangedInJson) {
  const std::string object =
      R"({"job_id":"9007199254740993","task_id":"say \"hi\"","priority":100,)"
      R"("trigger_time":"2026-11-21T07:05:03.250Z","overlap":"skip","is_due":true,"node":null})";
  EXPECT_EQ(printed(Format::kJsonl, {kRow, kRow}), object + "\n" + object + "\n");
  EXPECT_EQ(printed(Format::kJson, {kRow, kRow}), "[\n" + object + ",\n" + object + "\n]\n");
}

TEST(RowOutput, ShowsNoRowsAsAnEmptyArrayOrNothing) {
  EXPECT_EQ(printed(Format::kJson, {}), "[]\n");
  EXPECT_EQ(printed(Format::kJsonl, {}), "");
  EXPECT_EQ(printed(Format::kTable, {}), "");
}

TEST(RowOutput, ShortensTimes) {
  const RowStyle table = style(Format::kTable);
  EXPECT_EQ(short_time("2026-11-21T22:59:59.999Z", table), "23:59:59");
  EXPECT_EQ(short_time("2026-11-21T23:00:00.000Z", table), "11-22 00:00");
  EXPECT_EQ(short_time("2026-07-01T10:00:00.000Z", table), "07-01 12:00");
  EXPECT_EQ(short_time("2027-01-01T00:00:00.000Z", table), "2027-01-01 01:00");
  EXPECT_EQ(short_time("", table), "");
  EXPECT_EQ(short_time("soon", table), "soon");
}

TEST(RowOutput, ShowsOneRowAsNamesAndValues) {
  std::ostringstream out;
  Row row = kRow;
  row.emplace_back("shell", std::string{"cd /srv\n./run"});
  print_one_row(out, style(Format::kTable), row);
  EXPECT_EQ(out.str(),
            "job_id        9007199254740993\n"
            "task_id       say \"hi\"\n"
            "priority      100\n"
            "trigger_time  Sat 2026-11-21 08:05:03 +01:00 Europe/Berlin, 2026-11-21 07:05:03 UTC\n"
            "overlap       skip\n"
            "is_due        true\n"
            "shell         cd /srv\n"
            "              ./run\n");
}

}  // namespace
}  // namespace carillon::cli
