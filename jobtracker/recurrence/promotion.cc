#include "jobtracker/recurrence/promotion.h"

#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kMovedAtOnce = 1000;
constexpr Duration kAgain = std::chrono::seconds{1};

}  // namespace

Promotion::Promotion(Duration horizon, Batcher& batcher, JobSink& sink, SchedulingClock& clock,
                     TaskRunner& task_runner, const Logger& log)
    : horizon_(horizon),
      batcher_(batcher),
      sink_(sink),
      clock_(clock),
      task_runner_(task_runner),
      log_(log) {}

void Promotion::release() {
  --held_;
  if (held_ == 0 && std::exchange(is_wanted_, false)) run_once();
}

void Promotion::was_delayed(const WaitingJob& job) {
  if (!job.suspended && due_time(job) <= through_) run_once();
}

void Promotion::run_again() {
  task_runner_.post_at(clock_.steady_now() + kAgain, [this] { run_once(); });
}

void Promotion::run_once() {
  if (is_stopped_) return;
  if (is_under_way_ || held_ > 0) {
    is_wanted_ = true;
    return;
  }
  is_under_way_ = true;
  through_ = horizon_end();
  batcher_.ask(
      ReadDelayed{.through = through_, .limit = kMovedAtOnce}, [this](Result<ReadAnswer> answer) {
        is_under_way_ = false;
        if (!answer.ok()) {
          log_.error("cannot read delayed jobs; retrying", "error", answer.error().message);
          return run_again();
        }
        if (held_ > 0) {
          is_wanted_ = true;  // One of the rows may be suspended by now.
          return;
        }
        auto jobs = std::move(std::get<JobsAnswer>(answer.value()).jobs);
        if (!jobs.empty()) return move(std::move(jobs));
        // The read started before a stall of the store, so its result may be outdated.
        if (std::exchange(is_wanted_, false)) run_once();
      });
}

void Promotion::move(std::vector<WaitingJob> jobs) {
  const bool has_more = static_cast<std::int64_t>(jobs.size()) == kMovedAtOnce;
  std::vector<Operation> moves;
  for (WaitingJob& job : jobs) {
    ChangeWaiting one{.from = job, .to = std::move(job)};
    one.to->delayed = false;
    moves.emplace_back(std::move(one));
  }
  is_under_way_ = true;
  batcher_.post_unit(Urgency::kClaim, std::move(moves),
                     [this, has_more](std::vector<Operation>& done,
                                      const std::vector<Outcome>& outcomes, const Error* refused) {
                       is_under_way_ = false;
                       if (refused != nullptr) return run_again();
                       for (std::size_t i = 0; i < done.size(); ++i) {
                         if (outcomes[i].kind == OutcomeKind::kDone)
                           sink_.offer(*std::get<ChangeWaiting>(done[i]).to);
                       }
                       if (std::exchange(is_wanted_, false) || has_more) run_once();
                     });
}

}  // namespace carillon::jobtracker
