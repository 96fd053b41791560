#include "jobclient/cli/groups_remove.h"

#include "jobclient/cli/act.h"

namespace carillon::cli {

Verb declare_groups_remove() {
  return {
      .name = "groups remove",
      .summary = "Remove a group of xxl-job executors without jobs",
      .description =
          "Removes its addresses and token. Refused while the group has jobs. Stop the executors "
          "first: one that registers creates the group again.",
      .positionals = {{.name = "APP",
                       .help = "App name of the executors, which is the node group."}},
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
