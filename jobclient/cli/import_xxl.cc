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
      .summary = "Take over the jobs of an xxl-job database",
      .description =
          "Shows, job by job, what would be submitted, what will differ, and what cannot be taken "
          "over and why, and names the executor groups and users that are left. With --apply, "
          "submits the jobs, each as the task of its number in xxl-job in the node group of its "
          "app name, so a second import changes nothing. The database is only read. Stop "
          "xxl-job's admin first, or both will run its jobs.",
      .options = {{.name = "apply",
                   .kind = OptionKind::kSwitch,
                   .help = "Submit; without it nothing is changed and no job tracker is needed."},
                  {.name = "replace",
                   .kind = OptionKind::kSwitch,
                   .help = "Submit also what is here already or has run here."},
                  {.name = "dispatch",
                   .placeholder = "HOW",
                   .help = "Who runs the jobs: push, the executors that xxl-job has called; "
                           "pull, task trackers of Carillon.",
                   .fallback = "push",
                   .choices = {"push", "pull"}},
                  {.name = "group",
                   .kind = OptionKind::kList,
                   .placeholder = "APP",
                   .help = "Only the jobs of this executor group, by its app name.",
                   .fallback_help = "all of them"},
                  {.name = "tz",
                   .placeholder = "ZONE",
                   .help = "The time zone that xxl-job's admin runs in, which is that of its cron "
                           "jobs.",
                   .fallback_help = "this machine's",
                   .if_empty = "leave it out for this machine's zone"},
                  {.name = "retry-base",
                   .kind = OptionKind::kDuration,
                   .placeholder = "DURATION",
                   .help = "The wait before a retry; xxl-job looks for failures every 10s.",
                   .fallback = "10s"},
                  {.name = "prefix",
                   .placeholder = "TEXT",
                   .help = "What the task ids begin with, before the number of the job.",
                   .fallback = "xxl-"}},
      .positionals = {{.name = "URL",
                       .help = "mysql://USER:PASSWORD@HOST/DATABASE; - reads it from stdin, where "
                               "no other user of the machine sees the password."}},
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
