#include "tasktracker/executor/log_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace carillon::tasktracker {
namespace {

using wire::xxl::LogPart;

constexpr std::int64_t kNoonMs = 1'795'262'400'000;  // 2026-11-21 12:00:00 UTC

struct LogBundle {
  ManualClock clock;
  testing::TempFolder folder;
  LogFolder logs{folder.path().string(), Zone::utc(), clock};

  LogBundle() { clock.set_wall(WallTime{std::chrono::milliseconds{kNoonMs}}); }
  void put(const std::string& text) { logs.open(7, kNoonMs)->write(text); }
  LogPart read(std::int64_t from, bool is_growing = false) const {
    return logs.read({.log_id = 7, .log_time_ms = kNoonMs, .from_line = from}, is_growing);
  }
  std::string make_file(const std::string& name) const {
    const std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << "x\n";
    return path.string();
  }
};

TEST(LogFolder, NamesFilesAfterTheDayAndTheTrigger) {
  LogBundle b;
  b.put("text\n");
  EXPECT_TRUE(std::filesystem::exists(b.folder.path() / "2026-11-21" / "7.log"));
}

TEST(LogFolder, UsesTheDateInItsZone) {
  LogBundle b;
  const LogFolder east(b.folder.path().string(), Zone::load("Asia/Tokyo").value(), b.clock);
  (void)east.open(8, kNoonMs + 4 * 3'600'000);
  EXPECT_TRUE(std::filesystem::exists(b.folder.path() / "2026-11-22" / "8.log"));
}

TEST(LogFolder, PrefixesItsOwnLinesWithTheTime) {
  LogBundle b;
  const auto log = b.logs.open(7, kNoonMs);
  log->write("unfinished");
  log->line("a line");
  EXPECT_EQ(b.read(1).text, "unfinished\n2026-11-21 12:00:00 a line\n");
}

TEST(LogFolder, ReadsFromALineToTheEnd) {
  LogBundle b;
  b.put("one\ntwo\nthree\n");
  EXPECT_EQ(b.read(1), (LogPart{.from_line = 1, .to_line = 3, .text = "one\ntwo\nthree\n"}));
  EXPECT_EQ(b.read(3), (LogPart{.from_line = 3, .to_line = 3, .text = "three\n"}));
}

TEST(LogFolder, ReturnsNothingBeyondTheEnd) {
  LogBundle b;
  b.put("one\n");
  EXPECT_EQ(b.read(2), (LogPart{.from_line = 2, .to_line = 1}));
}

TEST(LogFolder, HoldsBackALineThatIsStillBeingWritten) {
  LogBundle b;
  b.put("one\ntw");
  EXPECT_EQ(b.read(1, true), (LogPart{.from_line = 1, .to_line = 1, .text = "one\n"}));
  b.put("o\n");
  EXPECT_EQ(b.read(2, true), (LogPart{.from_line = 2, .to_line = 2, .text = "two\n"}));
}

TEST(LogFolder, CompletesAnUnfinishedLastLineAfterTheRun) {
  LogBundle b;
  b.put("one\ntwo");
  EXPECT_EQ(b.read(2), (LogPart{.from_line = 2, .to_line = 2, .text = "two\n"}));
}

TEST(LogFolder, ReturnsALongFileInChunksOfWholeLines) {
  LogBundle b;
  const std::string line = std::string(999, 'x') + "\n";
  std::string text;
  for (int i = 0; i < 5000; ++i) text += line;
  b.put(text);
  const LogPart first = b.read(1);
  EXPECT_LT(first.to_line, 5000);
  const LogPart second = b.read(first.to_line + 1);
  EXPECT_EQ(second.to_line, 5000);
  EXPECT_EQ(first.text + second.text, text);
}

TEST(LogFolder, ReportsAMissingFile) {
  LogBundle b;
  EXPECT_EQ(b.read(1), (LogPart{.from_line = 1,
                                .to_line = 0,
                                .text = "readLog fail, logFile not exists",
                                .is_end = true}));
}

TEST(LogFolder, RemovesOnlyExpiredLogs) {
  LogBundle b;
  const std::string old_log = b.make_file("2026-10-20/1.log");
  const std::string old_other = b.make_file("2026-10-19/notes.txt");
  const std::string young = b.make_file("2026-10-22/1.log");
  const std::string foreign = b.make_file("gluesource/1.log");
  b.logs.clean(0);
  EXPECT_TRUE(std::filesystem::exists(old_log));
  b.logs.clean(30);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(old_log).parent_path()));
  EXPECT_TRUE(std::filesystem::exists(old_other));
  EXPECT_TRUE(std::filesystem::exists(young));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

}  // namespace
}  // namespace carillon::tasktracker
