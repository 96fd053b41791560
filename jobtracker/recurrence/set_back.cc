#include "jobtracker/recurrence/set_back.h"

#include <chrono>
#include <limits>
#include <utility>
#include <vector>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kMovedBackAtOnce = 1000;
constexpr Duration kLookAgain = std::chrono::seconds{1};

}  // namespace

SetBack::SetBack(Catalog& catalog, ExecutingTable& executing, Batcher& batcher, JobSink& sink,
                 SchedulingClock& clock, Executor& executor)
    : catalog_(catalog),
      executing_(executing),
      batcher_(batcher),
      sink_(sink),
      clock_(clock),
      executor_(executor) {}

void SetBack::begin(GroupId group, Duration by, WallTime through) {
  const DueKey after{clock_.now(), JobId{std::numeric_limits<std::int64_t>::max()}};
  looks_.push_back({group, by, after, through});
  look();
}

void SetBack::look_again() {
  executor_.post_at(clock_.steady_now() + kLookAgain, [this] { look(); });
}

void SetBack::look() {
  if (is_stopped_ || is_under_way_ || looks_.empty()) return;
  is_under_way_ = true;
  const Look& now = looks_.front();
  batcher_.ask(ReadUpcoming{.group = now.group,
                            .after_time = now.after.first,
                            .after_id = now.after.second,
                            .through = now.through,
                            .limit = kMovedBackAtOnce},
               [this](Result<ReadAnswer> answer) {
                 is_under_way_ = false;
                 if (!answer.ok()) return look_again();
                 auto jobs = std::move(std::get<JobsAnswer>(answer.value()).jobs);
                 const bool has_more = static_cast<std::int64_t>(jobs.size()) == kMovedBackAtOnce;
                 move(std::move(jobs), has_more);
               });
}

void SetBack::move(std::vector<WaitingJob> jobs, bool has_more) {
  if (is_stopped_) return;
  const Look now = looks_.front();
  if (has_more) {
    looks_.front().after = due_key(jobs.back());
  } else {
    looks_.pop_front();
  }
  std::vector<Operation> moves;
  for (WaitingJob& job : jobs) {
    WaitingJob to = job;
    set_back(to, now.by);
    // What is just being claimed begins.
    if (to == job || executing_.find(job.id) != nullptr) continue;
    hold(job);
    moves.emplace_back(ChangeWaiting{.from = std::move(job), .to = std::move(to)});
  }
  if (moves.empty()) return look();
  is_under_way_ = true;
  batcher_.post_unit(Urgency::kClaim, std::move(moves),
                     [this, now](std::vector<Operation>& done, const std::vector<Outcome>& outcomes,
                                 const Error* refused) {
                       is_under_way_ = false;
                       for (std::size_t i = 0; i < done.size(); ++i) {
                         auto& change = std::get<ChangeWaiting>(done[i]);
                         sink_.release(change.from.id);
                         if (refused != nullptr) {
                           sink_.offer(std::move(change.from));
                         } else if (outcomes[i].kind == OutcomeKind::kDone) {
                           sink_.offer(std::move(*change.to));
                         }
                       }
                       if (refused == nullptr) return look();
                       looks_.push_front(now);
                       look_again();
                     });
}

// Nobody takes it meanwhile.
void SetBack::hold(const WaitingJob& job) {
  if (ActiveDefinition* definition = catalog_.definition(job.definition))
    definition->parked.erase(hand_out_key(job));
  sink_.hold(job.group, job.id);
}

}  // namespace carillon::jobtracker
