#include "jobclient/cli/text_width.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::cli {
namespace {

using ::testing::EndsWith;

TEST(TextWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(width_of(""), 0u);
  EXPECT_EQ(width_of("plain"), 5u);
  EXPECT_EQ(width_of("Zürich"), 6u);
  EXPECT_EQ(width_of("备份"), 4u);
  EXPECT_EQ(width_of("a🚀b"), 4u);
  EXPECT_EQ(width_of("e\u0301"), 1u);
}

TEST(TextWidth, CountsInvalidBytesAsOneColumnEach) {
  EXPECT_EQ(width_of("\xff\xfe"), 2u);
  EXPECT_EQ(width_of("\xe5\xa4"), 2u);
}

TEST(TextWidth, TruncatesWithAnEllipsis) {
  EXPECT_EQ(cut_to("nightly-backup", 14), "nightly-backup");
  EXPECT_EQ(cut_to("nightly-backup", 8), "nightly…");
  EXPECT_EQ(cut_to("nightly", 1), "…");
  EXPECT_EQ(cut_to("nightly", 0), "");
}

TEST(TextWidth, NeverSplitsAWideCharacter) {
  EXPECT_EQ(cut_to("备份任务", 4), "备…");
  EXPECT_EQ(cut_to("备份任务", 5), "备份…");
}

TEST(TextWidth, RemovesTerminalControlCharacters) {
  EXPECT_EQ(one_line("a\nb\tc\rd"), "a b c d");
  EXPECT_EQ(one_line("\x1b[31mred\x07"), "?[31mred?");
  EXPECT_EQ(one_line("\u009b1m"), "?1m");
  EXPECT_EQ(one_line("ok\xff!"), "ok\uFFFD!");
  EXPECT_EQ(one_line("a\u202Etxt.b\u2066c"), "a?txt.b?c") << "not from right to left";
}

TEST(TextWidth, MakesControlCharactersOfLinesVisible) {
  EXPECT_EQ(for_terminal("a\n\tZürich 备份\n"), "a\n\tZürich 备份\n");
  EXPECT_EQ(for_terminal("\x1b]0;title\x07\r\x7f"), "\\x1b]0;title\\x07\\x0d\\x7f");
  EXPECT_EQ(for_terminal("\u009b1m\xff\u202e"), "\\x9b1m\\xff\\u202e");
}

TEST(TextWidth, ListsTheFirstOfManyNames) {
  EXPECT_EQ(those_there_are({}), ", and no others");
  EXPECT_EQ(those_there_are({"a", "b\n"}), " (it has 'a', 'b ')");
  EXPECT_THAT(those_there_are(std::vector<std::string>(23, "a")), EndsWith("'a', 'a' and 3 more)"));
}

}  // namespace
}  // namespace carillon::cli
