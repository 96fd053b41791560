#include "jobclient/cli/help.h"

#include "shared/base/nearest_word.h"

namespace carillon::cli {
namespace {

constexpr const char* kSection = "Schedules and help";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Verb declare_help() {
  return {
      .name = "help",
      .summary = "What jobclient can do, or one of its verbs",
      .positionals = {{.name = "VERB", .help = "Only this verb.", .required = false, .many = true}},
      .examples = "  jobclient help submit\n",
      .section = kSection};
}

Verb declare_completion() {
  return {.name = "completion",
          .summary = "A script that lets a shell complete verbs and flags",
          .positionals = {{.name = "SHELL", .help = "Which shell.", .choices = {"bash", "zsh"}}},
          .examples =
              "  source <(jobclient completion bash)\n"
              "  jobclient completion zsh > ~/.zfunc/_jobclient\n",
          .section = kSection};
}

int run_help(Context& context) {
  const std::vector<std::string>& words = context.configuration.list("VERB");
  const Program& program = context.around.program;
  if (words.empty()) {
    context.out() << help_text(program);
    return kDone;
  }
  const std::string wanted = joined(words);
  std::vector<std::string> known;
  for (const Verb& verb : program.verbs) {
    if (verb.name == wanted) {
      context.out() << help_text(program, &verb);
      return kDone;
    }
    known.push_back(verb.name);
  }
  return context.fail(kWrongInput, "unknown verb '" + wanted + "'" + did_you_mean(wanted, known) +
                                       " (jobclient help lists them)");
}

int run_completion(Context& context) {
  const Result<std::string> script =
      completion_script(context.around.program, context.configuration.text("SHELL"));
  if (!script.ok()) return context.fail(kWrongInput, script.error().message);
  context.out() << script.value();
  return kDone;
}

}  // namespace carillon::cli
