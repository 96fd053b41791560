#include "jobclient/cli/submit_lines.h"

#include <utility>

#include "jobclient/cli/submit.h"
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

SubmitAnswer rejected(std::int64_t line, const std::string& why) {
  return {.status = SubmitStatus::kRejected, .reason = "line " + std::to_string(line) + ": " + why};
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
  Status status;
  while (status.ok()) {
    if (!reader.has_line_now()) {
      // Whoever writes the lines may want to see the answers first.
      send_batch();
      status = print_all();
      if (!status.ok()) break;
    }
    auto line = reader.next();
    if (!line) break;
    take_line(std::move(*line));
    if (filling_.lines.size() >= wire::kSubmitJobsMax || filling_.bytes >= kBatchBytesAim) {
      send_batch();
    }
    while (status.ok() && on_the_way_.size() >= kBatchesMax) status = print_oldest();
  }
  if (status.ok()) {
    send_batch();
    status = print_all();
  }
  show_progress(true);
  if (!status.ok()) {
    return context_.fail(status_of(status.error().code),
                         "the jobs from line " + std::to_string(printed_ + 1) +
                             " on were not answered: " + status.error().message);
  }
  if (context_.style.format == Format::kJson) output_.finish();
  if (!context_.is_json() && printed_ > 1) {
    context_.err() << printed_ << " lines: " << printed_ - refused_ << " accepted, " << refused_
                   << " not\n";
  }
  return refused_ == 0 ? kDone : kRefused;
}

void SubmitLines::take_line(LineReader::Line line) {
  if (filling_.lines.empty()) filling_.first_line = line.number;
  if (line.is_too_long) {
    filling_.lines.emplace_back(
        rejected(line.number,
                 "longer than " + std::to_string(kLineBytesMax) + " bytes, split it or send less"));
    return;
  }
  Result<JobSpec> job = wire::spec_from_json(line.text);
  if (!job.ok()) {
    filling_.lines.emplace_back(rejected(line.number, job.error().message));
    return;
  }
  filling_.bytes += line.text.size();
  filling_.lines.emplace_back(std::nullopt);
  filling_.jobs.push_back(std::move(job).value());
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

Status SubmitLines::print_oldest() {
  const Batch batch = std::move(on_the_way_.front());
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
  if (!answers->ok()) return answers->error();
  std::size_t job = 0;
  for (std::size_t i = 0; i < batch.lines.size(); ++i) {
    const std::int64_t line = batch.first_line + static_cast<std::int64_t>(i);
    if (batch.lines[i]) {
      print(*batch.lines[i]);
      continue;
    }
    SubmitAnswer& answer = answers->value()[job++];
    if (answer.status == SubmitStatus::kRejected) {
      answer.reason.insert(0, "line " + std::to_string(line) + ": ");
    }
    print(answer);
  }
  show_progress(false);
  return {};
}

Status SubmitLines::print_all() {
  while (!on_the_way_.empty()) CARILLON_TRY(print_oldest());
  context_.out().flush();
  return {};
}

void SubmitLines::print(const SubmitAnswer& answer) {
  ++printed_;
  if (answer.status != SubmitStatus::kAccepted) ++refused_;
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
