#include "shared/sql/sql_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::sql {
namespace {

using ::testing::ElementsAre;

TEST(SqlText, SplitsAScriptAtSemicolonsThatEndALine) {
  EXPECT_THAT(split_script("CREATE TABLE t (\n  a INT\n);\nINSERT INTO t\nVALUES (';');\n"),
              ElementsAre("CREATE TABLE t (\n  a INT\n)", "INSERT INTO t\nVALUES (';')"));
}

TEST(SqlText, AcceptsALastStatementWithoutASemicolon) {
  EXPECT_THAT(split_script("A;\n B"), ElementsAre("A", "B"));
}

TEST(SqlText, DropsCommentLinesAndBlankLines) {
  EXPECT_THAT(split_script("-- one; two;\n\n  -- three;\nA\n-- four;\nB;\r\n;\n"),
              ElementsAre("A\nB"));
}

TEST(SqlText, FindsNothingInAnEmptyScript) {
  EXPECT_THAT(split_script(""), ElementsAre());
  EXPECT_THAT(split_script("-- nothing\n"), ElementsAre());
}

TEST(SqlText, WritesPlaceholdersRowByRow) {
  EXPECT_EQ(placeholder_rows(1, 1), "(?)");
  EXPECT_EQ(placeholder_rows(2, 3), "(?, ?, ?), (?, ?, ?)");
}

TEST(SqlText, PutsAnExcerptOnOneLine) {
  EXPECT_EQ(statement_excerpt("  SELECT 1\n\t FROM t \n"), "SELECT 1 FROM t");
  const auto cut = statement_excerpt(std::string(500, 'x'));
  EXPECT_EQ(cut, std::string(120, 'x') + " ...");
}

}  // namespace
}  // namespace carillon::sql
