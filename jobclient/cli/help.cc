#include "jobclient/cli/help.h"

namespace carillon::cli {
namespace {

constexpr const char* kHelpSection = "Schedules and help";

}  // namespace

Verb declare_help() {
  return {.name = "help",
          .summary = "Explain jobclient, or one verb",
          .positionals = {{.name = "VERB", .help = "The verb.", .required = false, .many = true}},
          .examples = "  jobclient help submit\n",
          .section = kHelpSection};
}

Verb declare_completion() {
  return {.name = "completion",
          .summary = "Print a script for shell completion of verbs and flags",
          .positionals = {{.name = "SHELL", .help = "The shell.", .choices = {"bash", "zsh"}}},
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
