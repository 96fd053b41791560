#include "jobclient/cli/import_xxl.h"

#include <algorithm>
#include <utility>

#include "jobclient/cli/takeover.h"
#include "jobclient/cli/text_width.h"
#include "jobclient/cli/xxl_jobs.h"

namespace carillon::cli {
namespace {

Result<XxlOptions> xxl_options_from(const Context& context) {
  const Configuration& configuration = context.configuration;
  XxlOptions options{.now = context.around.clock.wall_now(),
                     .groups = configuration.list("group"),
                     .prefix = configuration.text("prefix"),
                     .dispatch = configuration.text("dispatch") == "pull" ? XxlDispatch::kPull
                                                                          : XxlDispatch::kPush,
                     .retry_base = configuration.duration("retry-base"),
                     .replace = configuration.is_on("replace")};
  const std::string& tz = configuration.text("tz");
  options.zone = CARILLON_TRY(tz.empty() ? context.around.zone : Zone::load(tz));
  return options;
}

Result<XxlDatabase> read_database(const Context& context) {
  const auto database = CARILLON_TRY(open_database(context, kXxlDatabase));
  return read_xxl_job(*database);
}

Status check_known(const std::vector<std::string>& wanted, const std::vector<XxlGroup>& known) {
  std::vector<std::string> names;
  for (const XxlGroup& group : known) names.push_back(group.app_name);
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return Error{ErrorCode::kNotFound, "xxl-job has no executor group with the app name '" + name +
                                           "'" + those_there_are(names)};
  }
  return {};
}

std::vector<TakenJob> jobs_of(const std::vector<XxlEntry>& entries) {
  std::vector<TakenJob> jobs;
  for (const XxlEntry& entry : entries) {
    jobs.push_back({.task_id = entry.task_id,
                    .job = entry.job,
                    .is_suspended = entry.is_suspended,
                    .notes = entry.notes,
                    .scripts = entry.scripts});
  }
  return jobs;
}

Row row_of(const XxlLeft& left) {
  return {{"kind", left.kind},
          {"status", std::string{"left"}},
          {"name", left.name},
          {"title", left.title},
          {"note", left.note}};
}

Row row_of(const XxlEntry& entry, const Takeover& moving, std::size_t i) {
  Row row{{"kind", std::string{"job"}}, {"status", moving.status(i)}, {"name", entry.task_id},
          {"group", entry.group},       {"title", entry.row.name},    {"schedule", entry.schedule}};
  if (moving.job(i).job.ok()) row.emplace_back("tz", moving.job(i).job.value().schedule.tz);
  row.emplace_back("state", std::string{entry.is_suspended ? "suspended" : "active"});
  row.emplace_back("run", entry.row.glue_type == "BEAN" ? entry.row.handler : entry.row.glue_type);
  row.emplace_back("route", entry.row.route);
  row.emplace_back("block", entry.row.block);
  row.emplace_back("retries", entry.row.retries);
  row.emplace_back("xxl_job_id", entry.row.id);
  row.emplace_back("note", moving.note(i));
  return row;
}

void print(const Context& context, const std::vector<XxlEntry>& entries,
           const std::vector<XxlLeft>& left, const Takeover& moving) {
  RowOutput output(context.out(), context.style,
                   {{"kind"},
                    {"status", ColumnKind::kState},
                    {"name", ColumnKind::kKey},
                    {"group"},
                    {"title"},
                    {"schedule"},
                    {"tz"},
                    {"state", ColumnKind::kState},
                    {"run"},
                    {"route", ColumnKind::kText, true},
                    {"block", ColumnKind::kText, true},
                    {"retries", ColumnKind::kNumber, true},
                    {"note", ColumnKind::kText, true}});
  for (const XxlLeft& one : left) output.add(row_of(one));
  for (std::size_t i = 0; i < entries.size(); ++i) output.add(row_of(entries[i], moving, i));
  output.finish();
  context.out().flush();
  if (context.style.format != Format::kTable) return;
  for (const XxlLeft& one : left) {
    context.err() << one.kind << ' ' << one.name << ": " << one.note << '\n';
  }
  moving.print_notes();
}

}  // namespace

Verb declare_import_xxl() {
  return {
      .name = "import xxl-job",
      .summary = "Import the jobs of an xxl-job database",
      .description =
          "Shows for each job what would be submitted and what will differ, or why it cannot be "
          "imported. Lists the executor groups and users, which are not imported. With --apply, "
          "submits the jobs. A job keeps its number as task id and its app name as node group, so "
          "a second import changes nothing. The database is only read. Stop the xxl-job admin "
          "first: otherwise both systems run its jobs.",
      .options =
          {{.name = "apply",
            .kind = OptionKind::kSwitch,
            .help =
                "Submit the jobs. Without it the verb only shows them and needs no job tracker."},
           {.name = "replace",
            .kind = OptionKind::kSwitch,
            .help = "Submit also jobs that exist here or have run here."},
           {.name = "dispatch",
            .placeholder = "HOW",
            .help = "push: the executors of xxl-job run the jobs. pull: Carillon task "
                    "trackers run them.",
            .fallback = "push",
            .choices = {"push", "pull"}},
           {.name = "group",
            .kind = OptionKind::kList,
            .placeholder = "APP",
            .help = "Only jobs of the executor group with this app name.",
            .fallback_help = "all"},
           {.name = "tz",
            .placeholder = "ZONE",
            .help = "Time zone of the xxl-job admin, which its cron jobs use.",
            .fallback_help = "this machine's",
            .if_empty = "leave it out for this machine's zone"},
           {.name = "retry-base",
            .kind = OptionKind::kDuration,
            .placeholder = "DURATION",
            .help = "Wait before a retry; xxl-job checks for failures every 10s.",
            .fallback = "10s"},
           {.name = "prefix",
            .placeholder = "TEXT",
            .help = "Beginning of the task ids, before the number of the job.",
            .fallback = "xxl-"}},
      .positionals = {{.name = "URL",
                       .help = "mysql://USER:PASSWORD@HOST/DATABASE; - reads it from stdin, which "
                               "hides the password from other users."}},
      .examples =
          "  jobclient import xxl-job mysql://reader:secret@db1/xxl_job --tz Asia/Shanghai\n"
          "  jobclient import xxl-job - --dispatch pull --group billing --apply < xxl.url\n",
      .section = "Submit"};
}

int run_import_xxl(Context& context) {
  const Result<XxlOptions> options = xxl_options_from(context);
  if (!options.ok()) return context.fail(kWrongInput, options.error().message);
  const Result<XxlDatabase> database = read_database(context);
  if (!database.ok()) return context.fail(kWrongInput, database.error().message);
  const Status known = check_known(options.value().groups, database.value().groups);
  if (!known.ok()) return context.fail(known.error());
  const std::vector<XxlEntry> entries = read_xxl_jobs(database.value(), options.value());
  const std::vector<XxlLeft> left = what_xxl_leaves(database.value(), options.value());
  Takeover moving(context, "xxl-job", jobs_of(entries));
  const bool is_applied = context.configuration.is_on("apply");
  if (is_applied) {
    const Status status = moving.apply();
    if (!status.ok()) return context.fail(status.error());
  }
  print(context, entries, left, moving);
  if (entries.empty() && !context.is_json()) {
    context.err() << (options.value().groups.empty() ? "no jobs in xxl-job\n"
                                                     : "no jobs of these groups in xxl-job\n");
  }
  return moving.end(is_applied);
}

}  // namespace carillon::cli
