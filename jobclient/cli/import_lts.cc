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
  std::vector<std::string> notes{};
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
                              : Outcome{.status = "refused", .notes = {job.error().message}};
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
        outcomes_[i] = duplicate();
      } else if (is_suspended(entries_[i])) {
        // One by one: between the two calls it could run.
        outcomes_[i] = CARILLON_TRY(submit_suspended(*client, job));
      } else {
        jobs.push_back(job);
        places.push_back(i);
      }
    }
    const std::vector<SubmitAnswer> answers = CARILLON_TRY(client->submit(std::move(jobs)));
    for (std::size_t i = 0; i < answers.size(); ++i) outcomes_[places[i]] = outcome_of(answers[i]);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!is_suspended(entries_[i]) || !entries_[i].job.ok()) continue;
      CARILLON_TRY(compare_state(*client, entries_[i].job.value(), outcomes_[i]));
    }
    return {};
  }

  std::size_t size() const { return entries_.size(); }
  const std::string& task_id(std::size_t i) const { return entries_[i].row.task_id; }

  // What a person should know about an entry.
  std::vector<std::string> notes(std::size_t i) const {
    std::vector<std::string> notes = outcomes_[i].notes;
    if (outcomes_[i].status == to_string(SubmitStatus::kDuplicate)) return notes;
    notes.insert(notes.end(), entries_[i].notes.begin(), entries_[i].notes.end());
    return notes;
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
    std::string text;
    for (const std::string& note : notes(i)) text += (text.empty() ? "" : "; ") + note;
    row.emplace_back("note", text);
    return row;
  }

  std::ptrdiff_t count(const std::string& status) const {
    return std::count_if(outcomes_.begin(), outcomes_.end(),
                         [&status](const Outcome& one) { return one.status == status; });
  }
  bool has_changed() const {
    return count(to_string(SubmitStatus::kAccepted)) + count(kNotSuspended) > 0;
  }
  bool are_all_here() const { return std::all_of(outcomes_.begin(), outcomes_.end(), is_here); }

 private:
  static constexpr const char* kNotSuspended = "not suspended";

  static bool is_suspended(const LtsEntry& entry) {
    return entry.row.queue == LtsQueue::kSuspended;
  }

  static Outcome duplicate() {
    return {.status = to_string(SubmitStatus::kDuplicate),
            .notes = {"is here already, or has run here (--replace submits it)"}};
  }

  static Result<bool> has_run(JobClient& client, const JobSpec& job) {
    const Result<RowPage> page =
        client.history({.group = job.group, .task_id = job.task_id, .limit = 1});
    if (page.ok()) return !page.value().rows.empty();
    // A group that the job tracker has never heard of.
    if (page.error().code == ErrorCode::kNotFound) return false;
    return page.error();
  }

  static Outcome outcome_of(const SubmitAnswer& answer) {
    if (answer.status == SubmitStatus::kDuplicate) return duplicate();
    Outcome outcome{.status = to_string(answer.status)};
    for (const std::string& text : {answer.reason, answer.warning}) {
      if (!text.empty()) outcome.notes.push_back(text);
    }
    return outcome;
  }

  static Result<Outcome> submit_suspended(JobClient& client, const JobSpec& job) {
    const SubmitAnswer answer = CARILLON_TRY(client.submit_one(job));
    Outcome outcome = outcome_of(answer);
    if (answer.status != SubmitStatus::kAccepted) return outcome;
    const Result<ActAnswer> suspended =
        client.suspend({.task_id = job.task_id, .group = job.group});
    if (!suspended.ok()) {
      outcome.status = kNotSuspended;
      outcome.notes.push_back(suspended.error().message + " (jobclient suspend does it)");
    }
    return outcome;
  }

  // Of one that was here: somebody may have resumed it, or an import broke off before it was
  // suspended. Nobody but a person knows which.
  static Status compare_state(JobClient& client, const JobSpec& job, Outcome& outcome) {
    if (outcome.status != to_string(SubmitStatus::kDuplicate)) return {};
    const RowPage page =
        CARILLON_TRY(client.list({.group = job.group, .task_id = job.task_id, .limit = 1}));
    if (page.rows.empty() || field_text(page.rows[0], "state") != "active") return {};
    outcome.notes.push_back(
        "is suspended in LTS and active here (jobclient suspend, if it should not be)");
    return {};
  }

  Context& context_;
  const std::vector<LtsEntry>& entries_;
  std::vector<Outcome> outcomes_;
};

// Each note once, with the tasks that it is said of.
void print_notes(const Context& context, const Import& moving) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> tasks;
  for (std::size_t i = 0; i < moving.size(); ++i) {
    for (const std::string& note : moving.notes(i)) {
      std::vector<std::string>& named = tasks[note];
      if (named.empty()) order.push_back(note);
      named.push_back(moving.task_id(i));
    }
  }
  for (const std::string& note : order) {
    const std::vector<std::string>& named = tasks[note];
    std::string line;
    for (std::size_t i = 0; i < std::min(named.size(), kNoteTasksMax); ++i) {
      line += (i == 0 ? "" : ", ") + named[i];
    }
    if (named.size() > kNoteTasksMax) {
      line += " and " + std::to_string(named.size() - kNoteTasksMax) + " more";
    }
    context.err() << line << ": " << note << '\n';
  }
}

void print(const Context& context, const Import& moving) {
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
  for (std::size_t i = 0; i < moving.size(); ++i) output.add(moving.row(i));
  output.finish();
  context.out().flush();
  if (context.style.format == Format::kTable) print_notes(context, moving);
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
          "second import changes nothing. The database is only read. Stop the node group's task "
          "trackers of LTS first, or both will run its jobs.",
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
                  {.name = "shell",
                   .placeholder = "LINE",
                   .help = "A shell line that runs the jobs, instead of a handler: the task id is "
                           "in CARILLON_TASK_ID and a param in CARILLON_PARAM_NAME.",
                   .if_empty = "leave it out for a handler"},
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
                   .max = 1000},
                  {.name = "retry-base",
                   .kind = OptionKind::kDuration,
                   .placeholder = "DURATION",
                   .help = "LTS's jobtracker.job.retry.interval.millis: the wait before a retry.",
                   .fallback = "30s"}},
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
  Import moving(context, entries);
  const bool is_applied = context.configuration.is_on("apply");
  if (is_applied) {
    const Status status = moving.apply();
    if (!status.ok()) return context.fail(status.error());
  }
  print(context, moving);
  if (entries.empty() && !context.is_json()) {
    context.err() << (context.configuration.list("group").empty()
                          ? "no jobs in LTS\n"
                          : "no jobs of these node groups in LTS\n");
  }
  const std::ptrdiff_t refused = moving.count("refused");
  if (!is_applied) {
    if (!entries.empty() && !context.is_json()) {
      context.err() << "nothing was submitted; add --apply to submit "
                    << jobs(std::ssize(entries) - refused) << '\n';
    }
    return refused == 0 ? kDone : kRefused;
  }
  if (!entries.empty() && !context.is_json()) {
    const std::ptrdiff_t accepted = moving.count(to_string(SubmitStatus::kAccepted));
    const std::ptrdiff_t there = moving.count(to_string(SubmitStatus::kDuplicate));
    context.err() << jobs(accepted) << " submitted, " << there << " here already, "
                  << std::ssize(entries) - accepted - there << " not taken over"
                  << (moving.has_changed() ? "\n" : ": nothing was changed\n");
  }
  return moving.are_all_here() ? kDone : kRefused;
}

}  // namespace carillon::cli
