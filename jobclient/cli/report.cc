#include "jobclient/cli/report.h"

#include <array>
#include <map>

#include "shared/base/time_text.h"
#include "shared/job/zone.h"

namespace carillon::cli {
namespace {

constexpr std::array kCounts = {"succeeded", "failed",  "retried",  "skipped",
                                "missed",    "expired", "cancelled"};
constexpr std::int64_t kDaysMax = 400;

using Counts = std::map<std::string, std::int64_t>;

std::int64_t number_in(const Row& row, const char* name) {
  const Field* field = find_field(row, name);
  const auto* number = field == nullptr ? nullptr : std::get_if<std::int64_t>(field);
  return number == nullptr ? 0 : *number;
}

// When a day of the zone begins.
WallTime begin_of(const Zone& zone, std::chrono::local_days day) {
  return zone.lookup(LocalTime{day}).first;
}

std::string date_text(std::chrono::local_days day) {
  const std::chrono::sys_days same{day.time_since_epoch()};
  return format_time(same).substr(0, 10);
}

}  // namespace

Verb declare_report() {
  return {
      .name = "report",
      .summary = "Show counts of results per day",
      .description =
          "Counts attempts that ended (runs) and fires that ended without a run, per day of --tz. "
          "Counts are kept for 400 days, longer than the history. \"Retried\" counts attempts that "
          "failed, were lost or asked for \"later\", and ran again. \"Failed\" counts permanent "
          "failures. Column OK is \"succeeded\" in JSON.",
      .options = {{.name = "days",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Number of days, including today.",
                   .fallback = "7",
                   .min = 1,
                   .max = kDaysMax},
                  group_option(false, "Only this node group."),
                  {.name = "by-group",
                   .kind = OptionKind::kSwitch,
                   .help = "One row per node group."},
                  {.name = "tz",
                   .placeholder = "ZONE",
                   .help = "Time zone that defines the days.",
                   .fallback_help = "this machine's"}},
      .examples =
          "  jobclient report\n"
          "  jobclient report --days 30 --by-group -o json\n",
      .section = "See what is going on"};
}

int run_report(Context& context) {
  const Configuration& configuration = context.configuration;
  Zone zone = context.style.zone;
  if (const std::string& name = configuration.text("tz"); !name.empty()) {
    const Result<Zone> named = Zone::load(name);
    if (!named.ok()) return context.fail(kWrongInput, "--tz: " + named.error().message);
    zone = named.value();
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const bool by_group = configuration.is_on("by-group");
  std::vector<RowColumn> columns{{"day", ColumnKind::kTime}};
  if (by_group) columns.push_back({"group"});
  columns.push_back({"runs", ColumnKind::kNumber});
  for (const char* name : kCounts) columns.push_back({name, ColumnKind::kNumber});
  columns[by_group ? 3 : 2].header = "OK";  // succeeded: the table fits 80 columns
  RowOutput output(context.out(), context.style, std::move(columns));
  const auto now = std::chrono::floor<std::chrono::seconds>(context.around.clock.wall_now());
  const auto today = std::chrono::floor<std::chrono::days>(zone.to_local(now));
  for (std::int64_t ago = configuration.number("days") - 1; ago >= 0; --ago) {
    const std::chrono::local_days day = today - std::chrono::days{ago};
    const Result<RowPage> page =
        client.value()->counts({.group = configuration.text("group"),
                                .since = begin_of(zone, day),
                                .until = begin_of(zone, day + std::chrono::days{1})});
    if (!page.ok()) return context.fail(page.error());
    std::map<std::string, Counts> groups;
    if (!by_group) groups[""];
    for (const Row& row : page.value().rows) {
      Counts& counts = groups[by_group ? field_text(row, "group") : std::string{}];
      for (const char* name : kCounts) counts[name] += number_in(row, name);
    }
    for (auto& [group, counts] : groups) {
      Row row{{"day", date_text(day)}};
      if (by_group) row.emplace_back("group", group);
      row.emplace_back("runs", counts["succeeded"] + counts["failed"] + counts["retried"]);
      for (const char* name : kCounts) row.emplace_back(name, counts[name]);
      output.add(row);
    }
  }
  output.finish();
  return kDone;
}

}  // namespace carillon::cli
