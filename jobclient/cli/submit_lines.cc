#include "jobclient/cli/submit_lines.h"

#include <utility>

#include "jobclient/cli/submit.h"
#include "jobclient/submit/submit_queue.h"
#include "shared/wire/messages.h"
#include "shared/wire/spec_json.h"

namespace carillon::cli {
namespace {

// A job of the largest payload, in base64, with all the rest of it.
constexpr std::size_t kLineBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kBatchBytesAim = 3 * 1024 * 1024;
constexpr std::size_t kBatchesMax = 8;

constexpr Duration kProgressAfter = std::chrono::seconds{1};
constexpr Duration kProgressEvery = std::chrono::milliseconds{200};

std::string with_line(std::int64_t number, const std::string& why) {
  return "line " + std::to_string(number) + ": " + why;
}

}  // namespace

SubmitLines::SubmitLines(Context& context, JobClient& client)
    : context_(context),
      client_(client),
      output_(context.out(), context.style, {}),
      started_(context.around.clock.steady_now()),
      progress_at_(started_ + kProgressAfter) {}

int SubmitLines::run() {
  LineReader reader(context_.around.input, kLineBytesMax);
  while (!failure_) {
    if (!reader.has_line_now()) {
      // Whoever writes the lines may want to see the answers first.
      send_batch();
      print_all();
      if (failure_) break;
    }
    auto line = reader.next();
    if (!line) break;
    take_line(std::move(*line));
    if (filling_.lines.size() >= wire::kSubmitJobsMax || filling_.bytes >= kBatchBytesAim) {
      send_batch();
    }
    while (!failure_ && on_the_way_.size() >= kBatchesMax) print_oldest();
  }
  if (!failure_) send_batch();
  print_all();
  if (failure_) answer_unsent();
  show_progress(true);
  return end();
}

int SubmitLines::end() {
  if (context_.style.format == Format::kJson) output_.finish();
  if (!context_.is_json() && printed_ > 1) {
    context_.err() << printed_ << " jobs: " << printed_ - refused_ - stored_ << " accepted, ";
    if (stored_ > 0) context_.err() << stored_ << " stored, ";
    context_.err() << refused_ << " not accepted\n";
  }
  if (failure_) {
    return context_.fail(status_of(failure_->code), failure_->message + "; nothing after line " +
                                                        std::to_string(last_line_) +
                                                        " was submitted");
  }
  return refused_ == 0 ? kDone : kRefused;
}

void SubmitLines::take_line(LineReader::Line line) {
  if (line.is_too_long) {
    return reject(line, "longer than " + std::to_string(kLineBytesMax) +
                            " bytes (shorten it; binary data is shorter as payload_base64 or with "
                            "submit --payload-file)");
  }
  if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
  Result<JobSpec> job = wire::spec_from_json(line.text);
  if (!job.ok()) return reject(line, job.error().message);
  filling_.bytes += line.text.size();
  filling_.lines.push_back(
      {.number = line.number, .task_id = job.value().task_id, .group = job.value().group});
  filling_.jobs.push_back(std::move(job).value());
}

void SubmitLines::reject(const LineReader::Line& line, const std::string& why) {
  wire::NamedTask task = wire::task_named_in(line.text);
  filling_.lines.push_back({.number = line.number,
                            .answer = SubmitAnswer{.task_id = std::move(task.task_id),
                                                   .group = std::move(task.group),
                                                   .status = SubmitStatus::kRejected,
                                                   .reason = with_line(line.number, why)}});
}

void SubmitLines::send_batch() {
  if (filling_.lines.empty()) return;
  Batch batch = std::exchange(filling_, {});
  batch.arrival = std::make_shared<Arrival>();
  client_.submit_async(std::move(batch.jobs), [arrival = batch.arrival](Answers answers) {
    const MutexLock lock(arrival->mutex);
    arrival->answers.emplace(std::move(answers));
    arrival->condition.notify_one();
  });
  on_the_way_.push_back(std::move(batch));
}

void SubmitLines::print_oldest() {
  Batch batch = std::move(on_the_way_.front());
  on_the_way_.pop_front();
  std::optional<Answers> answers;
  {
    MutexLock lock(batch.arrival->mutex);
    while (!batch.arrival->answers) {
      batch.arrival->condition.wait_for(lock, kProgressEvery);
      show_progress(false);
    }
    answers = std::move(batch.arrival->answers);
  }
  std::size_t job = 0;
  for (JobLine& line : batch.lines) {
    if (!line.answer) {
      line.answer = answers->ok() ? std::move(answers->value()[job++])
                                  : failed_answer(line.task_id, line.group, answers->error());
      if (line.answer->status == SubmitStatus::kRejected || line.answer->error) {
        line.answer->reason = with_line(line.number, line.answer->reason);
      }
    }
    if (!failure_) failure_ = failure_in({*line.answer});
    print(*line.answer);
    last_line_ = line.number;
  }
  show_progress(false);
}

void SubmitLines::print_all() {
  while (!on_the_way_.empty()) print_oldest();
  context_.out().flush();
}

// What was read and is in no message.
void SubmitLines::answer_unsent() {
  for (JobLine& line : filling_.lines) {
    if (!line.answer) line.answer = failed_answer(line.task_id, line.group, not_sent(*failure_));
    print(*line.answer);
    last_line_ = line.number;
  }
  context_.out().flush();
}

void SubmitLines::print(const SubmitAnswer& answer) {
  ++printed_;
  if (is_refused(answer)) ++refused_;
  if (answer.status == SubmitStatus::kStored) ++stored_;
  if (context_.style.format == Format::kJson) {
    output_.add(answer_row(answer));
  } else {
    print_answer(context_, answer);
  }
}

// On stderr, over itself; only for a person, and not where the answers are seen anyway.
void SubmitLines::show_progress(bool at_end) {
  const Terminal& terminal = context_.around.terminal;
  if (!terminal.err_is_terminal || terminal.out_is_terminal) return;
  if (at_end) {
    if (showed_progress_) context_.err() << "\r\x1b[K" << std::flush;
    return;
  }
  const SteadyTime now = context_.around.clock.steady_now();
  if (now < progress_at_) return;
  progress_at_ = now + kProgressEvery;
  showed_progress_ = true;
  context_.err() << "\r" << printed_ << " jobs answered, " << refused_ << " not accepted"
                 << std::flush;
}

}  // namespace carillon::cli
