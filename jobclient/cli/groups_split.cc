#include "jobclient/cli/groups_split.h"

#include "jobclient/cli/act.h"
#include "shared/job/bucket.h"

namespace carillon::cli {

Verb declare_groups_split() {
  return {.name = "groups split",
          .summary = "Split a large node group over several job trackers",
          .description =
              "For a group with more jobs than one job tracker can handle. Each part gets a share "
              "of the task ids; the job trackers of one database divide the parts. Jobs are "
              "ordered within a part only. A split cannot be undone or changed. Each task tracker "
              "of the group needs the addresses of all job trackers.",
          .options = {{.name = "parts",
                       .kind = OptionKind::kNumber,
                       .placeholder = "N",
                       .help = "Number of parts: 2, 4, 8, 16, 32 or 64; several per job tracker.",
                       .min = INT64_MIN}},
          .positionals = {{.name = "GROUP", .help = "The node group."}},
          .examples = "  jobclient groups split mail --parts 8\n",
          .section = "Act on jobs"};
}

int run_groups_split(Context& context) {
  const std::optional<std::int64_t> parts = context.number("parts");
  if (!parts) {
    return context.fail(kWrongInput,
                        "--parts is missing (2, 4, 8, 16, 32 or 64; a split cannot be undone)");
  }
  if (*parts < 2 || !is_parts(*parts)) {
    return context.fail(kWrongInput, "--parts: " + std::to_string(*parts) +
                                         " is not one of 2, 4, 8, 16, 32 and 64");
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return print_act_answer(context, {"", ""},
                          client.value()->split_group(context.configuration.text("GROUP"),
                                                      static_cast<std::int32_t>(*parts)));
}

}  // namespace carillon::cli
