#include "shared/job/run_words.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(ParamVariable, ReplacesEachSpecialByteWithAnUnderscore) {
  EXPECT_EQ(param_variable("a.b-c 1"), "CARILLON_PARAM_A_B_C_1");
  EXPECT_EQ(param_variable("\xC3\xB6"), "CARILLON_PARAM___");
}

TEST(ScriptLanguage, MapsAliasesToTheUsualName) {
  for (const std::string_view usual : kScriptLanguages) EXPECT_EQ(script_language(usual), usual);
  EXPECT_EQ(script_language("python3"), "python");
  EXPECT_EQ(script_language("javascript"), "node");
  EXPECT_EQ(script_language("pwsh"), "powershell");
  EXPECT_EQ(script_language("cobol"), "");
  EXPECT_EQ(script_language(""), "");
}

}  // namespace
}  // namespace carillon
