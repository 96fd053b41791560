#include "jobclient/cli/help.h"

namespace carillon::cli {
namespace {

constexpr const char* kHelpSection = "Schedules and help";

}  // namespace

Verb declare_help() {
  return {
      .name = "help",
      .summary = "What jobclient can do, or one of its verbs",
      .positionals = {{.name = "VERB", .help = "Only this verb.", .required = false, .many = true}},
      .examples = "  jobclient help submit\n",
      .section = kHelpSection};
}

Verb declare_completion() {
  return {.name = "completion",
          .summary = "A script that lets a shell complete verbs and flags",
          .positionals = {{.name = "SHELL", .help = "Which shell.", .choices = {"bash", "zsh"}}},
          .examples =
              "  source <(jobclient completion bash)\n"
              "  jobclient completion zsh > ~/.zfunc/_jobclient\n",
          .section = kHelpSection};
}

int run_completion(Context& context) {
  const Result<std::string> script =
      completion_script(context.around.program, context.configuration.text("SHELL"));
  if (!script.ok()) return context.fail(kWrongInput, script.error().message);
  context.out() << script.value();
  return kDone;
}

}  // namespace carillon::cli
