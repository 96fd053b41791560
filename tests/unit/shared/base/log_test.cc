#include "shared/base/log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// What one call writes to stderr.
template <class Say>
std::string written_by(Say say) {
  CaptureStderr();
  say();
  return GetCapturedStderr();
}

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { set_log_level(LogLevel::kInfo); }

  const Logger log_{"jobtracker.dispatch"};
};

TEST_F(LogTest, WritesTimeLevelComponentMessageAndPairs) {
  const std::string line =
      written_by([&] { log_.info("job handed out", "job", 7, "group", "mail"); });
  EXPECT_THAT(line, ::testing::MatchesRegex(
                        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z "
                        "info  jobtracker\\.dispatch: job handed out  job=7  group=mail\n"));
}

TEST_F(LogTest, QuotesValuesThatWouldBeAmbiguous) {
  const auto value = [&](std::string_view text) {
    const std::string line = written_by([&] { log_.warn("x", "k", text); });
    return line.substr(line.find("k=") + 2);
  };
  EXPECT_EQ(value("a=b"), "\"a=b\"\n");
  EXPECT_EQ(value("two words"), "\"two words\"\n");
  EXPECT_EQ(value(""), "\"\"\n");
  EXPECT_EQ(value("say \"no\""), "\"say \\\"no\\\"\"\n");
}

TEST_F(LogTest, KeepsAnyValueOnOneLine) {
  const std::string line = written_by([&] {
    log_.warn("x", "k", std::string_view{"a\nb\r\t\x1b[31m\0z\x7f", 13});
  });
  EXPECT_THAT(line, EndsWith("k=\"a\\nb\\r\\t\\x1b[31m\\x00z\\x7f\"\n"));
}

TEST_F(LogTest, KeepsUtf8Unchanged) {
  EXPECT_THAT(written_by([&] { log_.info("x", "name", "Zürich"); }), EndsWith("name=Zürich\n"));
}

TEST_F(LogTest, HidesMessagesBelowTheLevel) {
  EXPECT_FALSE(log_.debug_on());
  EXPECT_EQ(written_by([&] { log_.debug("hidden"); }), "");
  set_log_level(LogLevel::kDebug);
  EXPECT_TRUE(log_.debug_on());
  EXPECT_THAT(written_by([&] { log_.debug("shown"); }),
              HasSubstr("debug jobtracker.dispatch: shown"));
  set_log_level(LogLevel::kOff);
  EXPECT_EQ(written_by([&] { log_.error("hidden"); }), "");
}

TEST(LogLevelText, ParsesEveryLevelAndListsThemInErrors) {
  EXPECT_EQ(parse_log_level("debug").value(), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("info").value(), LogLevel::kInfo);
  EXPECT_EQ(parse_log_level("warn").value(), LogLevel::kWarn);
  EXPECT_EQ(parse_log_level("error").value(), LogLevel::kError);
  EXPECT_EQ(parse_log_level("off").value(), LogLevel::kOff);
  EXPECT_EQ(parse_log_level("loud").error().message,
            "'loud' is not a log level (use debug, info, warn, error or off)");
}

}  // namespace
}  // namespace carillon
