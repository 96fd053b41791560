#include "jobclient/cli/groups_remove.h"

#include "jobclient/cli/act.h"

namespace carillon::cli {

Verb declare_groups_remove() {
  return {.name = "groups remove",
          .summary = "Remove a group of xxl-job executors without jobs",
          .description =
              "Its executors are not called any more, and its token is forgotten. Refused while "
              "there are jobs of it. An executor that registers makes the group again: stop them "
              "first.",
          .positionals = {{.name = "APP", .help = "Their app name, which is the node group."}},
          .examples = "  jobclient groups remove billing-worker\n",
          .section = "Act on jobs"};
}

int run_groups_remove(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return print_act_answer(context, {"", ""},
                          client.value()->remove_executor_group(context.configuration.text("APP")));
}

}  // namespace carillon::cli
