#include "shared/base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/configuration.h"

namespace carillon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Program client() {
  return {
      .name = "jobclient",
      .summary = "Submits jobs and asks about them.",
      .options = {{.name = "tracker", .placeholder = "URL", .help = "Where it is."},
                  {.name = "output",
                   .letter = 'o',
                   .placeholder = "FORMAT",
                   .help = "How rows are printed.",
                   .fallback = "table",
                   .choices = {"table", "json"}}},
      .verbs = {{.name = "submit",
                 .summary = "Submit a job.",
                 .options = {{.name = "task-id", .placeholder = "ID", .help = "Your key."},
                             {.name = "param", .kind = OptionKind::kList, .placeholder = "K=V"},
                             {.name = "priority", .kind = OptionKind::kNumber, .fallback = "100"},
                             {.name = "wait", .kind = OptionKind::kSwitch}},
                 .rest_placeholder = "PROGRAM [ARGUMENT]...",
                 .examples = "jobclient submit -- echo hello"},
                {.name = "show",
                 .summary = "Show a job.",
                 .positionals = {{.name = "TASK_ID", .help = "Whose."},
                                 {.name = "FIELD", .help = "What.", .required = false}}},
                {.name = "groups", .summary = "List groups."},
                {.name = "groups add",
                 .summary = "Declare a group.",
                 .positionals = {{.name = "APP", .many = true}}},
                {.name = "import crontab",
                 .summary = "Import a crontab.",
                 .positionals = {{.name = "FORMAT", .choices = {"user", "system"}}}},
                {.name = "scripts list", .summary = "List scripts."},
                {.name = "scripts show", .summary = "Show one."}},
      .examples = "jobclient list"};
}

Configuration good_call(const std::vector<std::string>& arguments) {
  auto parsed = parse_configuration(client(), arguments, Environment{});
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? parsed.value().configuration : Configuration{};
}

std::string refused_call(const std::vector<std::string>& arguments) {
  const auto parsed = parse_configuration(client(), arguments, Environment{});
  return parsed.ok() ? "accepted" : parsed.error().message;
}

std::string printed(const std::vector<std::string>& arguments) {
  const auto parsed = parse_configuration(client(), arguments, Environment{});
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? parsed.value().print.value_or("nothing") : "refused";
}

TEST(CommandLine, ParsesVerbFlagsAndTheCommandAfterDashes) {
  const Configuration call = good_call({"submit", "--task-id", "a", "--param", "x=1", "--param",
                                        "y=2,3", "--wait", "--", "echo", "--", "-o", "--task-id"});
  EXPECT_EQ(call.verb(), "submit");
  EXPECT_EQ(call.text("task-id"), "a");
  EXPECT_THAT(call.list("param"), ElementsAre("x=1", "y=2,3"));
  EXPECT_EQ(call.number("priority"), 100);
  EXPECT_TRUE(call.is_on("wait"));
  EXPECT_THAT(call.rest(), ElementsAre("echo", "--", "-o", "--task-id"));
}

TEST(CommandLine, AcceptsProgramFlagsBeforeAndAfterTheVerb) {
  EXPECT_EQ(good_call({"-o", "json", "groups"}).text("output"), "json");
  EXPECT_EQ(good_call({"groups", "-ojson"}).text("output"), "json");
  EXPECT_EQ(good_call({"groups", "--output=json"}).text("output"), "json");
  EXPECT_EQ(refused_call({"-o", "json", "groups", "-o", "table"}), "-o, --output was given twice");
  EXPECT_EQ(refused_call({"-o", "jason", "groups"}),
            "-o, --output: 'jason' is not one of table, json");
}

TEST(CommandLine, FillsPositionalsInOrder) {
  const Configuration both = good_call({"show", "a", "-o", "json", "b"});
  EXPECT_EQ(both.text("TASK_ID"), "a");
  EXPECT_EQ(both.text("FIELD"), "b");
  EXPECT_FALSE(good_call({"show", "a"}).has("FIELD"));
  EXPECT_THAT(good_call({"groups", "add", "a", "b"}).list("APP"), ElementsAre("a", "b"));
  EXPECT_EQ(good_call({"show", "--", "--odd-name"}).text("TASK_ID"), "--odd-name");
  EXPECT_EQ(good_call({"show", "-"}).text("TASK_ID"), "-");
}

TEST(CommandLine, AcceptsAPositionalArgumentNamedLikeAVerb) {
  EXPECT_EQ(good_call({"show", "submit"}).text("TASK_ID"), "submit");
}

TEST(CommandLine, FindsTheLongestVerb) {
  EXPECT_EQ(good_call({"groups"}).verb(), "groups");
  EXPECT_EQ(good_call({"groups", "add", "x"}).verb(), "groups add");
}

TEST(CommandLine, KeepsEmptyValues) {
  EXPECT_EQ(good_call({"submit", "--task-id", ""}).text("task-id"), "");
  EXPECT_TRUE(good_call({"submit", "--task-id", ""}).was_given("task-id"));
}

TEST(CommandLine, NamesTheBadArgumentAndSuggestsAFix) {
  EXPECT_EQ(refused_call({}), "a verb is needed, see jobclient --help");
  EXPECT_EQ(refused_call({"submti"}),
            "unknown verb 'submti' (did you mean 'submit'?), see jobclient --help");
  EXPECT_EQ(refused_call({"import"}), "'import' needs 'crontab' after it");
  EXPECT_EQ(refused_call({"scripts", "nope"}), "'scripts' needs 'list' or 'show' after it");
  EXPECT_EQ(refused_call({"groups", "nope"}),
            "groups: unexpected argument 'nope' ('add' may follow)");
  EXPECT_EQ(refused_call({"import", "crontab", "html"}),
            "FORMAT: 'html' is not one of user, system");
  EXPECT_EQ(refused_call({"show"}), "show needs TASK_ID");
  EXPECT_EQ(refused_call({"show", "a", "b", "c"}), "show: unexpected argument 'c'");
  EXPECT_EQ(refused_call({"submit", "echo"}),
            "submit: unexpected argument 'echo' (put a command to run after --)");
  EXPECT_EQ(refused_call({"--trakcer", "x", "groups"}),
            "unknown flag '--trakcer' (did you mean '--tracker'?), see jobclient --help");
  EXPECT_EQ(refused_call({"submit", "--task-i=x"}),
            "unknown flag '--task-i' (did you mean '--task-id'?), see jobclient submit --help");
  EXPECT_EQ(refused_call({"submit", "--task-id"}), "--task-id needs a value");
}

TEST(CommandLine, RefusesAFlagAsAValueWithoutAnEqualsSign) {
  EXPECT_EQ(
      refused_call({"submit", "--task-id", "--wait", "--", "true"}),
      "--task-id needs a value, got '--wait' (write --task-id=--wait if this value is intended)");
  EXPECT_EQ(
      refused_call({"show", "a", "-o", "--insecure"}),
      "-o needs a value, got '--insecure' (write --output=--insecure if this value is intended)");
  EXPECT_EQ(refused_call({"--tracker", "--output", "json", "groups"}),
            "--tracker needs a value, got '--output' (write --tracker=--output if this value is "
            "intended)");
  EXPECT_EQ(refused_call({"show", "--output", "--", "a"}),
            "--output needs a value, got '--' (write --output=-- if this value is intended)");
  EXPECT_EQ(refused_call({"submit", "--task-id", "--", "true"}), "--task-id needs a value");
  EXPECT_EQ(good_call({"submit", "--task-id=--wait", "--", "true"}).text("task-id"), "--wait");
  EXPECT_EQ(refused_call({"submit", "--priority", "-5", "--", "true"}),
            "--priority: -5 is too small, the minimum is 0");
  EXPECT_THAT(good_call({"submit", "--", "echo", "--task-id", "--wait"}).rest(),
              ElementsAre("echo", "--task-id", "--wait"));
  EXPECT_EQ(good_call({"show", "--", "--output", "--tracker"}).text("TASK_ID"), "--output");
}

TEST(CommandLine, PrintsTheVersion) {
  EXPECT_EQ(printed({"--version"}), "jobclient 0.1.0 (carillon)\n");
}

TEST(Help, ShowsVerbsOptionsDefaultsVariablesAndExamples) {
  const std::string help = printed({"--help"});
  EXPECT_THAT(help, StartsWith("Usage: jobclient [OPTION]... VERB [ARGUMENT]...\n"));
  EXPECT_THAT(help, HasSubstr("submit                      Submit a job.\n"));
  EXPECT_THAT(help, HasSubstr("-o, --output FORMAT         How rows are printed.\n"));
  EXPECT_THAT(help, HasSubstr("One of table, json."));
  EXPECT_THAT(help, HasSubstr("[default: table, CARILLON_OUTPUT]"));
  EXPECT_THAT(help, HasSubstr("--config FILE"));
  EXPECT_THAT(help, HasSubstr("\nExamples\n  jobclient list\n"));
}

TEST(Help, ShowsTheSameHelpForHelpVerbAndHelpFlag) {
  const std::string help = printed({"submit", "--help"});
  EXPECT_THAT(help, StartsWith("Usage: jobclient submit [OPTION]... [-- PROGRAM [ARGUMENT]...]\n"));
  EXPECT_THAT(help, HasSubstr("--task-id ID"));
  EXPECT_THAT(help, Not(HasSubstr("CARILLON_TASK_ID")));
  EXPECT_EQ(printed({"help", "submit"}), help);
  EXPECT_EQ(printed({"--help", "submit"}), help);
  EXPECT_EQ(printed({"submit", "-h", "--nonsense"}), help);
  EXPECT_EQ(printed({"help", "submit", "--help"}), help);
  EXPECT_EQ(printed({"help", "--help"}), printed({"--help"}));
  const std::string of_two_words = printed({"help", "import", "crontab"});
  EXPECT_EQ(printed({"help", "import"}), of_two_words);
  EXPECT_EQ(printed({"import", "--help"}), of_two_words);
  EXPECT_THAT(printed({"show", "-h"}), StartsWith("Usage: jobclient show TASK_ID [FIELD]\n"));
}

TEST(Help, ListsAllVerbsThatBeginWithAWord) {
  const std::string help = printed({"help", "scripts"});
  EXPECT_EQ(help,
            "Usage: jobclient scripts ...\n\nVerbs\n"
            "  scripts list                List scripts.\n"
            "  scripts show                Show one.\n"
            "\n'jobclient VERB --help' explains a verb.\n");
  EXPECT_EQ(printed({"scripts", "--help"}), help);
  EXPECT_EQ(printed({"-h", "scripts"}), help);
  EXPECT_THAT(printed({"help", "groups"}),
              HasSubstr("List groups.\n\nVerbs\n  groups add                  Declare a group.\n"));
  EXPECT_EQ(refused_call({"help", "script"}),
            "unknown verb 'script' (did you mean 'scripts'?), see jobclient --help");
}

TEST(Help, IndentsExamplesOnce) {
  Program program = client();
  program.examples = "one\n\n  two\nthree\n";
  EXPECT_THAT(help_text(program), HasSubstr("\nExamples\n  one\n\n  two\n  three\n"));
}

TEST(Help, WrapsLinesAtThePageWidth) {
  Program program = client();
  program.description = std::string(40, 'a') + " " + std::string(60, 'b') + " c";
  program.options.front().help =
      "word word word word word word word word word word word word "
      "word word word word word word word word word word word word";
  const std::string help = help_text(program);
  std::size_t start = 0;
  for (std::size_t end = help.find('\n'); end != std::string::npos; end = help.find('\n', start)) {
    EXPECT_LE(end - start, 96u) << help.substr(start, end - start);
    start = end + 1;
  }
}

TEST(Completion, ContainsVerbsFlagsAndValues) {
  const std::string bash = printed({"--completion", "bash"});
  EXPECT_THAT(bash, HasSubstr("complete -o default -F _carillon_jobclient jobclient\n"));
  EXPECT_THAT(bash, HasSubstr("words='submit show groups import scripts'"));
  EXPECT_THAT(bash, HasSubstr("compgen -W 'table json'"));
  EXPECT_THAT(bash, HasSubstr("--task-id --param --priority --wait"));
  const std::string zsh = printed({"--completion", "zsh"});
  EXPECT_THAT(zsh, StartsWith("#compdef jobclient\n"));
  EXPECT_THAT(zsh, HasSubstr("'submit:Submit a job.'"));
  EXPECT_THAT(zsh, HasSubstr("(table json)"));
  EXPECT_EQ(refused_call({"--completion", "fish"}), "no completion for 'fish' (only bash and zsh)");
}

}  // namespace
}  // namespace carillon
