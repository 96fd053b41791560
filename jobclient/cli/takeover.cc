#include "jobclient/cli/takeover.h"

#include <algorithm>
#include <map>
#include <utility>

#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/submit.h"
#include "jobclient/submit/submit_queue.h"
#include "shared/base/time_text.h"
#include "shared/job/schedule.h"
#include "shared/wire/spec_words.h"

namespace carillon::cli {
namespace {

constexpr std::size_t kUrlBytesMax = 4096;
// More task ids than these are only counted where a note is said of them.
constexpr std::size_t kNoteTasksMax = 5;
constexpr const char* kRefusedHere = "refused";
constexpr const char* kWouldSubmit = "would submit";
constexpr const char* kTimes = " x ";  // "5m x 3": the schedule of a counted job

std::string jobs_text(std::ptrdiff_t count) {
  return std::to_string(count) + (count == 1 ? " job" : " jobs");
}

// Requires: it is taken over.
TaskKey key_of(const TakenJob& taken) {
  const JobSpec& job = taken.job.value();
  return {job.group, job.task_id};
}

// "cron 0 0 3 * * ? in Asia/Shanghai", "every 5m", "every 5m, counted". How many runs are left is
// left out: there and here they become fewer, each by itself.
std::string schedule_words(const std::string& kind, const std::string& text, const std::string& tz,
                           bool is_counted) {
  return kind + (text.empty() ? "" : " " + text) + (tz.empty() ? "" : " in " + tz) +
         (is_counted ? ", counted" : "");
}

std::string words_of(const Schedule& schedule) {
  const std::string kind = word_of(schedule.kind);
  switch (schedule.kind) {
    case ScheduleKind::kCron:
      return schedule_words(kind, schedule.cron, schedule.tz, schedule.count.has_value());
    case ScheduleKind::kEvery:
    case ScheduleKind::kFixedDelay:
      return schedule_words(kind, format_duration(schedule.interval), "",
                            schedule.count.has_value());
    case ScheduleKind::kAt:
      return schedule_words(kind, format_time(schedule.at), "", false);
    case ScheduleKind::kNow:
    case ScheduleKind::kManual:
      break;
  }
  return kind;
}

// The same of a row of JobClient::list.
std::string schedule_in(const Row& row) {
  const std::string kind = field_text(row, "kind");
  const std::string text = field_text(row, "schedule");
  const std::size_t count = text.find(kTimes);
  return schedule_words(kind, text == kind ? "" : text.substr(0, count), field_text(row, "tz"),
                        count != std::string::npos);
}

}  // namespace

Result<std::unique_ptr<sql::Connection>> open_database(const Context& context,
                                                       const std::string& which) {
  std::string url = context.configuration.text("URL");
  if (url == "-") {
    url = CARILLON_TRY(read_file(url, kUrlBytesMax, context.around.input));
    url.erase(std::min(url.find_first_of("\r\n"), url.size()));
  }
  return context.around.open_database(url, "name " + which);
}

Takeover::Takeover(Context& context, std::string from, std::vector<TakenJob> jobs)
    : context_(context), from_(std::move(from)), jobs_(std::move(jobs)), outcomes_(jobs_.size()) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const Result<JobSpec>& job = jobs_[i].job;
    outcomes_[i] = job.ok() ? Outcome{.status = kWouldSubmit}
                            : Outcome{.status = kRefusedHere, .notes = {job.error().message}};
  }
}

Status Takeover::apply() {
  JobClient* const client = CARILLON_TRY(context_.client());
  CARILLON_TRY(look_what_is_here(*client));
  std::vector<std::size_t> active;
  std::vector<std::size_t> suspended;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].job.ok()) continue;
    if (is_here(i)) {
      outcomes_[i] = duplicate();
    } else {
      (jobs_[i].is_suspended ? suspended : active).push_back(i);
    }
  }
  take(suspended, client->submit_suspended(specs_of(suspended)));
  take(active, failure_ ? Result<std::vector<SubmitAnswer>>(not_sent(*failure_))
                        : client->submit(specs_of(active)));
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].job.ok()) continue;
    compare(i);
    if (failure_) continue;  // The next import brings its scripts.
    if (const Status kept = keep_scripts(*client, i); !kept.ok()) failure_ = kept.error();
  }
  return {};
}

// What differs is said of what is taken over, or may be: of no other it would be true.
std::vector<std::string> Takeover::notes(std::size_t i) const {
  std::vector<std::string> notes = outcomes_[i].notes;
  const std::string& status = outcomes_[i].status;
  const bool is_taken = status == kWouldSubmit || status == to_string(SubmitStatus::kAccepted) ||
                        status == to_string(SubmitStatus::kUnanswered);
  if (!is_taken) return notes;
  notes.insert(notes.end(), jobs_[i].notes.begin(), jobs_[i].notes.end());
  return notes;
}

std::string Takeover::note(std::size_t i) const {
  std::string text;
  for (const std::string& note : notes(i)) text += (text.empty() ? "" : "; ") + note;
  return text;
}

void Takeover::print_notes() const {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> tasks;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    for (const std::string& note : notes(i)) {
      std::vector<std::string>& named = tasks[note];
      if (named.empty()) order.push_back(note);
      named.push_back(jobs_[i].task_id);
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
    context_.err() << line << ": " << note << '\n';
  }
}

int Takeover::end(bool is_applied) const {
  const bool is_said = !jobs_.empty() && !context_.is_json();
  if (!is_applied) {
    const std::ptrdiff_t refused = count(kRefusedHere);
    if (is_said) {
      context_.err() << "nothing was submitted; add --apply to submit "
                     << jobs_text(std::ssize(jobs_) - refused) << '\n';
    }
    return refused == 0 ? kDone : kRefused;
  }
  const std::ptrdiff_t accepted = count(to_string(SubmitStatus::kAccepted));
  const std::ptrdiff_t there = count(to_string(SubmitStatus::kDuplicate));
  if (is_said) {
    context_.err() << jobs_text(accepted) << " submitted, " << there << " exist here, "
                   << std::ssize(jobs_) - accepted - there << " not imported"
                   << (accepted > 0 ? "\n" : "; nothing was changed\n");
  }
  if (failure_) return context_.fail(*failure_);
  return accepted + there == std::ssize(jobs_) ? kDone : kRefused;
}

Takeover::Outcome Takeover::duplicate() {
  return {.status = to_string(SubmitStatus::kDuplicate),
          .notes = {"exists here or has run here (--replace submits it)"}};
}

Takeover::Outcome Takeover::outcome_of(const SubmitAnswer& answer) {
  if (answer.status == SubmitStatus::kDuplicate) return duplicate();
  Outcome outcome{.status = to_string(answer.status)};
  for (const std::string& text : {answer.reason, answer.warning}) {
    if (!text.empty()) outcome.notes.push_back(text);
  }
  return outcome;
}

// What is defined here need not be looked for in the history, which is the longer way.
Status Takeover::look_what_is_here(JobClient& client) {
  std::set<TaskKey> unknown;
  for (const TakenJob& job : jobs_) {
    if (job.job.ok() && !job.job.value().replace_on_exist) unknown.insert(key_of(job));
  }
  CARILLON_TRY(
      find_tasks(client, &JobClient::list, unknown,
                 [this](const TaskKey& task, const Row& row) { defined_.emplace(task, row); }));
  for (const auto& [task, row] : defined_) unknown.erase(task);
  return find_tasks(client, &JobClient::history, unknown,
                    [this](const TaskKey& task, const Row&) { has_run_.insert(task); });
}

bool Takeover::is_here(std::size_t i) const {
  const TaskKey key = key_of(jobs_[i]);
  return defined_.contains(key) || has_run_.contains(key);
}

std::vector<JobSpec> Takeover::specs_of(const std::vector<std::size_t>& places) const {
  std::vector<JobSpec> specs;
  for (const std::size_t i : places) specs.push_back(jobs_[i].job.value());
  return specs;
}

void Takeover::take(const std::vector<std::size_t>& places,
                    Result<std::vector<SubmitAnswer>> answered) {
  std::vector<SubmitAnswer> answers;
  for (const std::size_t i : places) {
    if (!answered.ok()) answers.push_back(failed_answer(jobs_[i].task_id, "", answered.error()));
  }
  if (answered.ok()) answers = std::move(answered).value();
  for (std::size_t i = 0; i < answers.size(); ++i) outcomes_[places[i]] = outcome_of(answers[i]);
  if (!failure_) failure_ = failure_in(answers);
}

// Also of one that was here: an import may have broken off between the two.
Status Takeover::keep_scripts(JobClient& client, std::size_t i) {
  const JobSpec& job = jobs_[i].job.value();
  for (const Script& script : jobs_[i].scripts) {
    const Result<ActAnswer> kept =
        client.set_script({.task_id = job.task_id, .group = job.group}, script);
    if (kept.ok()) continue;
    const ErrorCode code = kept.error().code;
    if (code == ErrorCode::kNotFound || code == ErrorCode::kConflict) return {};  // Another job.
    if (code != ErrorCode::kInvalidArgument) return kept.error();
    outcomes_[i].notes.push_back("an earlier version of its script is left out: " +
                                 kept.error().message);
  }
  return {};
}

// Of one that was here: somebody may have changed it since, here or there, or submitted another
// one.
void Takeover::compare(std::size_t i) {
  const auto here = defined_.find(key_of(jobs_[i]));
  if (here == defined_.end()) return;
  const JobSpec& job = jobs_[i].job.value();
  const Row& row = here->second;
  compare_state(i, row);
  note_difference(i, "schedule", words_of(job.schedule), schedule_in(row));
  note_difference(i, "priority", std::to_string(job.priority), field_text(row, "priority"));
  note_difference(i, "overlap", std::string{wire::word_of(job.overlap, wire::kOverlapWords)},
                  field_text(row, "overlap"));
}

// --replace leaves a job suspended, so it is no way out of these.
void Takeover::compare_state(std::size_t i, const Row& here) {
  const std::string state = field_text(here, "state");
  std::vector<std::string>& notes = outcomes_[i].notes;
  if (jobs_[i].is_suspended && state == "active") {
    notes.push_back("is suspended in " + from_ +
                    " and active here (jobclient suspend suspends it)");
  }
  if (!jobs_[i].is_suspended && (state == "suspended" || state == "quarantined")) {
    notes.push_back("is active in " + from_ + " and " + state +
                    " here (jobclient resume activates it)");
  }
}

void Takeover::note_difference(std::size_t i, const char* what, const std::string& there,
                               const std::string& here) {
  if (there == here) return;
  outcomes_[i].notes.push_back(std::string{"its "} + what + " is " + there + " in " + from_ +
                               " and " + here + " here (--replace changes it)");
}

std::ptrdiff_t Takeover::count(const std::string& status) const {
  return std::count_if(outcomes_.begin(), outcomes_.end(),
                       [&status](const Outcome& one) { return one.status == status; });
}

}  // namespace carillon::cli
