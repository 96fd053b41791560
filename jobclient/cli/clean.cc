#include "jobclient/cli/clean.h"

#include <limits>

#include "jobclient/cli/ask.h"

namespace carillon::cli {

Verb declare_clean() {
  return {
      .name = "clean",
      .summary = "Delete history rows and their output",
      .description =
          "Deletes rows of one task, of a node group, or of all. Rows of jobs that run or wait "
          "for a retry stay. The job tracker itself deletes rows older than its "
          "--log-retention. The report still counts deleted rows.",
      .options = {{.name = "group",
                   .placeholder = "GROUP",
                   .help = "Only this node group.",
                   .if_empty = "leave it out for all"},
                  {.name = "task-id",
                   .placeholder = "TASK_ID",
                   .help = "Only this task.",
                   .if_empty = "leave it out for all"},
                  {.name = "older-than",
                   .placeholder = "TIME",
                   .help = "Rows that ended before this: an age like 30d, or an RFC 3339 time."},
                  {.name = "keep",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "All but the newest N rows.",
                   .min = 1,
                   .max = 100'000'000},
                  {.name = "all", .kind = OptionKind::kSwitch, .help = "All rows."}},
      .examples =
          "  jobclient clean --older-than 90d\n"
          "  jobclient clean --task-id nightly --keep 1000\n"
          "  jobclient clean --group ops --all\n",
      .section = "Act on jobs"};
}

int run_clean(Context& context) {
  const Configuration& configuration = context.configuration;
  CleanRule rule{.group = configuration.text("group"), .task_id = configuration.text("task-id")};
  const std::string& older = configuration.text("older-than");
  rule.keep = context.number("keep");
  const int rules =
      (older.empty() ? 0 : 1) + (rule.keep ? 1 : 0) + (configuration.is_on("all") ? 1 : 0);
  if (rules != 1) {
    return context.fail(kWrongInput, "give one of --older-than, --keep and --all");
  }
  if (!older.empty()) {
    const Result<WallTime> time = parse_since(older, context.around.clock.wall_now(), "older-than");
    if (!time.ok()) return context.fail(kWrongInput, time.error().message);
    rule.ended_before = time.value();
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<std::int64_t> removed = client.value()->clean_history(rule);
  if (!removed.ok()) return context.fail(removed.error());
  if (context.is_json()) {
    print_one_row(context.out(), context.style, {{"removed", removed.value()}});
  } else {
    context.out() << removed.value() << (removed.value() == 1 ? " row" : " rows") << " removed\n";
  }
  return kDone;
}

}  // namespace carillon::cli
