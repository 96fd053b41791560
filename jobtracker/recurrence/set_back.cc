#include "jobtracker/recurrence/set_back.h"

#include <chrono>
#include <limits>
#include <optional>
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
                 move(std::move(std::get<JobsAnswer>(answer.value()).jobs));
               });
}

void SetBack::move(std::vector<WaitingJob> jobs) {
  if (is_stopped_) return;
  std::optional<DueKey> last;  // None: there are no more.
  if (static_cast<std::int64_t>(jobs.size()) == kMovedBackAtOnce) last = due_key(jobs.back());
  std::vector<Operation> moves;
  for (WaitingJob& job : jobs) {
    WaitingJob to = job;
    set_back(to, looks_.front().by);
    // What is just being claimed begins.
    if (to == job || executing_.find(job.id) != nullptr) continue;
    hold(job);
    moves.emplace_back(ChangeWaiting{.from = std::move(job), .to = std::move(to)});
  }
  if (moves.empty()) return go_on(last);
  is_under_way_ = true;
  batcher_.post_unit(Urgency::kClaim, std::move(moves),
                     [this, last](std::vector<Operation>& done,
                                  const std::vector<Outcome>& outcomes, const Error* refused) {
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
                       refused == nullptr ? go_on(last) : look_again();
                     });
}

void SetBack::go_on(std::optional<DueKey> last) {
  if (last) {
    looks_.front().after = *last;
  } else {
    looks_.pop_front();
  }
  look();
}

// Nobody takes it meanwhile.
void SetBack::hold(const WaitingJob& job) {
  if (ActiveDefinition* definition = catalog_.definition(job.definition))
    definition->parked.erase(hand_out_key(job));
  sink_.hold(job.group, job.id);
}

}  // namespace carillon::jobtracker
