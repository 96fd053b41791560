#include "jobclient/cli/follow.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <utility>

#include "jobclient/cli/act.h"
#include "jobclient/cli/shell_words.h"
#include "jobclient/cli/text_width.h"

namespace carillon::cli {
namespace {

constexpr int kSignalBase = 128;
constexpr int kFailedWithoutStatus = 1;
// Of a run that was stopped and has no status of its own, as a handler and an HTTP request: what
// a command has that SIGTERM stopped.
constexpr int kStopped = kSignalBase + SIGTERM;

// 9 of "killed by signal 9 (Killed)"; 0 where no signal is named.
int signal_in(const std::string& message) {
  constexpr std::string_view kWord = "signal ";
  const std::size_t at = message.find(kWord);
  if (at == std::string::npos) return 0;
  int number = 0;
  const char* digits = message.data() + at + kWord.size();
  std::from_chars(digits, message.data() + message.size(), number);
  return number > 0 && number < kSignalBase ? number : 0;
}

// The newest job id among the rows of a task, of one that has begun if there is any: the last fire
// may have been skipped, or called off. 0 when there is none.
JobId job_of(const RowPage& page, const TaskRef& task) {
  JobId not_begun{};
  for (const Row& row : page.rows) {
    if (field_text(row, "task_id") != task.task_id) continue;
    const Result<JobId> id = parse_job_id(field_text(row, "job_id"));
    if (!id.ok()) continue;
    if (field_text(row, "attempt") != "0") return id.value();
    if (!not_begun) not_begun = id.value();
  }
  return not_begun;
}

}  // namespace

OutputFollower::OutputFollower(Context& context, JobClient& client, JobId job, bool with_times)
    : context_(context),
      client_(client),
      rows_(context.out(), context.style, {}),
      with_times_(with_times) {
  filter_.job_id = job;
}

Status OutputFollower::print_new() {
  while (true) {
    const RowPage page = CARILLON_TRY(client_.output(filter_));
    for (const Row& row : page.rows) tail_ ? keep_last(row) : print(row);
    if (!page.next.empty()) filter_.after = page.next;
    if (page.rows.empty() || page.next.empty()) break;
  }
  for (const Row& row : std::exchange(last_, {})) print(row);
  tail_.reset();
  return flush();
}

// A piece for each line. A last line without its end counts as a line.
void OutputFollower::keep_last(const Row& row) {
  const auto ends_line = [](const Row& piece) { return field_text(piece, "text").ends_with('\n'); };
  const std::string text = field_text(row, "text");
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
    Row piece = row;
    for (auto& [name, value] : piece) {
      if (name == "text") value = text.substr(start, end - start);
    }
    if (ends_line(piece)) ++last_lines_;
    last_.push_back(std::move(piece));
    start = end;
  }
  while (!last_.empty() && last_lines_ + (ends_line(last_.back()) ? 0 : 1) > *tail_) {
    while (!ends_line(last_.front())) last_.pop_front();
    last_.pop_front();
    --last_lines_;
  }
}

Status OutputFollower::finish() {
  if (context_.is_json()) rows_.finish();
  context_.out() << for_terminal(std::exchange(cut_out_, {}));
  context_.err() << for_terminal(std::exchange(cut_err_, {}));
  return flush();
}

Status OutputFollower::flush() {
  context_.out().flush();
  context_.err().flush();
  if (context_.out()) return {};
  return Error{ErrorCode::kLimit, kCannotWrite};
}

// What a stream shows of the text; the rest of a cut character comes with the next text.
std::string OutputFollower::shown(bool on_stdout, std::string text) {
  const Terminal& terminal = context_.around.terminal;
  if (!(on_stdout ? terminal.out_is_terminal : terminal.err_is_terminal)) return text;
  std::string& cut = on_stdout ? cut_out_ : cut_err_;
  text.insert(0, std::exchange(cut, {}));
  const std::size_t whole = text.size() - cut_character_bytes(text);
  cut = text.substr(whole);
  text.resize(whole);
  return for_terminal(text);
}

void OutputFollower::print(const Row& row) {
  has_printed_ = true;
  if (context_.is_json()) {
    rows_.add(row);
    return;
  }
  const bool is_stdout = field_text(row, "stream") == "stdout";
  std::ostream& to = is_stdout ? context_.out() : context_.err();
  const std::string text = shown(is_stdout, field_text(row, "text"));
  if (!with_times_) {
    to << text;
    return;
  }
  const std::string time = short_time(field_text(row, "at"), context_.style);
  for (const char c : text) {
    if (at_line_start_) to << time << ' ';
    to << c;
    at_line_start_ = c == '\n';
  }
}

Result<Row> state_of_job(JobClient& client, JobId job) {
  RowPage page = CARILLON_TRY(client.job(job));
  if (!page.rows.empty()) return std::move(page.rows.front());
  return Error{ErrorCode::kNotFound,
               "the job tracker does not know job " + std::to_string(job.value) + " any more"};
}

std::string signal_message_on(const Context& context, JobId job, const Row& state) {
  const std::string id = std::to_string(job.value);
  const std::string kind = field_text(state, "kind");
  const bool is_executing = field_text(state, "state") == "executing";
  // To cancel a fire is to cancel its definition, so that only a job that runs once is cancelled.
  std::string way = "; stop it: jobclient kill --job " + id;
  if (!is_executing && (kind == "now" || kind == "at")) {
    way = "; end it: jobclient cancel " + shell_word(field_text(state, "task_id")) + " --group " +
          field_text(state, "group");
  } else if (!is_executing) {
    way += " once it runs";
  }
  // Below the ^C that a terminal shows.
  return std::string{context.around.terminal.err_is_terminal ? "\n" : ""} +
         "jobclient: " + context.configuration.verb() + ": job " + id +
         (is_executing ? " continues" : " still waits") + " (follow it: jobclient logs -f --job " +
         id + way + ")\n";
}

void SignalMessageOn::follow(const Row& state) {
  std::string words = signal_message_on(context_, job_, state);
  if (words == said_) return;
  words_.reset();
  words_.emplace(words);
  said_ = std::move(words);
}

WaitingReason::WaitingReason(Context& context, JobClient& client)
    : context_(context),
      client_(client),
      ask_at_(context.around.clock.steady_now() + kWaitingPatience) {}

void WaitingReason::follow(const Row& state) {
  if (was_said_ || field_text(state, "state") != "waiting") return;
  const SteadyTime now = context_.around.clock.steady_now();
  if (now < ask_at_) return;
  ask_at_ = now + kWaitingPatience;
  const Result<RowPage> page =
      client_.show({field_text(state, "task_id"), field_text(state, "group")});
  if (!page.ok() || page.value().rows.empty())
    return;  // It has just ended, or who asks on is told.
  const std::string reason = field_text(page.value().rows.front(), "reason");
  if (reason.empty()) return;
  was_said_ = true;
  context_.err() << "jobclient: " << context_.configuration.verb() << ": job "
                 << field_text(state, "job_id") << " waits: " << context_.for_err(reason)
                 << std::endl;
}

Result<Row> follow_job(Context& context, JobClient& client, JobId job) {
  SignalMessageOn signal_message(context, job);
  WaitingReason reason(context, client);
  OutputFollower follower(context, client, job, false);
  while (true) {
    // First the state, then the output: what a job wrote is known before its end is.
    const Result<Row> state = state_of_job(client, job);
    if (state.ok()) signal_message.follow(state.value());
    const Status printed = follower.print_new();
    if (!printed.ok() && !is_out_of_reach(printed)) return printed.error();
    if (state.ok()) reason.follow(state.value());
    if (!state.ok() || is_done(state.value()) || is_quarantined(state.value())) {
      if (!printed.ok()) {
        context.err() << "jobclient: " << context.configuration.verb() << ": "
                      << context.for_err(printed.error().message) << std::endl;
      }
      CARILLON_TRY(follower.finish());
      return state;
    }
    context.around.pause(kFollowInterval);
  }
}

bool is_out_of_reach(const Status& printed) {
  return !printed.ok() && printed.error().code == ErrorCode::kConflict;
}

bool is_done(const Row& job) { return field_text(job, "done") == "true"; }

bool is_quarantined(const Row& job) { return field_text(job, "state") == "quarantined"; }

int exit_status_of_job(const Row& job) {
  const std::string state = field_text(job, "state");
  if (state == "succeeded") return kDone;
  const bool ran = state == "failed" || state == "timed_out" || state == "killed";
  if (const Field* field = find_field(job, "exit_code"); ran && field != nullptr) {
    const auto* code = std::get_if<std::int64_t>(field);
    if (code != nullptr && *code > 0 && *code <= 255) return static_cast<int>(*code);
  }
  if (!ran) return kWaitFailed;
  if (state != "failed") return kStopped;
  const int signal = signal_in(field_text(job, "message"));
  return signal != 0 ? kSignalBase + signal : kFailedWithoutStatus;
}

int wait_for_job(Context& context, JobClient& client, JobId job) {
  const Result<Row> ended = follow_job(context, client, job);
  if (!ended.ok()) {
    return context.fail(kWaitFailed, "cannot follow job " + std::to_string(job.value) + ": " +
                                         ended.error().message);
  }
  if (is_quarantined(ended.value())) {
    return context.fail(kWaitFailed,
                        "job " + std::to_string(job.value) +
                            " is in quarantine: its task tracker died in every run (release "
                            "it: jobclient resume " +
                            shell_word(field_text(ended.value(), "task_id")) + " --group " +
                            field_text(ended.value(), "group") + ")");
  }
  const int status = exit_status_of_job(ended.value());
  if (status != kDone) {
    const std::string message = field_text(ended.value(), "message");
    return context.fail(status, "job " + std::to_string(job.value) + " ended as " +
                                    field_text(ended.value(), "state") +
                                    (message.empty() ? "" : ": " + message));
  }
  return kDone;
}

Result<JobId> newest_job_of(JobClient& client, const TaskRef& task) {
  for (const auto question : {&JobClient::executing, &JobClient::history, &JobClient::waiting}) {
    RowFilter filter{.group = task.group, .task_id = task.task_id};
    do {
      RowPage page = CARILLON_TRY((client.*question)(filter));
      if (const JobId job = job_of(page, task)) return job;
      filter.after = std::move(page.next);
    } while (!filter.after.empty());
  }
  return Error{ErrorCode::kNotFound, "task '" + task.task_id + "' in group '" + task.group +
                                         "' has not run or does not exist"};
}

}  // namespace carillon::cli
