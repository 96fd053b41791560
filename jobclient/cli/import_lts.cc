#include "jobclient/cli/import_lts.h"

#include <utility>

#include "jobclient/cli/lts_jobs.h"
#include "jobclient/cli/takeover.h"

namespace carillon::cli {
namespace {

Result<LtsOptions> lts_options_from(const Context& context) {
  const Configuration& configuration = context.configuration;
  LtsOptions options{.now = context.around.clock.wall_now(),
                     .handler = configuration.text("handler"),
                     .handler_from = configuration.text("handler-from"),
                     .shell = configuration.text("shell"),
                     .retries_max = configuration.number("retries-max"),
                     .retry_base = configuration.duration("retry-base"),
                     .replace = configuration.is_on("replace")};
  if (!options.shell.empty() && !(options.handler.empty() && options.handler_from.empty())) {
    return Error{ErrorCode::kInvalidArgument,
                 "--shell stands instead of a handler (leave out --handler and --handler-from)"};
  }
  const std::string& tz = configuration.text("tz");
  options.zone = CARILLON_TRY(tz.empty() ? context.around.zone : Zone::load(tz));
  return options;
}

Result<std::vector<LtsRow>> read_rows(const Context& context) {
  const auto database = CARILLON_TRY(open_database(context, kLtsDatabase));
  return read_lts(*database, context.configuration.list("group"));
}

Row row_of(const LtsEntry& entry, const Takeover& moving, std::size_t i) {
  Row row{{"queue", std::string{to_string(entry.row.queue)}},
          {"status", moving.status(i)},
          {"task_id", entry.row.task_id},
          {"group", entry.row.group},
          {"schedule", entry.schedule}};
  if (moving.job(i).job.ok()) {
    const JobSpec& job = moving.job(i).job.value();
    row.emplace_back("tz", job.schedule.tz);
    row.emplace_back("handler", job.run.handler);
    row.emplace_back("priority", std::int64_t{job.priority});
    row.emplace_back("retries", std::int64_t{job.retries.max});
  }
  row.emplace_back("waiting", entry.waiting);
  row.emplace_back("lts_job_id", entry.row.job_id);
  row.emplace_back("note", moving.note(i));
  return row;
}

void print(const Context& context, const std::vector<LtsEntry>& entries, const Takeover& moving) {
  RowOutput output(context.out(), context.style,
                   {{"queue"},
                    {"status", ColumnKind::kState},
                    {"task_id", ColumnKind::kKey},
                    {"group"},
                    {"schedule"},
                    {"tz"},
                    {"handler"},
                    {"priority", ColumnKind::kNumber, true},
                    {"retries", ColumnKind::kNumber, true},
                    {"waiting", ColumnKind::kNumber, true},
                    {"note", ColumnKind::kText, true}});
  for (std::size_t i = 0; i < entries.size(); ++i) output.add(row_of(entries[i], moving, i));
  output.finish();
  context.out().flush();
  if (context.style.format == Format::kTable) moving.print_notes();
}

std::vector<TakenJob> jobs_of(const std::vector<LtsEntry>& entries) {
  std::vector<TakenJob> jobs;
  for (const LtsEntry& entry : entries) {
    jobs.push_back({.task_id = entry.row.task_id,
                    .job = entry.job,
                    .is_suspended = entry.row.queue == LtsQueue::kSuspended,
                    .notes = entry.notes});
  }
  return jobs;
}

}  // namespace

Verb declare_import_lts() {
  return {
      .name = "import lts",
      .summary = "Import the jobs of an LTS database",
      .description =
          "Shows for each job what would be submitted and what will differ, or why it cannot be "
          "imported. Imports cron and repeat definitions, suspended jobs, and waiting one-shot "
          "jobs. With --apply, submits them with their task ids and node groups, so a second "
          "import "
          "changes nothing. The database is only read. Stop the LTS task trackers of the node "
          "group first: otherwise both systems run its jobs.",
      .options =
          {{.name = "apply",
            .kind = OptionKind::kSwitch,
            .help =
                "Submit the jobs. Without it the verb only shows them and needs no job tracker."},
           {.name = "replace",
            .kind = OptionKind::kSwitch,
            .help = "Submit also jobs that exist here or have run here."},
           {.name = "group",
            .kind = OptionKind::kList,
            .placeholder = "GROUP",
            .help = "Only jobs of this node group; case does not matter.",
            .fallback_help = "all"},
           {.name = "handler",
            .placeholder = "NAME",
            .help = "Handler that runs the jobs. In LTS a node group has one runner without a "
                    "name.",
            .fallback_help = "the name of the node group",
            .if_empty = "leave it out for the name of the node group"},
           {.name = "handler-from",
            .placeholder = "PARAM",
            .help = "Parameter that names the handler, for jobs that have it: the shardField "
                    "of LTS's dispatching runner.",
            .if_empty = "leave it out for one handler"},
           {.name = "shell",
            .placeholder = "LINE",
            .help = "Shell line that runs the jobs instead of a handler. It sees the task id "
                    "in CARILLON_TASK_ID and parameters in CARILLON_PARAM_NAME.",
            .if_empty = "leave it out for a handler"},
           {.name = "tz",
            .placeholder = "ZONE",
            .help = "Time zone of LTS's job trackers, which its cron jobs use.",
            .fallback_help = "this machine's",
            .if_empty = "leave it out for this machine's zone"},
           {.name = "retries-max",
            .kind = OptionKind::kNumber,
            .placeholder = "COUNT",
            .help = "Most retries of a job: job.max.retry.times of LTS.",
            .fallback = "10",
            .max = 1000},
           {.name = "retry-base",
            .kind = OptionKind::kDuration,
            .placeholder = "DURATION",
            .help = "Wait before a retry: jobtracker.job.retry.interval.millis of LTS.",
            .fallback = "30s"}},
      .positionals = {{.name = "URL",
                       .help = "mysql://USER:PASSWORD@HOST/DATABASE; - reads it from stdin, which "
                               "hides the password from other users."}},
      .examples =
          "  jobclient import lts mysql://lts:secret@db1/lts --tz Asia/Shanghai\n"
          "  jobclient import lts - --group orders --apply < lts.url\n",
      .section = "Submit"};
}

int run_import_lts(Context& context) {
  const Result<LtsOptions> options = lts_options_from(context);
  if (!options.ok()) return context.fail(kWrongInput, options.error().message);
  const Result<std::vector<LtsRow>> lts_rows = read_rows(context);
  if (!lts_rows.ok()) {
    const bool is_unknown = lts_rows.error().code == ErrorCode::kNotFound;
    return context.fail(is_unknown ? kNotFound : kWrongInput, lts_rows.error().message);
  }
  const std::vector<LtsEntry> entries = read_lts_jobs(lts_rows.value(), options.value());
  Takeover moving(context, "LTS", jobs_of(entries));
  const bool is_applied = context.configuration.is_on("apply");
  if (is_applied) {
    const Status status = moving.apply();
    if (!status.ok()) return context.fail(status.error());
  }
  print(context, entries, moving);
  if (entries.empty() && !context.is_json()) {
    context.err() << (context.configuration.list("group").empty()
                          ? "no jobs in LTS\n"
                          : "no jobs of these node groups in LTS\n");
  }
  return moving.end(is_applied);
}

}  // namespace carillon::cli
