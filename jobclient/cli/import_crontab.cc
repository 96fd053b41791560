#include "jobclient/cli/import_crontab.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jobclient/cli/crontab.h"
#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/job_words.h"
#include "jobclient/cli/submit.h"
#include "shared/job/zone.h"

namespace carillon::cli {
namespace {

constexpr std::size_t kCrontabBytesMax = 16 * 1024 * 1024;

Result<CrontabOptions> crontab_options_from(const Context& context) {
  const Configuration& configuration = context.configuration;
  if (configuration.is_on("system") && configuration.is_on("personal")) {
    return Error{ErrorCode::kInvalidArgument,
                 "--system and --personal contradict each other (give one)"};
  }
  CrontabOptions options{.path = configuration.text("FILE"),
                         .users = configuration.list("user"),
                         .tz = configuration.text("tz"),
                         .group = configuration.text("group"),
                         .id_prefix = configuration.text("prefix"),
                         .replace = configuration.is_on("replace")};
  if (configuration.is_on("system")) options.form = CrontabOptions::Form::kSystem;
  if (configuration.is_on("personal")) options.form = CrontabOptions::Form::kUser;
  if (options.users.empty()) options.users.push_back(context.around.user);
  if (options.tz.empty()) {
    const Zone local = CARILLON_TRY(context.around.zone);
    options.tz = local.name();
  } else {
    CARILLON_TRY(Zone::load(options.tz));  // Also where a CRON_TZ of the file stands for it.
  }
  options.overlap = CARILLON_TRY(parse_overlap(configuration.text("overlap")));
  options.misfire = CARILLON_TRY(parse_misfire(configuration.text("misfire")));
  return options;
}

Row row_of(const CrontabEntry& entry, const SubmitAnswer* answer) {
  Row row{{"line", entry.line}};
  std::string status = "refused";
  std::string note = entry.note;
  std::string task_id;
  std::string tz;
  if (!entry.job.ok()) {
    note = entry.job.error().message;
  } else {
    status = "would submit";
    task_id = entry.job.value().task_id;
    tz = entry.job.value().schedule.tz;
  }
  if (answer != nullptr) {
    status = to_string(answer->status);
    // The job tracker would name a field of a job, and this verb has a flag.
    const std::string reason = answer->status == SubmitStatus::kDuplicate
                                   ? "exists already (--replace replaces it)"
                                   : answer->reason;
    for (const std::string& more : {reason, answer->warning}) {
      if (!more.empty()) note += (note.empty() ? "" : "; ") + more;
    }
  }
  row.emplace_back("status", status);
  row.emplace_back("task_id", task_id);
  row.emplace_back("schedule", entry.schedule);
  row.emplace_back("tz", tz);
  if (!entry.user.empty()) row.emplace_back("user", entry.user);
  row.emplace_back("command", entry.command);
  row.emplace_back("note", note);
  return row;
}

// The answers to the entries that are jobs, in their order.
Result<std::vector<SubmitAnswer>> submit(Context& context,
                                         const std::vector<CrontabEntry>& entries) {
  std::vector<JobSpec> jobs;
  for (const CrontabEntry& entry : entries) {
    if (entry.job.ok()) jobs.push_back(entry.job.value());
  }
  JobClient* const client = CARILLON_TRY(context.client());
  return client->submit(std::move(jobs));
}

// The entries with their answers, which those that are jobs have, in their order; without any
// answers, as they would be submitted.
std::vector<Row> rows_of(const std::vector<CrontabEntry>& entries,
                         const std::vector<SubmitAnswer>* answers) {
  std::vector<Row> rows;
  std::size_t job = 0;
  for (const CrontabEntry& entry : entries) {
    const bool is_answered = answers != nullptr && entry.job.ok();
    rows.push_back(row_of(entry, is_answered ? &(*answers)[job++] : nullptr));
  }
  return rows;
}

// What a person should know about some lines, said once for all of them.
struct Note {
  std::string text{};
  std::string lines{};  // "3, 5, 8"
  bool has_several = false;
};

std::vector<Note> notes_of(const std::vector<Row>& rows) {
  std::vector<Note> notes;
  for (const Row& row : rows) {
    const std::string text = field_text(row, "note");
    const std::string line = field_text(row, "line");
    if (text.empty()) continue;
    const auto same = std::find_if(notes.begin(), notes.end(),
                                   [&text](const Note& note) { return note.text == text; });
    if (same == notes.end()) {
      notes.push_back({.text = text, .lines = line});
    } else {
      same->lines += ", " + line;
      same->has_several = true;
    }
  }
  return notes;
}

void print_rows(Context& context, const std::vector<Row>& rows) {
  RowOutput output(context.out(), context.style,
                   {{"line", ColumnKind::kNumber},
                    {"status", ColumnKind::kState},
                    {"task_id"},
                    {"schedule"},
                    {"tz"},
                    {"command"},
                    {"note", ColumnKind::kText, true}});
  for (const Row& row : rows) output.add(row);
  output.finish();
  context.out().flush();
  if (context.style.format != Format::kTable) return;
  // A column would cut them short, and the reasons are what a person has to read.
  for (const Note& note : notes_of(rows)) {
    context.err() << (note.has_several ? "lines " : "line ") << note.lines << ": " << note.text
                  << '\n';
  }
}

// Which form was taken where none was asked for: the wrong one makes commands of users' names.
void say_form(const Context& context, CrontabOptions::Form form) {
  context.err() << (form == CrontabOptions::Form::kSystem
                        ? "read as a system crontab, with a user before each command (--personal: "
                          "without)\n"
                        : "read as a personal crontab, without users before the commands "
                          "(--system: with them)\n");
}

}  // namespace

Verb declare_import_crontab() {
  return {
      .name = "import crontab",
      .summary = "Import a crontab",
      .description =
          "Shows for each line the job that would be submitted, or why it cannot be imported. With "
          "--apply, submits the jobs. Task ids are made from the commands, so a second import "
          "finds its jobs again. They are duplicates, or are replaced with --replace.",
      .options =
          {{.name = "apply",
            .kind = OptionKind::kSwitch,
            .help =
                "Submit the jobs. Without it the verb only shows them and needs no job tracker."},
           {.name = "replace",
            .kind = OptionKind::kSwitch,
            .help = "Replace jobs of an earlier import."},
           group_option(true, "Node group that runs the jobs."),
           {.name = "system",
            .kind = OptionKind::kSwitch,
            .help = "The file has a user name before each command, like /etc/crontab. Detected "
                    "for files in /etc and for entries of root."},
           {.name = "personal",
            .kind = OptionKind::kSwitch,
            .help = "The file has no user names, like the output of crontab -l."},
           {.name = "user",
            .kind = OptionKind::kList,
            .placeholder = "NAME",
            .help = "Import the entries of this user from a system crontab. A task tracker "
                    "runs all jobs as its own user.",
            .fallback_help = "the user who runs jobclient"},
           {.name = "tz",
            .placeholder = "ZONE",
            .help = "Time zone of entries without CRON_TZ.",
            .fallback_help = "this machine's",
            .if_empty = "leave it out for this machine's zone"},
           {.name = "overlap",
            .placeholder = "RULE",
            .help = "Rule for a fire while the previous run continues; cron runs both.",
            .fallback = "parallel",
            .choices = overlap_words()},
           {.name = "misfire",
            .placeholder = "POLICY",
            .help = "Rule for fires that came while no job tracker was running.",
            .fallback = "fire_once",
            .choices = misfire_words()},
           {.name = "prefix",
            .placeholder = "TEXT",
            .help = "Beginning of the task ids.",
            .fallback = "cron-"}},
      .positionals = {{.name = "FILE", .help = "The crontab; - is stdin."}},
      .examples =
          "  crontab -l | jobclient import crontab -\n"
          "  jobclient import crontab /etc/crontab --user root --apply\n",
      .section = "Submit"};
}

int run_import_crontab(Context& context) {
  Result<CrontabOptions> options = crontab_options_from(context);
  if (!options.ok()) return context.fail(kWrongInput, options.error().message);
  const Result<std::string> text =
      read_file(options.value().path, kCrontabBytesMax, context.around.input);
  if (!text.ok()) return context.fail(kWrongInput, text.error().message);
  CrontabOptions::Form& form = options.value().form;
  const bool is_detected = form == CrontabOptions::Form::kDetect;
  if (is_detected) form = detect_form(text.value(), options.value());
  const std::vector<CrontabEntry> entries = read_crontab(text.value(), options.value());
  if (entries.empty()) {
    const std::string& path = options.value().path;
    context.err() << "no entries in " << (path == "-" ? "stdin" : path) << '\n';
  } else if (is_detected && !context.is_json()) {
    say_form(context, form);
  }
  const auto is_job = [](const CrontabEntry& entry) { return entry.job.ok(); };
  const auto jobs = std::count_if(entries.begin(), entries.end(), is_job);
  if (!context.configuration.is_on("apply")) {
    print_rows(context, rows_of(entries, nullptr));
    if (jobs > 0 && !context.is_json()) {
      context.err() << "nothing was submitted; add --apply to submit " << jobs
                    << (jobs == 1 ? " job\n" : " jobs\n");
    }
    return jobs == std::ssize(entries) ? kDone : kRefused;
  }
  const Result<std::vector<SubmitAnswer>> answers = submit(context, entries);
  if (!answers.ok()) return context.fail(answers.error());
  print_rows(context, rows_of(entries, &answers.value()));
  const auto accepted = std::count_if(
      answers.value().begin(), answers.value().end(),
      [](const SubmitAnswer& answer) { return answer.status == SubmitStatus::kAccepted; });
  if (!entries.empty() && !context.is_json()) {
    context.err() << accepted << " of " << entries.size()
                  << (entries.size() == 1 ? " entry" : " entries") << " accepted\n";
  }
  if (const auto failed = failure_in(answers.value())) return context.fail(*failed);
  return accepted == std::ssize(entries) ? kDone : kRefused;
}

}  // namespace carillon::cli
