#include "jobclient/cli/groups_split.h"

#include "jobclient/cli/act.h"
#include "shared/job/bucket.h"

namespace carillon::cli {

Verb declare_groups_split() {
  return {.name = "groups split",
          .summary = "Spread a large node group over several job trackers",
          .description =
              "For a group whose jobs are more than one job tracker can do. It gets parts, each "
              "with a share of the task ids, which the job trackers of one database divide among "
              "themselves; the order of jobs is kept within a part only. It cannot be undone, nor "
              "done again with another number. Each task tracker of the group needs the addresses "
              "of all job trackers.",
          .options = {{.name = "parts",
                       .kind = OptionKind::kNumber,
                       .placeholder = "N",
                       .help = "So many: 2, 4, 8, 16, 32 or 64; some for each job tracker.",
                       .min = INT64_MIN}},
          .positionals = {{.name = "GROUP", .help = "The node group."}},
          .examples = "  jobclient groups split mail --parts 8\n",
          .section = "Act on jobs"};
}

int run_groups_split(Context& context) {
  const std::optional<std::int64_t> parts = context.number("parts");
  if (!parts) {
    return context.fail(
        kWrongInput, "into how many parts? (--parts 2, 4, 8, 16, 32 or 64; it cannot be undone)");
  }
  if (*parts < 2 || !is_parts(*parts)) {
    return context.fail(
        kWrongInput, "--parts: " + std::to_string(*parts) + " is none of 2, 4, 8, 16, 32 and 64");
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return print_act_answer(context, {"", ""},
                          client.value()->split_group(context.configuration.text("GROUP"),
                                                      static_cast<std::int32_t>(*parts)));
}

}  // namespace carillon::cli
