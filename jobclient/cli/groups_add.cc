#include "jobclient/cli/groups_add.h"

#include "jobclient/cli/act.h"

namespace carillon::cli {

Verb declare_groups_add() {
  return {.name = "groups add",
          .summary = "List xxl-job executors of a group by hand",
          .description =
              "Executors that register themselves need not be listed. A group that has a list is "
              "called at its addresses only, in their order, whoever registers; the list replaces "
              "the one before, and without an address who registers is called again. A group of "
              "task trackers makes itself when the first one comes.",
          .options = {{.name = "executor",
                       .kind = OptionKind::kSwitch,
                       .help = "The group is one of xxl-job executors."},
                      {.name = "address",
                       .kind = OptionKind::kList,
                       .placeholder = "URL",
                       .help = "Where one is called, like http://10.0.0.7:9999/; may be given "
                               "several times."},
                      {.name = "token",
                       .placeholder = "TOKEN",
                       .help = "The access token that is sent to them.",
                       .fallback_help = "the one it has"}},
          .positionals = {{.name = "APP", .help = "Their app name, which is the node group."}},
          .examples =
              "  jobclient groups add billing-worker --executor --address "
              "http://10.0.0.7:9999/ --address http://10.0.0.8:9999/\n",
          .section = "Act on jobs"};
}

int run_groups_add(Context& context) {
  const Configuration& configuration = context.configuration;
  if (!configuration.is_on("executor")) {
    return context.fail(kWrongInput,
                        "groups add is for xxl-job executors: say --executor (a group of task "
                        "trackers makes itself when the first one comes)");
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
