#include "jobclient/cli/show.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "jobclient/cli/other_groups.h"
#include "shared/wire/spec_json.h"

namespace carillon::cli {
namespace {

using Json = nlohmann::ordered_json;

// The row with the fields of its `spec`, which is a JSON object as text, in place of it; those
// that the row has itself are left out.
Row with_spec_spread(const Row& row) {
  Row spread;
  for (const auto& [name, value] : row) {
    if (name != "spec") spread.emplace_back(name, value);
  }
  const Json spec = Json::parse(field_text(row, "spec"), nullptr, false);
  if (!spec.is_object()) return spread;
  for (const auto& [name, value] : spec.items()) {
    if (find_field(spread, name) != nullptr) continue;
    spread.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return spread;
}

// The row as JSON, its `spec` as an object in it and not as text.
std::string json_with_spec(const Row& row) {
  Json object = Json::parse(wire::row_to_json(row), nullptr, false);
  Json spec = Json::parse(field_text(row, "spec"), nullptr, false);
  if (object.is_object() && spec.is_object()) object["spec"] = std::move(spec);
  return object.dump();
}

}  // namespace

Verb declare_show() {
  return {.name = "show",
          .summary = "Show one task, and why it does not run",
          .description = "Prints its schedule, state, next fire and run. Times are local and UTC.",
          .options = {group_option(true, "The node group of the task.")},
          .positionals = {{.name = "TASK_ID", .help = "The task."}},
          .examples =
              "  jobclient show nightly --group ops\n"
              "  jobclient show nightly --group ops -o json\n",
          .section = "See what is going on"};
}

int run_show(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const TaskRef task = context.task();
  const Result<RowPage> page = client.value()->show(task);
  if (!page.ok()) return context.fail(name_other_groups(context, task, page.error()));
  if (page.value().rows.empty()) {
    return context.fail(kNotFound,
                        "no task '" + task.task_id + "' in group '" + task.group +
                            "' (--group names another group; list and waiting show all tasks)");
  }
  const Row& row = page.value().rows.front();
  if (context.is_json()) {
    context.out() << json_with_spec(row) << '\n';
  } else {
    context.say_zone();
    RowStyle style = context.style;
    if (const std::string tz = field_text(row, "tz"); !tz.empty()) {
      if (const Result<Zone> zone = Zone::load(tz); zone.ok()) style.zone = zone.value();
    }
    print_one_row(context.out(), style, with_spec_spread(row));
  }
  return kDone;
}

Verb declare_stats() {
  return {.name = "stats",
          .summary = "Show metrics of the job tracker",
          .description = "Prints counters since the start of the job tracker, and gauges.",
          .examples = "  jobclient stats\n",
          .section = "See what is going on"};
}

int run_stats(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<RowPage> page = client.value()->stats();
  if (!page.ok()) return context.fail(page.error());
  Row all;
  for (const Row& row : page.value().rows) all.insert(all.end(), row.begin(), row.end());
  print_one_row(context.out(), context.style, all);
  return kDone;
}

}  // namespace carillon::cli
