#include "shared/base/configuration.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Program server() {
  return {.name = "jobtracker",
          .summary = "Stores jobs and hands them out.",
          .options = {
              {.name = "listen", .placeholder = "URL", .fallback = "tcp://127.0.0.1:35001"},
              {.name = "store", .placeholder = "URL"},
              {.name = "lease", .kind = OptionKind::kDuration, .fallback = "3s"},
              {.name = "grace",
               .kind = OptionKind::kDuration,
               .min = Duration{std::chrono::milliseconds{500}}.count(),
               .max = Duration{std::chrono::hours{24}}.count()},
              {.name = "threads", .kind = OptionKind::kNumber, .min = 1, .max = 1024},
              {.name = "insecure", .kind = OptionKind::kSwitch},
              {.name = "label", .kind = OptionKind::kList},
              {.name = "allow",
               .kind = OptionKind::kList,
               .fallback = "handler,command",
               .choices = {"handler", "command", "http"},
               .by_comma = true},
              {.name = "xxl-token", .kind = OptionKind::kList, .secret = true},
              {.name = "log-level", .fallback = "info", .choices = {"debug", "info", "warn"}},
          }};
}

Result<Parsed> parse(const std::vector<std::string>& arguments,
                     std::map<std::string, std::string> environment = {}) {
  return parse_configuration(server(), arguments, Environment{std::move(environment)});
}

Configuration good(const std::vector<std::string>& arguments,
                   std::map<std::string, std::string> environment = {}) {
  auto parsed = parse(arguments, std::move(environment));
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? parsed.value().configuration : Configuration{};
}

std::string refusal(const std::vector<std::string>& arguments,
                    std::map<std::string, std::string> environment = {}) {
  const auto parsed = parse(arguments, std::move(environment));
  return parsed.ok() ? "accepted" : parsed.error().message;
}

// A file that is there as long as the test.
class ConfigurationFileTest : public ::testing::Test {
 protected:
  ~ConfigurationFileTest() override { std::remove(path_.c_str()); }

  Configuration good_file(const std::string& text, std::vector<std::string> arguments = {}) {
    write(text);
    arguments.insert(arguments.end(), {"--config", path_});
    return good(arguments);
  }
  // The error for this file, its path left out.
  std::string file_refusal(const std::string& text) {
    write(text);
    std::string message = refusal({"--config", path_});
    if (const auto at = message.find(path_); at != std::string::npos) {
      message.replace(at, path_.size(), "FILE");
    }
    return message;
  }
  void write(const std::string& text) { std::ofstream{path_} << text; }

  const std::string path_ = ::testing::TempDir() + "carillon-configuration-" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".toml";
};

TEST(Configuration, StartsWithDefaults) {
  const Configuration settings = good({});
  EXPECT_EQ(settings.text("listen"), "tcp://127.0.0.1:35001");
  EXPECT_EQ(settings.duration("lease"), std::chrono::seconds{3});
  EXPECT_FALSE(settings.is_on("insecure"));
  EXPECT_FALSE(settings.has("threads"));
  EXPECT_FALSE(settings.was_given("listen"));
  EXPECT_EQ(settings.text("store"), "");
  EXPECT_THAT(settings.list("allow"), ElementsAre("handler", "command"));
  EXPECT_THAT(settings.list("label"), ElementsAre());
}

TEST(Configuration, ReadsEveryOptionKindFromFlags) {
  const Configuration settings =
      good({"--listen=tcp://*:1", "--lease", "1m30s", "--threads", "8", "--insecure", "--label",
            "a=1,2", "--label", "b=", "--allow", "http,command"});
  EXPECT_EQ(settings.text("listen"), "tcp://*:1");
  EXPECT_EQ(settings.duration("lease"), std::chrono::seconds{90});
  EXPECT_EQ(settings.number("threads"), 8);
  EXPECT_TRUE(settings.is_on("insecure"));
  EXPECT_THAT(settings.list("label"), ElementsAre("a=1,2", "b="));
  EXPECT_THAT(settings.list("allow"), ElementsAre("http", "command"));
  EXPECT_TRUE(settings.was_given("threads"));
}

TEST(Configuration, ReadsEveryOptionKindFromTheEnvironment) {
  const Configuration settings = good({}, {{"CARILLON_LOG_LEVEL", "debug"},
                                           {"CARILLON_LEASE", "5s"},
                                           {"CARILLON_THREADS", "2"},
                                           {"CARILLON_INSECURE", "yes"},
                                           {"CARILLON_LABEL", "a=1,b=2"}});
  EXPECT_EQ(settings.text("log-level"), "debug");
  EXPECT_EQ(settings.duration("lease"), std::chrono::seconds{5});
  EXPECT_EQ(settings.number("threads"), 2);
  EXPECT_TRUE(settings.is_on("insecure"));
  EXPECT_THAT(settings.list("label"), ElementsAre("a=1", "b=2"));
}

TEST(Configuration, IgnoresUnknownEnvironmentVariables) {
  EXPECT_EQ(good({}, {{"CARILLON_TASK_ID", "nightly"}, {"CARILLON_CI", "1"}}).text("store"), "");
}

TEST(Configuration, AFlagMayHaveAnotherNameAndBeAnotherAfterAVerb) {
  const Program program{
      .name = "jobclient",
      .options = {{.name = "http-url", .flag = "http"}},
      .verbs = {{.name = "submit", .options = {{.name = "http"}}}, {.name = "list"}}};
  const Environment environment{{{"CARILLON_HTTP", "a"}, {"CARILLON_HTTP_URL", "b"}}};
  const auto read = [&](const std::vector<std::string>& arguments) {
    const auto parsed = parse_configuration(program, arguments, environment);
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? parsed.value().configuration : Configuration{};
  };
  const Configuration settings = read({"list"});
  EXPECT_EQ(settings.text("http-url"), "b");
  EXPECT_FALSE(settings.has_flag("http-url"));
  EXPECT_EQ(settings.source("http-url"), "environment CARILLON_HTTP_URL");
  const Configuration after = read({"list", "--http", "c"});
  EXPECT_EQ(after.text("http-url"), "c");
  EXPECT_EQ(after.source("http-url"), "--http");
  const Configuration both = read({"--http", "c", "submit", "--http", "d"});
  EXPECT_EQ(both.text("http-url"), "c");
  EXPECT_EQ(both.text("http"), "d");
  EXPECT_THAT(help_text(program), HasSubstr("--http"));
  EXPECT_THAT(help_text(program), HasSubstr("CARILLON_HTTP_URL"));
}

TEST(Configuration, IgnoresTheEnvironmentWhenTheProgramOptsOut) {
  Program program = server();
  program.reads_environment = false;
  const Environment environment{{{"CARILLON_THREADS", "8"}, {"CARILLON_CONFIG", "/no/such"}}};
  const auto parsed = parse_configuration(program, {"--help"}, environment);
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(*parsed.value().print, Not(HasSubstr("CARILLON_")));
  const auto settings = parse_configuration(program, {"--threads", "2"}, environment);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings.value().configuration.number("threads"), 2);
}

TEST_F(ConfigurationFileTest, ReadsEveryOptionKindFromTheFile) {
  const Configuration settings = good_file(
      "listen = \"tcp://*:2\"\nlease = \"10s\"\nthreads = 3\ninsecure = true\n"
      "label = [\"a=1,2\", \"b=2\"]\nallow = \"http,handler\"\n");
  EXPECT_EQ(settings.text("listen"), "tcp://*:2");
  EXPECT_EQ(settings.duration("lease"), std::chrono::seconds{10});
  EXPECT_EQ(settings.number("threads"), 3);
  EXPECT_TRUE(settings.is_on("insecure"));
  EXPECT_THAT(settings.list("label"), ElementsAre("a=1,2", "b=2"));
  EXPECT_THAT(settings.list("allow"), ElementsAre("http", "handler"));
  EXPECT_EQ(settings.source("threads"), "configuration: " + path_ + ":3: threads");
}

TEST_F(ConfigurationFileTest, PrefersFlagThenEnvironmentThenFile) {
  write("lease = \"10s\"\nthreads = 3\nlisten = \"tcp://file:1\"\n");
  const Configuration settings =
      good({"--lease", "1s"},
           {{"CARILLON_CONFIG", path_}, {"CARILLON_LEASE", "2s"}, {"CARILLON_THREADS", "2"}});
  EXPECT_EQ(settings.duration("lease"), std::chrono::seconds{1});
  EXPECT_EQ(settings.number("threads"), 2);
  EXPECT_EQ(settings.text("listen"), "tcp://file:1");
  EXPECT_EQ(settings.source("lease"), "--lease");
  EXPECT_EQ(settings.source("threads"), "environment CARILLON_THREADS");
}

TEST_F(ConfigurationFileTest, PrefersTheProgramsTableAndSkipsOtherTables) {
  const Configuration settings = good_file(
      "log_level = \"warn\"\nlease = \"9s\"\n[tasktracker]\ngroup = \"mail\"\n"
      "[jobtracker]\nlog_level = \"debug\"\n");
  EXPECT_EQ(settings.text("log-level"), "debug");
  EXPECT_EQ(settings.duration("lease"), std::chrono::seconds{9});
}

TEST_F(ConfigurationFileTest, RefusesUnknownKeysAndTablesWithLineAndNearestName) {
  EXPECT_EQ(file_refusal("# comment\n\nlisen = \"x\"\n"),
            "configuration: FILE:3: unknown key 'lisen' (did you mean 'listen'?)");
  EXPECT_EQ(file_refusal("[jobtracker]\nlog-level = \"info\"\n"),
            "configuration: FILE:2: unknown key 'log-level' (did you mean 'log_level'?)");
  EXPECT_EQ(file_refusal("[jobtraker]\nlease = \"1s\"\n"),
            "configuration: FILE:1: unknown table [jobtraker] (did you mean 'jobtracker'?)");
  EXPECT_EQ(file_refusal("[tasktracker]\ngroup = \"mail\"\nthread = 2\n"),
            "configuration: FILE:3: unknown key 'thread' of tasktracker (did you mean "
            "'threads'?)");
  EXPECT_EQ(file_refusal("[jobtracker.store]\nx = 1\n"),
            "configuration: FILE:1: unknown table [jobtracker.store]");
}

TEST_F(ConfigurationFileTest, NamesTheLineOfABadValue) {
  EXPECT_EQ(file_refusal("\nlease = \"3 apples\"\n"),
            "configuration: FILE:2: lease: '3 apples' is not a duration (write 500ms, 3s, 5m or "
            "1h30m)");
  EXPECT_EQ(file_refusal("lease = 5\n"),
            "configuration: FILE:1: lease: '5' is a number without a unit (write 5s for seconds, "
            "or one of ms, s, m, h, d)");
  EXPECT_EQ(file_refusal("threads = [1]\n"),
            "configuration: FILE:1: threads: expected one value, not a list");
  EXPECT_EQ(file_refusal("threads = 1.5\n"),
            "configuration: FILE:1: threads must be a string in quotes, a whole number, true or "
            "false, or a list");
  EXPECT_EQ(file_refusal("label = [[\"a\"]]\n"),
            "configuration: FILE:1: label must be a list of strings in quotes");
  EXPECT_EQ(file_refusal("insecure = \"maybe\"\n"),
            "configuration: FILE:1: insecure: 'maybe' is not true or false");
}

TEST_F(ConfigurationFileTest, RefusesBadValuesThatAnotherSourceOverrides) {
  write("lease = \"3 apples\"\nthreads = 2\nlabel = \"a=1\"\n");
  EXPECT_THAT(refusal({"--config", path_, "--lease", "1s"}), HasSubstr(":1: lease: '3 apples'"));
  EXPECT_THAT(refusal({"--config", path_}, {{"CARILLON_LEASE", "1s"}}),
              HasSubstr(":1: lease: '3 apples'"));
  EXPECT_THAT(refusal({"--threads", "1"}, {{"CARILLON_THREADS", "many"}}),
              StartsWith("environment CARILLON_THREADS: 'many'"));
  const Configuration settings = good_file("label = \"a=1\"\n", {"--label", "b=2"});
  EXPECT_THAT(settings.list("label"), ElementsAre("b=2"));
}

TEST(Configuration, ChecksATextAndEachItemOfAList) {
  const auto check = [](const std::string& text) -> Status {
    if (text.starts_with("tcp://")) return {};
    return Error{ErrorCode::kInvalidArgument, "'" + text + "' is no address"};
  };
  const Program program{
      .name = "x",
      .options = {{.name = "listen", .fallback = "tcp://a", .check = check},
                  {.name = "tracker", .kind = OptionKind::kList, .check = check}}};
  const auto said = [&](const std::vector<std::string>& arguments,
                        std::map<std::string, std::string> environment = {}) {
    const auto parsed =
        parse_configuration(program, arguments, Environment{std::move(environment)});
    return parsed.ok() ? "accepted" : parsed.error().message;
  };
  EXPECT_EQ(said({"--listen", "tcp://b", "--tracker", "tcp://c"}), "accepted");
  EXPECT_EQ(said({"--listen", "b"}), "--listen: 'b' is no address");
  EXPECT_EQ(said({"--tracker", "tcp://c", "--tracker", "d"}), "--tracker: 'd' is no address");
  EXPECT_EQ(said({"--listen", "tcp://b"}, {{"CARILLON_LISTEN", "e"}}),
            "environment CARILLON_LISTEN: 'e' is no address");
}

TEST_F(ConfigurationFileTest, RefusesAFileThatIsNotToml) {
  EXPECT_THAT(file_refusal("lease = 3s\nlisten ="), HasSubstr("configuration: FILE:1: not TOML: "));
  EXPECT_THAT(file_refusal("\xff\xfe"), HasSubstr("configuration: FILE:1: not TOML: "));
}

TEST_F(ConfigurationFileTest, SuggestsQuotesForAnUnquotedText) {
  EXPECT_THAT(file_refusal("# ours\n listen = tcp://127.0.0.1:1\r\n"),
              EndsWith(" (put a string in quotes: listen = \"...\")"));
  EXPECT_THAT(file_refusal("lease = 3s"), EndsWith(" (put a string in quotes: lease = \"...\")"));
  EXPECT_THAT(file_refusal("store = mysql://u:hush@db/x"), Not(HasSubstr("hush")));
  EXPECT_THAT(file_refusal("listen = \"tcp://"), Not(HasSubstr("put a string in quotes")));
  EXPECT_THAT(file_refusal("listen"), Not(HasSubstr("put a string in quotes")));
  EXPECT_THAT(file_refusal("listen ="), Not(HasSubstr("put a string in quotes")));
}

TEST_F(ConfigurationFileTest, AcceptsAnEmptyFile) {
  EXPECT_EQ(good_file("").text("log-level"), "info");
}

TEST(Configuration, RefusesAMissingFile) {
  EXPECT_EQ(refusal({"--config", "/nowhere/x.toml"}),
            "configuration: /nowhere/x.toml: cannot be read: No such file or directory");
  EXPECT_EQ(refusal({"--config", "/"}), "configuration: /: cannot be read: Is a directory");
}

TEST(Configuration, NamesTheSourceOfABadValue) {
  EXPECT_EQ(refusal({"--lease", "3 apples"}),
            "--lease: '3 apples' is not a duration (write 500ms, 3s, 5m or 1h30m)");
  EXPECT_EQ(refusal({}, {{"CARILLON_THREADS", "x"}}),
            "environment CARILLON_THREADS: 'x' is not a whole number");
  EXPECT_EQ(refusal({"--threads", "0"}), "--threads: 0 is too small, the minimum is 1");
  EXPECT_EQ(refusal({"--threads", "1025"}), "--threads: 1025 is too large, the maximum is 1024");
  EXPECT_EQ(refusal({"--threads", "99999999999999999999"}),
            "--threads: 99999999999999999999 is too large, the maximum is 1024");
  EXPECT_EQ(refusal({"--threads", "-99999999999999999999"}),
            "--threads: -99999999999999999999 is too small, the minimum is 1");
  EXPECT_EQ(refusal({"--log-level", "loud"}),
            "--log-level: 'loud' is not one of debug, info, warn");
  EXPECT_EQ(refusal({"--allow", "http,shell"}),
            "--allow: 'shell' is not one of handler, command, http");
}

TEST(Configuration, RefusesAnEmptyTextWhereAValueIsNeeded) {
  const Program program{.name = "x",
                        .options = {{.name = "id", .if_empty = "leave it out"}, {.name = "note"}}};
  const auto refused = parse_configuration(program, {"--id", "", "--note", ""}, Environment{{}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "--id: '' is empty (leave it out)");
  EXPECT_TRUE(parse_configuration(program, {"--note", ""}, Environment{{}}).ok());
}

TEST(Configuration, PrintsTheSameHelpForVerbAndFlag) {
  const auto printed = [](const std::vector<std::string>& arguments) {
    const auto parsed = parse(arguments);
    return parsed.ok() ? parsed.value().print.value_or("") : parsed.error().message;
  };
  const std::string help = printed({"--help"});
  EXPECT_THAT(help, StartsWith("Usage: jobtracker [OPTION]...\n"));
  EXPECT_EQ(printed({"help"}), help);
  EXPECT_EQ(printed({"help", "--help"}), help);
}

TEST(Configuration, RefusesWrongUsage) {
  EXPECT_EQ(refusal({"--lisen", "x"}),
            "unknown flag '--lisen' (did you mean '--listen'?), see jobtracker --help");
  EXPECT_EQ(refusal({"--listen"}), "--listen needs a value");
  EXPECT_EQ(refusal({"--lease", "1s", "--lease", "2s"}), "--lease was given twice");
  EXPECT_EQ(refusal({"start"}),
            "unexpected argument 'start', jobtracker takes flags only (see jobtracker --help)");
}

TEST(Configuration, ListsEffectiveOptionsWithSecretsMasked) {
  const Configuration settings =
      good({"--store", "mysql://app:s3cr:t@db:3306/carillon", "--xxl-token", "hush", "--insecure"},
           {{"CARILLON_LEASE", "5s"}});
  std::vector<std::string> lines;
  for (const EffectiveOption& line : settings.effective()) {
    lines.push_back(line.name + "=" + line.value + " from " + line.source);
  }
  EXPECT_THAT(lines, ElementsAre("listen=tcp://127.0.0.1:35001 from default",
                                 "store=mysql://app:***@db:3306/carillon from flag",
                                 "lease=5s from environment CARILLON_LEASE",
                                 "insecure=true from flag", "allow=handler,command from default",
                                 "xxl-token=*** from flag", "log-level=info from default"));
}

TEST(Configuration, MasksOnlyThePasswordOfAUrl) {
  EXPECT_EQ(mask_secrets("mysql://u:p@h:1/d"), "mysql://u:***@h:1/d");
  EXPECT_EQ(mask_secrets("mysql://u:p/@:x@h/d"), "mysql://u:***@h/d");
  EXPECT_EQ(mask_secrets("mysql://u@h:1/d"), "mysql://u@h:1/d");
  EXPECT_EQ(mask_secrets("tcp://127.0.0.1:1"), "tcp://127.0.0.1:1");
  EXPECT_EQ(mask_secrets("sqlite:/a/b@c:d"), "sqlite:/a/b@c:d");
}

TEST(ConfigurationDeath, ReadingAnUndeclaredOptionOrWrongKindAborts) {
  const Configuration settings = good({});
  EXPECT_DEATH((void)settings.text("no-such"), "only declared options can be read");
  EXPECT_DEATH((void)settings.text("lease"), "as its declared kind");
  EXPECT_DEATH((void)settings.number("threads"), "only a number with a value");
}

TEST(Configuration, RefusesDurationsBeyondTheirLimits) {
  EXPECT_EQ(refusal({"--grace", "40000d"}), "--grace: '40000d' is too long, must be 500ms to 1d");
  EXPECT_EQ(refusal({"--grace", "2us"}), "--grace: '2us' is too short, must be 500ms to 1d");
  EXPECT_EQ(refusal({"--lease", "110000d"}),
            "--lease: '110000d' is too long, must be 1us to 36600d");
  EXPECT_EQ(good({"--grace", "1d"}).duration("grace"), std::chrono::hours{24});
}

TEST(Configuration, RefusesAnEmptyList) {
  EXPECT_EQ(refusal({"--allow", ","}), "--allow: ',' has no entries (leave it out)");
  EXPECT_EQ(refusal({"--allow", ""}), "--allow: '' has no entries (leave it out)");
}

}  // namespace
}  // namespace carillon
