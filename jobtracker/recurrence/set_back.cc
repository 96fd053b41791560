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

DueKey first_after(WallTime time) {
  return {time, JobId{std::numeric_limits<std::int64_t>::max()}};
}

}  // namespace

SetBack::SetBack(Catalog& catalog, ExecutingTable& executing, Batcher& batcher, JobSink& sink,
                 SchedulingClock& clock, Executor& executor)
    : catalog_(catalog),
      executing_(executing),
      batcher_(batcher),
      sink_(sink),
      clock_(clock),
      executor_(executor) {}

void SetBack::begin(std::vector<GroupId> groups, Duration by, WallTime through) {
  looks_.push_back({.groups = std::move(groups), .by = by, .to = clock_.now(), .through = through});
  look();
}

// Of what was on its way then, the time is not here before the clock has caught up.
void SetBack::runs_again(const WaitingJob& job) {
  for (Look& look : looks_) {
    if (look.has_begun || due_time(job) <= look.to + look.by) look.stamped_since.insert(job.id);
  }
}

void SetBack::look_again() {
  executor_.post_at(clock_.steady_now() + kLookAgain, [this] { look(); });
}

void SetBack::look() {
  if (is_stopped_ || is_under_way_ || looks_.empty()) return;
  if (looks_.front().groups.empty()) {
    looks_.pop_front();
    return look();
  }
  is_under_way_ = true;
  Look& now = looks_.front();
  if (!now.has_begun) {
    now.after = first_after(now.to);
    return batcher_.post_unit(
        Urgency::kHousekeeping, {},
        [this](std::vector<Operation>&, const std::vector<Outcome>&, const Error* refused) {
          is_under_way_ = false;
          if (refused != nullptr) return look_again();
          looks_.front().has_begun = true;
          look();
        });
  }
  batcher_.ask(ReadUpcoming{.group = now.groups.back(),
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
  const Look& now = looks_.front();
  std::optional<DueKey> last;  // None: there are no more.
  if (static_cast<std::int64_t>(jobs.size()) == kMovedBackAtOnce) last = due_key(jobs.back());
  std::vector<Operation> moves;
  for (WaitingJob& job : jobs) {
    WaitingJob to = job;
    set_back(to, now.by, now.to);
    // What is just being claimed begins.
    if (to == job || executing_.find(job.id) != nullptr || now.stamped_since.contains(job.id))
      continue;
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
  Look& now = looks_.front();
  if (!last) now.groups.pop_back();
  now.after = last.value_or(first_after(now.to));
  look();
}

// Nobody takes it meanwhile.
void SetBack::hold(const WaitingJob& job) {
  if (ActiveDefinition* definition = catalog_.definition(job.definition))
    definition->parked.erase(hand_out_key(job));
  sink_.hold(job.group, job.id);
}

}  // namespace carillon::jobtracker
