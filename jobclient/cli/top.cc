#include "jobclient/cli/top.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include "jobclient/cli/screen.h"
#include "shared/base/time_text.h"

namespace carillon::cli {
namespace {

constexpr Duration kRefresh = std::chrono::seconds{2};
// The rows of the last minutes; the clocks of the machines may differ.
constexpr Duration kFiguresBack = std::chrono::minutes{5};
constexpr std::size_t kLinesAbove = 4;  // the summary, and the header of the table
constexpr int kTopPagesMax = 100;

std::int64_t top_number(const Row& row, const std::string& name) {
  const Field* field = find_field(row, name);
  const auto* number = field == nullptr ? nullptr : std::get_if<std::int64_t>(field);
  return number == nullptr ? 0 : *number;
}

// The task trackers of a group.
struct TopNodes {
  std::int64_t workers = 0;
  std::int64_t threads = 0;
  std::int64_t free = 0;
};

// One look at the job tracker.
struct TopLook {
  SteadyTime at{};
  std::vector<Row> groups{};
  std::map<std::string, TopNodes> nodes{};
  std::map<std::string, Row> figures{};  // of the last minute
  std::int64_t submitted = 0;            // counters of the job tracker that is asked
  std::int64_t ended = 0;
};

using TopQuestion = Result<RowPage> (JobClient::*)(const RowFilter&);

Result<std::vector<Row>> all_rows(JobClient& client, TopQuestion question, RowFilter filter) {
  std::vector<Row> rows;
  for (int page_number = 0; page_number < kTopPagesMax; ++page_number) {
    RowPage page = CARILLON_TRY((client.*question)(filter));
    std::move(page.rows.begin(), page.rows.end(), std::back_inserter(rows));
    if (page.next.empty()) break;
    filter.after = std::move(page.next);
  }
  return rows;
}

// The newest row of each group, unless other groups have newer ones.
std::map<std::string, Row> newest_of(std::vector<Row> rows) {
  std::optional<WallTime> newest;
  for (const Row& row : rows) {
    const Result<WallTime> at = parse_time(field_text(row, "at"));
    if (at.ok() && (!newest || at.value() > *newest)) newest = at.value();
  }
  std::map<std::string, Row> by_group;
  for (Row& row : rows) {
    const Result<WallTime> at = parse_time(field_text(row, "at"));
    if (at.ok() && at.value() == *newest) by_group[field_text(row, "group")] = std::move(row);
  }
  return by_group;
}

Result<TopLook> look(JobClient& client, const Clock& clock, const std::string& group) {
  TopLook found;
  found.groups = CARILLON_TRY(all_rows(client, &JobClient::groups, {.group = group}));
  const auto nodes = CARILLON_TRY(all_rows(client, &JobClient::nodes, {.group = group}));
  for (const Row& node : nodes) {
    const std::string state = field_text(node, "state");
    if (state == "gone" || state == "unreachable") continue;
    TopNodes& of_group = found.nodes[field_text(node, "group")];
    ++of_group.workers;
    of_group.threads += top_number(node, "threads");
    of_group.free += top_number(node, "free");
  }
  found.figures = newest_of(CARILLON_TRY(all_rows(
      client, &JobClient::figures, {.group = group, .since = clock.wall_now() - kFiguresBack})));
  const RowPage stats = CARILLON_TRY(client.stats());
  for (const Row& row : stats.rows) {
    found.submitted += top_number(row, "jobs_submitted_total");
    found.ended += top_number(row, "attempts_ended_total");
  }
  found.at = clock.steady_now();
  return found;
}

// The busiest groups first.
std::vector<Row> top_rows(const TopLook& found) {
  std::vector<Row> rows;
  for (const Row& group : found.groups) {
    const std::string name = field_text(group, "group");
    const auto nodes = found.nodes.find(name);
    const TopNodes none;
    const TopNodes& of_group = nodes == found.nodes.end() ? none : nodes->second;
    Row row{{"group", name},
            {"kind", field_text(group, "kind")},
            {"workers", of_group.workers},
            {"threads", of_group.threads},
            {"free", of_group.free},
            {"executing", top_number(group, "executing")},
            {"due", top_number(group, "due")},
            {"waiting", top_number(group, "waiting")}};
    const auto figures = found.figures.find(name);
    for (const char* field : {"submitted", "started", "ended", "failed", "lateness_p50_ms",
                              "lateness_p95_ms", "lateness_p99_ms"}) {
      row.emplace_back(field, figures == found.figures.end() ? std::int64_t{0}
                                                             : top_number(figures->second, field));
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& one, const Row& other) {
    const auto key = [](const Row& row) {
      return std::tuple{-top_number(row, "due"), -top_number(row, "executing"),
                        -top_number(row, "ended")};
    };
    return key(one) < key(other);
  });
  return rows;
}

std::string rate(std::int64_t now, std::int64_t before, Duration time) {
  const double seconds = static_cast<double>(time.count()) / 1e6;
  const auto count = static_cast<double>(std::max<std::int64_t>(now - before, 0));
  char text[32];
  std::snprintf(text, sizeof text, "%.1f/s", seconds <= 0 ? 0.0 : count / seconds);
  return text;
}

std::string summary_of(const Context& context, const TopLook& now, const TopLook* before,
                       const std::vector<Row>& rows) {
  std::map<std::string, std::int64_t> sums;
  for (const Row& row : rows) {
    for (const char* field :
         {"workers", "threads", "free", "executing", "due", "started", "ended", "failed"})
      sums[field] += top_number(row, field);
  }
  const auto text = [&](const char* field) { return std::to_string(sums[field]); };
  RowStyle style = context.style;
  style.now = context.around.clock.wall_now();
  std::string lines = short_time(format_time(style.now), style) + "  groups " +
                      std::to_string(rows.size()) + "  workers " + text("workers") + "  threads " +
                      std::to_string(sums["threads"] - sums["free"]) + " of " + text("threads") +
                      "  running " + text("executing") + "  due " + text("due") + "\n";
  lines += "last minute: started " + text("started") + ", ended " + text("ended") + ", failed " +
           text("failed");
  if (before != nullptr) {
    const auto time = std::chrono::duration_cast<Duration>(now.at - before->at);
    lines += "; now: submitted " + rate(now.submitted, before->submitted, time) + ", ended " +
             rate(now.ended, before->ended, time);
  }
  return lines + "\n\n";
}

std::vector<RowColumn> top_columns() {
  const auto number = [](const char* field, const char* header) {
    return RowColumn{.field = field, .kind = ColumnKind::kNumber, .header = header};
  };
  return {{.field = "group", .kind = ColumnKind::kKey},
          {.field = "kind", .kind = ColumnKind::kText, .only_wide = true},
          number("workers", ""),
          number("threads", ""),
          number("executing", "RUNNING"),
          number("due", ""),
          number("waiting", ""),
          number("started", "STARTED/MIN"),
          number("ended", "ENDED/MIN"),
          number("failed", "FAILED/MIN"),
          number("lateness_p50_ms", "LATE P50 MS"),
          number("lateness_p99_ms", "LATE P99 MS")};
}

std::string text_of(const Context& context, const TopLook& now, const TopLook* before,
                    const TerminalSize& size) {
  std::vector<Row> rows = top_rows(now);
  std::ostringstream text;
  text << summary_of(context, now, before, rows);
  const std::size_t room = size.height > kLinesAbove + 2 ? size.height - kLinesAbove - 1 : 0;
  const std::size_t hidden = room != 0 && rows.size() > room ? rows.size() - room : 0;
  rows.resize(rows.size() - hidden);
  RowStyle style = context.style;
  style.terminal.width = size.width;
  RowOutput output(text, style, top_columns());
  for (const Row& row : rows) output.add(row);
  output.finish();
  if (hidden > 0) text << "and " << hidden << " more groups\n";
  return text.str();
}

void print_json(Context& context, const TopLook& now) {
  RowOutput output(context.out(), context.style, {});
  for (const Row& row : top_rows(now)) output.add(row);
  output.finish();
}

// Until somebody ends it. An unreachable job tracker is shown, and asked again.
int run_on_terminal(Context& context, JobClient& client, const std::string& group) {
  Screen screen(context.out(), context.around.input);
  std::optional<TopLook> before;
  do {
    Result<TopLook> now = look(client, context.around.clock, group);
    const TerminalSize size = current_size(context.around.terminal);
    if (now.ok()) {
      screen.show(text_of(context, now.value(), before ? &*before : nullptr, size), size.height);
      before = std::move(now).value();
    } else {
      screen.show("jobclient: top: " + context.for_out(now.error().message) + "\n", size.height);
    }
  } while (!screen.is_over_after(kRefresh));
  return kDone;
}

}  // namespace

Verb declare_top() {
  return {
      .name = "top",
      .summary = "Watch the node groups and their work",
      .description =
          "Shows for each node group its workers, threads, running, due and waiting jobs, and "
          "the jobs and lateness of the last complete minute. Refreshes every two seconds; q or "
          "Ctrl-C ends it. If stdout is not a terminal, it prints tables one below the other. "
          "-o json prints one array and ends.",
      .options = {group_option(false, "Only this node group."),
                  {.name = "once", .kind = OptionKind::kSwitch, .help = "Print once and end."}},
      .examples =
          "  jobclient top\n"
          "  jobclient top --once -o json\n",
      .section = "See what is going on"};
}

int run_top(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const std::string& group = context.configuration.text("group");
  const bool is_once = context.configuration.is_on("once") || context.style.format == Format::kJson;
  if (!is_once && !context.is_json() && context.around.terminal.out_is_terminal)
    return run_on_terminal(context, *client.value(), group);
  std::optional<TopLook> before;
  while (true) {
    Result<TopLook> now = look(*client.value(), context.around.clock, group);
    if (!now.ok()) return context.fail(now.error());
    if (context.is_json()) {
      print_json(context, now.value());
    } else {
      if (before) context.out() << '\n';
      context.out() << text_of(context, now.value(), before ? &*before : nullptr,
                               {.width = context.around.terminal.width});
    }
    context.out().flush();
    if (!context.out()) return context.fail(kRefused, kCannotWrite);
    if (is_once) return kDone;
    before = std::move(now).value();
    context.around.pause(kRefresh);
  }
}

}  // namespace carillon::cli
