#include "jobclient/cli/next.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/time_text.h"
#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const WallTime kAsked = parse_time("2026-11-21T08:00:00Z").value();

std::string answer(const std::string& line) {
  return answer_next_line(line, {}, kAsked, Zone::load("Europe/Berlin").value());
}

int run(Cli& cli, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "next");
  return cli.run(arguments);
}

Cli no_tracker() {
  return Cli([](const wire::Message&) { return wire::ErrorReply{}; });
}

TEST(Next, ShowsFutureFiresInUtcAndLocalTime) {
  Cli cli = no_tracker();
  EXPECT_EQ(run(cli, {"0 0 2 * * ?", "--tz", "Asia/Shanghai", "-n", "2"}), kDone);
  EXPECT_EQ(cli.out.str(),
            "UTC                       LOCAL                           NOTE\n"
            "2026-11-21T18:00:00.000Z  Sun 2026-11-22 02:00:00 +08:00\n"
            "2026-11-22T18:00:00.000Z  Mon 2026-11-23 02:00:00 +08:00\n");
}

TEST(Next, MarksFiresAffectedByDaylightSaving) {
  Cli cli = no_tracker();
  EXPECT_EQ(run(cli, {"30 2 * * *", "--from", "2027-03-27T12:00:00Z", "-n", "1"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("2027-03-28T01:00:00.000Z"));
  EXPECT_THAT(cli.out.str(), HasSubstr("skipped"));
}

TEST(Next, AnswersInJson) {
  Cli cli = no_tracker();
  EXPECT_EQ(run(cli, {"@daily", "--tz", "UTC", "-n", "1", "-o", "json"}), kDone);
  EXPECT_EQ(cli.out.str(),
            "[\n{\"utc\":\"2026-11-22T00:00:00.000Z\",\"local\":\"2026-11-22T00:00:00+00:00\","
            "\"note\":\"\"}\n]\n");
}

TEST(Next, UsesTheMachinesZoneByDefault) {
  Cli cli = no_tracker();
  EXPECT_EQ(run(cli, {"@daily", "-n", "1"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("2026-11-21T23:00:00.000Z  Sun 2026-11-22 00:00:00 +01:00"));
}

TEST(Next, RefusesAnInvalidExpressionAsWrongInput) {
  Cli cli = no_tracker();
  EXPECT_EQ(run(cli, {"0 0 24 * * ?"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), StartsWith("jobclient: next: cron '0 0 24 * * ?': hour 24"));
}

TEST(Next, RefusesAnExpressionThatNeverFiresAgain) {
  Cli cli = no_tracker();
  EXPECT_EQ(run(cli, {"0 0 0 1 1 ? 2020"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("0 0 0 1 1 ? 2020"));
}

TEST(Next, RequiresAnExpressionOrStdin) {
  Cli cli = no_tracker();
  EXPECT_EQ(run(cli, {}), kWrongInput);
  EXPECT_EQ(run(cli, {"@daily", "--stdin"}), kWrongInput);
}

TEST(Next, AnswersEachLineOfStdin) {
  Cli cli = no_tracker();
  cli.give_input(
      "{\"cron\":\"@daily\",\"tz\":\"UTC\",\"n\":2}\n\n{\"cron\":\"* * *\"}\nnonsense\n");
  EXPECT_EQ(run(cli, {"--stdin"}), kRefused);
  std::istringstream lines(cli.out.str());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "{\"fires\":[\"2026-11-22T00:00:00.000Z\",\"2026-11-23T00:00:00.000Z\"]}");
  std::getline(lines, line);
  EXPECT_THAT(line, StartsWith("{\"error\":\"cron '* * *'"));
  std::getline(lines, line);
  EXPECT_THAT(line, StartsWith("{\"error\":\"not a JSON object"));
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(Next, AppliesFlagsAsDefaultsForLines) {
  Cli cli = no_tracker();
  cli.give_input("{\"cron\":\"@daily\"}\n{\"cron\":\"@daily\",\"tz\":\"Asia/Shanghai\",\"n\":1}\n");
  EXPECT_EQ(run(cli, {"--stdin", "--tz", "UTC", "-n", "2", "--from", "2027-03-01T00:00:00Z"}),
            kDone);
  EXPECT_EQ(cli.out.str(),
            "{\"fires\":[\"2027-03-02T00:00:00.000Z\",\"2027-03-03T00:00:00.000Z\"]}\n"
            "{\"fires\":[\"2027-03-01T16:00:00.000Z\"]}\n");
}

TEST(Next, RefusesWrongFlagsBeforeReadingLines) {
  Cli cli = no_tracker();
  cli.give_input("{\"cron\":\"@daily\",\"tz\":\"UTC\"}\n");
  EXPECT_EQ(run(cli, {"--stdin", "--tz", "Mars/Olympus"}), kWrongInput);
  EXPECT_EQ(cli.out.str(), "");
  EXPECT_THAT(cli.err.str(), HasSubstr("Mars/Olympus"));
}

TEST(Next, ReportsALineThatIsTooLong) {
  Cli cli = no_tracker();
  cli.give_input("{\"cron\":\"" + std::string(70'000, '*') +
                 "\"}\n{\"cron\":\"@daily\",\"n\":1}\n");
  EXPECT_EQ(run(cli, {"--stdin", "--tz", "UTC"}), kRefused);
  EXPECT_EQ(cli.out.str(),
            "{\"error\":\"the line is longer than 65536 bytes\"}\n"
            "{\"fires\":[\"2026-11-22T00:00:00.000Z\"]}\n");
}

TEST(NextLine, TruncatesLongTextsAtCharacterBoundaries) {
  std::string letters;
  for (int i = 0; i < 200; ++i) letters += "\u00e9";
  for (const char* before : {"", "a"}) {
    const std::string text = before + letters;
    EXPECT_THAT(answer("{\"cron\":\"" + text + " * * * *\"}"), StartsWith("{\"error\":\"cron '"));
    EXPECT_THAT(answer("{\"cron\":\"@daily\",\"tz\":\"" + text + "\"}"),
                StartsWith("{\"error\":\"time zone '"));
    EXPECT_THAT(answer("{\"cron\":\"" + text + " * * * *\"}"), Not(HasSubstr("\ufffd")));
  }
}

TEST(NextLine, RefusesARepeatedField) {
  EXPECT_EQ(answer(R"({"cron":"@daily","tz":"UTC","cron":"@hourly"})"),
            R"x({"error":"cron is given twice (give it once)"})x");
}

TEST(NextLine, AcceptsDstFromAndN) {
  EXPECT_EQ(answer(R"({"cron":"30 2 * * *","dst":"skip","from":"2027-03-27T12:00:00Z","n":1})"),
            R"({"fires":["2027-03-29T00:30:00.000Z"]})");
  EXPECT_EQ(answer(R"({"cron":"0 * * * * ?","tz":"UTC","from":"2026-01-01T00:00:00.500Z","n":1})"),
            R"({"fires":["2026-01-01T00:01:00.000Z"]})");
}

TEST(NextLine, ListsTenFiresByDefault) {
  const std::string fires = answer(R"({"cron":"* * * * *"})");
  EXPECT_EQ(std::count(fires.begin(), fires.end(), 'Z'), 10);
}

TEST(NextLine, NamesTheInvalidField) {
  EXPECT_THAT(answer(R"({"tz":"UTC"})"), HasSubstr("cron is missing"));
  EXPECT_THAT(answer(R"({"cron":5})"), HasSubstr("cron must be a text"));
  EXPECT_THAT(answer(R"({"cron":"@daily","zone":"UTC"})"), HasSubstr("unknown field 'zone'"));
  EXPECT_THAT(answer(R"({"cron":"@daily","tz":"Mars/Olympus"})"), HasSubstr("Mars/Olympus"));
  EXPECT_THAT(answer(R"({"cron":"@daily","dst":"never"})"), HasSubstr("dst 'never' is unknown"));
  EXPECT_THAT(answer(R"({"cron":"@daily","n":0})"), HasSubstr("n 0 is out of range"));
  EXPECT_THAT(answer(R"({"cron":"@daily","n":18446744073709551615})"),
              HasSubstr("n 18446744073709551615 is out of range, it must be 1 to 100000"));
  EXPECT_THAT(answer(R"({"cron":"@daily","n":-1})"), HasSubstr("n -1 is out of range"));
  EXPECT_THAT(answer(R"({"cron":"@daily","n":"2"})"), HasSubstr("whole number"));
  EXPECT_THAT(answer(R"({"cron":"@daily","from":"noon"})"), HasSubstr("'noon'"));
}

}  // namespace
}  // namespace carillon::cli
