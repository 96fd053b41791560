#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/time_text.h"
#include "shared/job/cron.h"

namespace carillon {
namespace {

struct Vector {
  int line = 0;
  std::string expression{};
  std::string zone{};
  DstRule rule = DstRule::kAuto;
  WallTime from{};
  std::string expected{};
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest calls
void PrintTo(const Vector& vector, std::ostream* out) {
  *out << "line " << vector.line << ": " << vector.expression;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// A tab inside an expression is written \\t.
std::string unescape(std::string text) {
  const std::size_t at = text.find("\\t");
  return at == std::string::npos ? text : text.replace(at, 2, "\t");
}

DstRule rule_of(const std::string& word) {
  if (word == "skip") return DstRule::kSkip;
  if (word == "once") return DstRule::kOnce;
  if (word == "twice") return DstRule::kTwice;
  EXPECT_EQ(word, "auto");
  return DstRule::kAuto;
}

std::vector<Vector> read_vectors() {
  std::ifstream file(CARILLON_TEST_DATA "/cron/vectors.tsv");
  std::vector<Vector> vectors;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with('#')) continue;
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() != 5) {
      ADD_FAILURE() << "line " << number << " has no five columns";
      continue;
    }
    vectors.push_back({.line = number,
                       .expression = unescape(columns[0]),
                       .zone = columns[1],
                       .rule = rule_of(columns[2]),
                       .from = parse_time(columns[3]).value(),
                       .expected = columns[4]});
  }
  return vectors;
}

// As many fires as are expected, "never" after the last one there is.
std::string fires_of(const Cron& cron, const Vector& vector) {
  const Zone zone = Zone::load(vector.zone).value();
  std::string text;
  WallTime after = vector.from;
  for (std::size_t i = 0; i < split(vector.expected, '|').size(); ++i) {
    const auto fire = cron.next(after, zone, vector.rule);
    if (i > 0) text += '|';
    if (!fire) return text + "never";
    const std::string time = format_time(*fire);
    text += time.substr(0, time.find('.')) + "Z";
    after = *fire;
  }
  return text;
}

class CronVectors : public ::testing::TestWithParam<Vector> {};

TEST_P(CronVectors, FireAtTheListedTimes) {
  const Vector& vector = GetParam();
  constexpr std::string_view kRefused = "refused: ";
  const auto cron = Cron::parse(vector.expression);
  if (vector.expected.starts_with(kRefused)) {
    ASSERT_FALSE(cron.ok());
    EXPECT_THAT(cron.error().message,
                ::testing::HasSubstr(vector.expected.substr(kRefused.size())));
    return;
  }
  ASSERT_TRUE(cron.ok()) << cron.error().message;
  EXPECT_EQ(fires_of(cron.value(), vector), vector.expected);
}

INSTANTIATE_TEST_SUITE_P(File, CronVectors, ::testing::ValuesIn(read_vectors()),
                         [](const auto& test) { return "Line" + std::to_string(test.param.line); });

TEST(CronVectorFile, HasAtLeast120Vectors) { EXPECT_GE(read_vectors().size(), 120U); }

}  // namespace
}  // namespace carillon
