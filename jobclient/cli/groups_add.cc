#include "jobclient/cli/groups_add.h"

#include "jobclient/cli/act.h"

namespace carillon::cli {

Verb declare_groups_add() {
  return {.name = "groups add",
          .summary = "Set the addresses of a group of xxl-job executors",
          .description =
              "Only needed for executors that do not register. The job tracker then calls only the "
              "given addresses, in their order. They replace the earlier ones. Without an address "
              "it calls the registered executors again. Groups of task trackers need no command: "
              "the first task tracker creates the group.",
          .options = {{.name = "executor",
                       .kind = OptionKind::kSwitch,
                       .help = "Required: the group consists of xxl-job executors."},
                      {.name = "address",
                       .kind = OptionKind::kList,
                       .placeholder = "URL",
                       .help = "Address of an executor, like http://10.0.0.7:9999/."},
                      {.name = "token",
                       .placeholder = "TOKEN",
                       .help = "Access token for calls to the executors.",
                       .fallback_help = "unchanged"}},
          .positionals = {{.name = "APP",
                           .help = "App name of the executors, which is the node group."}},
          .examples =
              "  jobclient groups add billing-worker --executor --address "
              "http://10.0.0.7:9999/ --address http://10.0.0.8:9999/\n",
          .section = "Act on jobs"};
}

int run_groups_add(Context& context) {
  const Configuration& configuration = context.configuration;
  if (!configuration.is_on("executor")) {
    return context.fail(kWrongInput,
                        "groups add is for xxl-job executors: add --executor (the first task "
                        "tracker of a group creates it)");
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  std::optional<std::string> token;
  if (configuration.was_given("token")) token = configuration.text("token");
  return print_act_answer(context, {"", ""},
                          client.value()->add_executors(configuration.text("APP"),
                                                        configuration.list("address"), token));
}

}  // namespace carillon::cli
