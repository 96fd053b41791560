#include "jobclient/cli/import_lts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/lts_jobs.h"

namespace carillon::cli {
namespace {

constexpr std::size_t kUrlBytesMax = 4096;
// More task ids than these are only counted where a note is said of them.
constexpr std::size_t kNoteTasksMax = 5;

Result<LtsOptions> options_from(const Context& context) {
  const Configuration& configuration = context.configuration;
  LtsOptions options{.now = context.around.clock.wall_now(),
                     .handler = configuration.text("handler"),
                     .handler_from = configuration.text("handler-from"),
                     .retries_max = configuration.number("retries-max"),
                     .replace = configuration.is_on("replace")};
  const std::string& tz = configuration.text("tz");
  options.zone = CARILLON_TRY(tz.empty() ? context.around.zone : Zone::load(tz));
  return options;
}

Result<std::vector<LtsRow>> read_rows(const Context& context) {
  std::string url = context.configuration.text("URL");
  if (url == "-") {
    url = CARILLON_TRY(read_file(url, kUrlBytesMax, context.around.input));
    url.erase(std::min(url.find_first_of("\r\n"), url.size()));
  }
  const auto database = CARILLON_TRY(context.around.open_database(url));
  return read_lts(*database, context.configuration.list("group"));
}

// What became of one entry.
struct Outcome {
  std::string status{};
  std::string reason{};
};

bool is_here(const Outcome& outcome) {
  return outcome.status == to_string(SubmitStatus::kAccepted) ||
         outcome.status == to_string(SubmitStatus::kDuplicate);
}

class Import {
 public:
  Import(Context& context, const std::vector<LtsEntry>& entries)
      : context_(context), entries_(entries), outcomes_(entries.size()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Result<JobSpec>& job = entries_[i].job;
      outcomes_[i] = job.ok() ? Outcome{.status = "would submit"}
                              : Outcome{.status = "refused", .reason = job.error().message};
    }
  }

  // What ends here leaves no task behind, so its id alone would not make a second import of it a
  // duplicate: the history knows.
  Status apply() {
    JobClient* const client = CARILLON_TRY(context_.client());
    std::vector<JobSpec> jobs;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].job.ok()) continue;
      const JobSpec& job = entries_[i].job.value();
      if (!job.replace_on_exist && CARILLON_TRY(has_run(*client, job))) {
        outcomes_[i] = {.status = to_string(SubmitStatus::kDuplicate), .reason = kThere};
      } else if (entries_[i].row.queue == LtsQueue::kSuspended) {
        // One by one: between the two calls it could run.
        CARILLON_TRY(submit_suspended(*client, job, outcomes_[i]));
      } else {
        jobs.push_back(job);
        places.push_back(i);
      }
    }
    const std::vector<SubmitAnswer> answers = CARILLON_TRY(client->submit(std::move(jobs)));
    for (std::size_t i = 0; i < answers.size(); ++i) outcomes_[places[i]] = outcome_of(answers[i]);
    return {};
  }

  std::vector<Row> rows() const {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < entries_.size(); ++i) rows.push_back(row(i));
    return rows;
  }

  std::ptrdiff_t count(const std::string& status) const {
    return std::count_if(outcomes_.begin(), outcomes_.end(),
                         [&status](const Outcome& one) { return one.status == status; });
  }
  bool are_all_here() const { return std::all_of(outcomes_.begin(), outcomes_.end(), is_here); }

 private:
  static constexpr const char* kThere = "is here already, or has run here (--replace submits it)";

  static Result<bool> has_run(JobClient& client, const JobSpec& job) {
    const Result<RowPage> page =
        client.history({.group = job.group, .task_id = job.task_id, .limit = 1});
    if (page.ok()) return !page.value().rows.empty();
    // A group that the job tracker has never heard of.
    if (page.error().code == ErrorCode::kNotFound) return false;
    return page.error();
  }

  static Outcome outcome_of(const SubmitAnswer& answer) {
    Outcome outcome{.status = to_string(answer.status), .reason = answer.reason};
    if (answer.status == SubmitStatus::kDuplicate) outcome.reason = kThere;
    if (!answer.warning.empty()) {
      outcome.reason += (outcome.reason.empty() ? "" : "; ") + answer.warning;
    }
    return outcome;
  }

  static Status submit_suspended(JobClient& client, const JobSpec& job, Outcome& outcome) {
    outcome = outcome_of(CARILLON_TRY(client.submit_one(job)));
    if (outcome.status != to_string(SubmitStatus::kAccepted)) return {};
    const Result<ActAnswer> suspended =
        client.suspend({.task_id = job.task_id, .group = job.group});
    if (!suspended.ok()) {
      outcome.reason = "is suspended in LTS, but not here: " + suspended.error().message +
                       " (jobclient suspend does it)";
    }
    return {};
  }

  Row row(std::size_t i) const {
    const LtsEntry& entry = entries_[i];
    Row row{{"queue", std::string{to_string(entry.row.queue)}},
            {"status", outcomes_[i].status},
            {"task_id", entry.row.task_id},
            {"group", entry.row.group},
            {"schedule", entry.schedule}};
    if (entry.job.ok()) {
      const JobSpec& job = entry.job.value();
      row.emplace_back("tz", job.schedule.tz);
      row.emplace_back("handler", job.run.handler);
      row.emplace_back("priority", std::int64_t{job.priority});
      row.emplace_back("retries", std::int64_t{job.retries.max});
    }
    row.emplace_back("waiting", entry.waiting);
    row.emplace_back("lts_job_id", entry.row.job_id);
    std::string text = outcomes_[i].reason;
    for (const std::string& more : entry.notes) text += (text.empty() ? "" : "; ") + more;
    row.emplace_back("note", text);
    return row;
  }

  Context& context_;
  const std::vector<LtsEntry>& entries_;
  std::vector<Outcome> outcomes_;
};

// Each note once, with the tasks that it is said of.
void print_notes(const Context& context, const std::vector<Row>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> tasks;
  for (const Row& row : rows) {
    const std::string text = field_text(row, "note");
    if (text.empty()) continue;
    std::vector<std::string>& named = tasks[text];
    if (named.empty()) order.push_back(text);
    named.push_back(field_text(row, "task_id"));
  }
  for (const std::string& text : order) {
    const std::vector<std::string>& named = tasks[text];
    std::string line;
    for (std::size_t i = 0; i < std::min(named.size(), kNoteTasksMax); ++i) {
      line += (i == 0 ? "" : ", ") + named[i];
    }
    if (named.size() > kNoteTasksMax) {
      line += " and " + std::to_string(named.size() - kNoteTasksMax) + " more";
    }
    context.err() << line << ": " << text << '\n';
  }
}

void print_rows(const Context& context, const std::vector<Row>& rows) {
  using Kind = RowColumn::Kind;
  RowOutput output(context.out(), context.style,
                   {{"queue"},
                    {"status", Kind::kState},
                    {"task_id", Kind::kKey},
                    {"group"},
                    {"schedule"},
                    {"tz"},
                    {"handler"},
                    {"priority", Kind::kNumber, true},
                    {"retries", Kind::kNumber, true},
                    {"waiting", Kind::kNumber, true},
                    {"note", Kind::kText, true}});
  for (const Row& row : rows) output.add(row);
  output.finish();
  context.out().flush();
  if (context.style.format == Format::kTable) print_notes(context, rows);
}

std::string jobs(std::ptrdiff_t count) {
  return std::to_string(count) + (count == 1 ? " job" : " jobs");
}

}  // namespace

Verb declare_import_lts() {
  return {
      .name = "import lts",
      .summary = "Take over the jobs of an LTS database",
      .description =
          "Shows, job by job, what would be submitted, what will differ, and what cannot be taken "
          "over and why: the cron and repeat definitions, suspended ones, and what waits to be run "
          "once. With --apply, submits it, each under its own task id in its own node group, so a "
          "second import changes nothing. The database is only read. Stop LTS's job trackers "
          "first, or both will run the jobs.",
      .options = {{.name = "apply",
                   .kind = OptionKind::kSwitch,
                   .help = "Submit; without it nothing is changed and no job tracker is needed."},
                  {.name = "replace",
                   .kind = OptionKind::kSwitch,
                   .help = "Submit also what is here already or has run here."},
                  {.name = "group",
                   .kind = OptionKind::kList,
                   .placeholder = "GROUP",
                   .help = "Only the jobs of this node group.",
                   .fallback_help = "all of them"},
                  {.name = "handler",
                   .placeholder = "NAME",
                   .help =
                       "The handler that the jobs are for: LTS gives all of a node group to one "
                       "runner, which has no name.",
                   .fallback_help = "the name of the node group",
                   .if_empty = "leave it out for the name of the node group"},
                  {.name = "handler-from",
                   .placeholder = "PARAM",
                   .help = "The param that names the handler, for jobs that have it; the "
                           "shardField of LTS's dispatching runner.",
                   .if_empty = "leave it out for one handler"},
                  {.name = "tz",
                   .placeholder = "ZONE",
                   .help =
                       "The time zone that LTS's job trackers run in, which is that of its cron "
                       "jobs.",
                   .fallback_help = "this machine's",
                   .if_empty = "leave it out for this machine's zone"},
                  {.name = "retries-max",
                   .kind = OptionKind::kNumber,
                   .placeholder = "COUNT",
                   .help = "LTS's job.max.retry.times: more retries than these become these.",
                   .fallback = "10",
                   .max = 1000}},
      .positionals = {{.name = "URL",
                       .help = "mysql://USER:PASSWORD@HOST/DATABASE; - reads it from stdin, where "
                               "no other user of the machine sees the password."}},
      .examples =
          "  jobclient import lts mysql://lts:secret@db1/lts --tz Asia/Shanghai\n"
          "  jobclient import lts - --group orders --apply < lts.url\n",
      .section = "Submit"};
}

int run_import_lts(Context& context) {
  const Result<LtsOptions> options = options_from(context);
  if (!options.ok()) return context.fail(kWrongInput, options.error().message);
  const Result<std::vector<LtsRow>> lts_rows = read_rows(context);
  if (!lts_rows.ok()) return context.fail(kWrongInput, lts_rows.error().message);
  const std::vector<LtsEntry> entries = read_lts_jobs(lts_rows.value(), options.value());
  Import import(context, entries);
  const bool is_applied = context.configuration.is_on("apply");
  if (is_applied) {
    const Status status = import.apply();
    if (!status.ok()) return context.fail(status.error());
  }
  print_rows(context, import.rows());
  const std::ptrdiff_t refused = import.count("refused");
  if (!is_applied) {
    const std::ptrdiff_t good = std::ssize(entries) - refused;
    if (!context.is_json()) {
      context.err() << (entries.empty()
                            ? "no jobs in LTS\n"
                            : "nothing was submitted; add --apply to submit " + jobs(good) + '\n');
    }
    return refused == 0 ? kDone : kRefused;
  }
  if (!context.is_json()) {
    const std::ptrdiff_t accepted = import.count(to_string(SubmitStatus::kAccepted));
    const std::ptrdiff_t there = import.count(to_string(SubmitStatus::kDuplicate));
    context.err() << jobs(accepted) << " submitted, " << there << " here already, "
                  << std::ssize(entries) - accepted - there << " not taken over"
                  << (accepted == 0 ? ": nothing was changed\n" : "\n");
  }
  return import.are_all_here() ? kDone : kRefused;
}

}  // namespace carillon::cli
