#include "jobclient/cli/ask.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "jobclient/cli/act.h"
#include "jobclient/cli/follow.h"
#include "shared/base/time_text.h"

namespace carillon::cli {
namespace {

using Ask = Result<RowPage> (JobClient::*)(const RowFilter&);

constexpr const char* kAskSection = "See what is going on";

// A terminal gets this many rows without --limit.
constexpr std::int64_t kRowsOnTerminal = 200;

Option task_option() {
  return {.name = "task-id",
          .placeholder = "TASK_ID",
          .help = "Only this task.",
          .if_empty = kAllIfLeftOut};
}

Option limit_option() {
  return {.name = "limit",
          .kind = OptionKind::kNumber,
          .placeholder = "N",
          .help = "Most rows to print; 0 means all.",
          .fallback = "0",
          .fallback_help = "200 on a terminal, otherwise all"};
}

Verb declare(const char* name, const char* summary, const char* description,
             std::vector<Option> options, const char* examples) {
  return {.name = name,
          .summary = summary,
          .description = description,
          .options = std::move(options),
          .examples = examples,
          .section = kAskSection};
}

// "nothing is waiting in group mail": what an empty table would leave open.
void say_nothing_found(Context& context, const std::string& what, const RowFilter& filter,
                       const std::vector<std::string>& states) {
  context.err() << what;
  if (!filter.task_id.empty()) context.err() << " of task " << filter.task_id;
  if (filter.job_id) context.err() << " of job " << filter.job_id.value;
  if (!filter.group.empty()) context.err() << " in group " << filter.group;
  for (std::size_t i = 0; i < states.size(); ++i)
    context.err() << (i == 0 ? " as " : " or ") << states[i];
  context.err() << '\n';
}

// Whether "db,disk" has one of the words.
bool has_any(std::string_view list, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [list](const std::string& word) {
    return ("," + std::string{list} + ",").find("," + word + ",") != std::string::npos;
  });
}

struct AskWishes {
  std::vector<std::string> states{};  // rows of others are left out; none: of none
  std::vector<std::string> tags{};    // rows without any of these are left out; none: of none
  std::function<Status(JobClient&, Row&)> complete{};  // adds what the job tracker does not send
  bool is_filtered_here = false;                       // the job tracker sends rows of all states
};

// Sets what --since says.
Status read_since(Context& context, RowFilter& filter) {
  const std::string& since = context.configuration.text("since");
  if (since.empty()) return {};
  filter.since = CARILLON_TRY(parse_since(since, context.around.clock.wall_now()));
  return {};
}

int ask(Context& context, Ask question, RowFilter filter, std::vector<RowColumn> columns,
        const std::string& when_empty, const AskWishes& wishes = {}) {
  const auto& [states, tags, complete, is_filtered_here] = wishes;
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const bool is_cut = !context.configuration.was_given("limit") && !context.is_json() &&
                      context.around.terminal.out_is_terminal;
  filter.limit = is_cut ? kRowsOnTerminal : context.configuration.number("limit");
  const auto limit = static_cast<std::size_t>(filter.limit);
  filter.states = states;
  // A job tracker of an older version sends rows of all states.
  const auto is_wanted = [&wishes](const Row& row) {
    const auto& wanted = wishes.states;
    return (wanted.empty() ||
            std::find(wanted.begin(), wanted.end(), field_text(row, "state")) != wanted.end()) &&
           (wishes.tags.empty() || has_any(field_text(row, "tags"), wishes.tags));
  };
  context.say_zone();
  RowOutput output(context.out(), context.style, std::move(columns));
  bool more = true;
  while (more && (limit == 0 || output.count() < limit)) {
    if (limit != 0) filter.limit = static_cast<std::int64_t>(limit - output.count());
    if (is_filtered_here) filter.limit = 0;  // A page may hold few that are wanted.
    Result<RowPage> page = (client.value()->*question)(filter);
    if (!page.ok()) return context.fail(page.error());
    filter.after = page.value().next;
    more = !filter.after.empty();
    for (Row& row : page.value().rows) {
      if (!is_wanted(row)) continue;
      if (limit != 0 && output.count() == limit) {
        more = true;
        break;
      }
      if (complete) {
        if (const Status done = complete(*client.value(), row); !done.ok())
          return context.fail(done.error());
      }
      output.add(row);
    }
  }
  output.finish();
  context.out().flush();
  if (output.count() == 0 && !context.is_json())
    say_nothing_found(context, when_empty, filter, states);
  if (is_cut && more) {
    context.err() << "only the first " << limit << " rows are shown; --limit 0 shows all\n";
  }
  return kDone;
}

RowFilter filter_of(const Context& context) {
  return {.group = context.configuration.text("group"),
          .task_id = context.configuration.text("task-id")};
}

}  // namespace

Verb declare_list() {
  Verb verb = declare(
      "list", "List definitions with their next fire and last result",
      "Lists cron jobs, repeating jobs and jobs that only run when triggered. -o wide shows every "
      "field.",
      {group_option(false, "Only this node group."),
       task_option(),
       {.name = "state",
        .kind = OptionKind::kList,
        .placeholder = "STATE,...",
        .help = "Only definitions in one of these states.",
        .choices = {"active", "suspended", "quarantined", "ended"},
        .by_comma = true},
       {.name = "tags",
        .kind = OptionKind::kList,
        .placeholder = "TAG,...",
        .help = "Only definitions with one of these tags.",
        .also_called = {"tag"},
        .by_comma = true},
       limit_option()},
      "  jobclient list\n"
      "  jobclient list --state suspended,quarantined\n"
      "  jobclient list --group ops -o json\n");
  verb.also_called = {"ls"};
  return verb;
}

// The state of the newest row in the history, for people. A task that never ran has none.
Status add_last_result(JobClient& client, Row& row) {
  const bool may_have_run =
      !field_text(row, "last_fire").empty() || field_text(row, "kind") == "manual";
  RowFilter filter{
      .group = field_text(row, "group"), .task_id = field_text(row, "task_id"), .limit = 1};
  while (may_have_run) {
    const RowPage page = CARILLON_TRY(client.history(filter));
    if (!page.rows.empty()) {
      row.emplace_back("last_result", field_text(page.rows.front(), "state"));
      break;
    }
    if (page.next.empty()) break;
    filter.after = page.next;
  }
  return {};
}

int run_list(Context& context) {
  AskWishes wishes{.states = context.configuration.list("state"),
                   .tags = context.configuration.list("tags")};
  wishes.is_filtered_here = !wishes.states.empty() || !wishes.tags.empty();
  // A question for each row is too slow for programs that read thousands.
  if (!context.is_json()) wishes.complete = add_last_result;
  return ask(context, &JobClient::list, filter_of(context),
             {{"task_id", ColumnKind::kKey},
              {"group"},
              {"kind"},
              {"schedule"},
              {"tz"},
              {"dst", ColumnKind::kText, true},
              {"state", ColumnKind::kState},
              {"next_fire", ColumnKind::kTime},
              {"last_fire", ColumnKind::kTime},
              {"last_result", ColumnKind::kState, false, "RESULT"},
              {"priority", ColumnKind::kNumber, true},
              {"overlap", ColumnKind::kText, true},
              {"running", ColumnKind::kNumber, true},
              {"tags", ColumnKind::kText, true},
              {"description", ColumnKind::kText, true},
              {"owner", ColumnKind::kText, true}},
             "nothing is defined", wishes);
}

Verb declare_waiting() {
  return declare("waiting", "List jobs that wait for their time or for a free thread",
                 "Jobs appear in the order in which they run.",
                 {group_option(false, "Only this node group."), task_option(), limit_option()},
                 "  jobclient waiting --group ops\n"
                 "  jobclient waiting -o jsonl | wc -l\n");
}

int run_waiting(Context& context) {
  return ask(context, &JobClient::waiting, filter_of(context),
             {{"job_id", ColumnKind::kNumber},
              {"task_id"},
              {"group"},
              {"trigger_time", ColumnKind::kTime},
              {"due_time", ColumnKind::kTime, true},
              {"priority", ColumnKind::kNumber},
              {"attempt", ColumnKind::kNumber},
              {"kind"},
              {"state", ColumnKind::kState}},
             "nothing is waiting");
}

Verb declare_executing() {
  return declare(
      "executing", "List jobs that are running",
      "Shows the task tracker that runs each job and, with -o wide, the end of its lease.",
      {group_option(false, "Only this node group."), task_option(), limit_option()},
      "  jobclient executing\n");
}

int run_executing(Context& context) {
  return ask(context, &JobClient::executing, filter_of(context),
             {{"job_id", ColumnKind::kNumber},
              {"task_id"},
              {"group"},
              {"attempt", ColumnKind::kNumber},
              {"node"},
              {"trigger_time", ColumnKind::kTime, true},
              {"started_at", ColumnKind::kTime},
              {"lease_until", ColumnKind::kTime, true}},
             "nothing is executing");
}

Verb declare_history() {
  Verb verb = declare(
      "history", "List past runs and their results",
      "Prints one row per ended attempt and per fire that ended without a run (skipped, missed, "
      "expired, cancelled), newest first.",
      {group_option(false, "Only this node group."),
       task_option(),
       {.name = "job", .placeholder = "ID", .help = "Only this job."},
       {.name = "since",
        .placeholder = "TIME",
        .help = "Only rows that ended after this: an age like 1h, or an RFC 3339 time."},
       {.name = "state",
        .kind = OptionKind::kList,
        .placeholder = "STATE,...",
        .help = "Only rows with one of these results.",
        .choices = {"succeeded", "failed", "timed_out", "killed", "lost", "later", "discarded",
                    "skipped", "missed", "expired", "cancelled"},
        .by_comma = true},
       limit_option()},
      "  jobclient history nightly --since 24h\n"
      "  jobclient history --state failed,timed_out --since 24h\n"
      "  jobclient history --job 7211004000000000017\n"
      "  jobclient history --group ops --limit 20 -o json\n");
  verb.positionals = {
      {.name = "TASK_ID", .help = "Only this task, like --task-id.", .required = false}};
  return verb;
}

int run_history(Context& context) {
  RowFilter filter = filter_of(context);
  if (context.configuration.has("TASK_ID")) {
    if (!filter.task_id.empty())
      return context.fail(kWrongInput, "TASK_ID and --task-id contradict each other (give one)");
    filter.task_id = context.configuration.text("TASK_ID");
  }
  if (const Status read = read_since(context, filter); !read.ok())
    return context.fail(kWrongInput, read.error().message);
  if (const std::string& job = context.configuration.text("job"); !job.empty()) {
    const Result<JobId> id = parse_job_id(job);
    if (!id.ok()) return context.fail(kWrongInput, id.error().message);
    const auto client = context.client();
    if (!client.ok()) return context.fail(kWrongInput, client.error().message);
    const Result<Row> state = state_of_job(*client.value(), id.value());
    if (!state.ok()) return context.fail(state.error());
    filter.job_id = id.value();
  }
  return ask(context, &JobClient::history, filter,
             {{"job_id", ColumnKind::kNumber},
              {"task_id"},
              {"group", ColumnKind::kText, true},
              {"attempt", ColumnKind::kNumber},
              {"state", ColumnKind::kState},
              {"trigger_time", ColumnKind::kTime, true},
              {"started_at", ColumnKind::kTime, true},
              {"ended_at", ColumnKind::kTime},
              {"lateness_ms", ColumnKind::kNumber, true},
              {"node"},
              {"exit_code", ColumnKind::kNumber},
              {"message", ColumnKind::kLong},
              {"count", ColumnKind::kNumber, true}},
             "nothing has ended", {.states = context.configuration.list("state")});
}

Verb declare_audit() {
  return {
      .name = "audit",
      .summary = "List changes and who made them",
      .description =
          "Prints one row per change and per refused attempt, newest first. -o jsonl exports "
          "them with the state before and after.",
      .options = {group_option(false, "Only this node group."),
                  task_option(),
                  {.name = "by", .placeholder = "NAME", .help = "Only changes of this principal."},
                  {.name = "since",
                   .placeholder = "TIME",
                   .help = "Only rows from this time on: an age like 1h, or an RFC 3339 time."},
                  limit_option()},
      .examples =
          "  jobclient audit --task-id nightly --group ops\n"
          "  jobclient audit --by anna --since 24h\n"
          "  jobclient audit --limit 0 -o jsonl > audit.jsonl\n",
      .section = "See what is going on"};
}

int run_audit(Context& context) {
  RowFilter filter = filter_of(context);
  filter.by = context.configuration.text("by");
  if (const Status read = read_since(context, filter); !read.ok())
    return context.fail(kWrongInput, read.error().message);
  return ask(context, &JobClient::audit, filter,
             {{"time", ColumnKind::kTime},
              {"by"},
              {"kind", ColumnKind::kText, true},
              {"address", ColumnKind::kText, true},
              {"action"},
              {"group"},
              {"task_id"},
              {"outcome"},
              {"before", ColumnKind::kLong, true},
              {"after", ColumnKind::kLong, true}},
             "no changes are recorded");
}

Verb declare_nodes() {
  return declare("nodes", "List task trackers and executors, including those that are gone",
                 "Shows where each runs, its threads and its free threads. -o wide adds labels.",
                 {group_option(false, "Only this node group."), limit_option()},
                 "  jobclient nodes\n");
}

int run_nodes(Context& context) {
  return ask(context, &JobClient::nodes, {.group = context.configuration.text("group")},
             {{"name"},
              {"kind"},
              {"group"},
              {"address"},
              {"state", ColumnKind::kState},
              {"threads", ColumnKind::kNumber},
              {"free", ColumnKind::kNumber},
              {"last_seen", ColumnKind::kTime},
              {"labels", ColumnKind::kText, true}},
             "no node is known");
}

Verb declare_groups() {
  return declare("groups", "List node groups and their work",
                 "A node group is a set of interchangeable task trackers. A job names the group "
                 "that runs it.",
                 {limit_option()}, "  jobclient groups\n");
}

int run_groups(Context& context) {
  return ask(context, &JobClient::groups, {},
             {{"group"},
              {"kind"},
              {"waiting", ColumnKind::kNumber},
              {"executing", ColumnKind::kNumber},
              {"due", ColumnKind::kNumber},
              {"nodes", ColumnKind::kNumber},
              {"parts", ColumnKind::kNumber, true}},
             "no node group is known");
}

Verb declare_alarms() {
  return declare("alarms", "List alarms about node groups that are on",
                 "Also shows silenced groups. --history lists the messages that were sent or could "
                 "not be delivered, newest first.",
                 {group_option(false, "Only this node group."),
                  {.name = "history", .kind = OptionKind::kSwitch, .help = "Sent messages."},
                  limit_option()},
                 "  jobclient alarms\n"
                 "  jobclient alarms --history --group reports\n");
}

int run_alarms(Context& context) {
  const RowFilter filter{.group = context.configuration.text("group")};
  if (context.configuration.is_on("history")) {
    return ask(context, &JobClient::alarm_history, filter,
               {{"at", ColumnKind::kTime},
                {"group"},
                {"rule"},
                {"state", ColumnKind::kState},
                {"recipients"},
                {"message", ColumnKind::kLong}},
               "no alarm was sent");
  }
  return ask(context, &JobClient::alarms, filter,
             {{"group"},
              {"rule"},
              {"state", ColumnKind::kState},
              {"since", ColumnKind::kTime},
              {"until", ColumnKind::kTime},
              {"message", ColumnKind::kLong}},
             "no alarm is on");
}

Result<WallTime> parse_since(const std::string& text, WallTime now, const std::string& option) {
  const Result<Duration> ago = parse_duration(text);
  if (ago.ok()) return now - ago.value();
  const Result<WallTime> time = parse_time(text);
  if (time.ok()) return time.value();
  return Error{ErrorCode::kInvalidArgument, "--" + option + " '" + text +
                                                "' is neither a duration nor a time (write 90s, "
                                                "30m, 12h or 7d, or 2026-11-21T08:00:00Z)"};
}

}  // namespace carillon::cli
