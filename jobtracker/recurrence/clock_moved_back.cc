#include "jobtracker/recurrence/clock_moved_back.h"

#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kMovedBackAtOnce = 1000;
constexpr Duration kLookAgain = std::chrono::seconds{1};
constexpr Duration kLookAtHeld = std::chrono::milliseconds{50};

DueKey first_after(WallTime time) {
  return {time, JobId{std::numeric_limits<std::int64_t>::max()}};
}

}  // namespace

ClockMovedBack::ClockMovedBack(Catalog& catalog, ExecutingTable& executing, Batcher& batcher,
                               JobSink& sink, SchedulingClock& clock, TaskRunner& task_runner,
                               const Logger& log)
    : catalog_(catalog),
      executing_(executing),
      batcher_(batcher),
      sink_(sink),
      clock_(clock),
      task_runner_(task_runner),
      log_(log) {}

void ClockMovedBack::begin(std::vector<GroupId> groups, Duration by, WallTime through) {
  looks_.push_back({.groups = std::move(groups), .by = by, .to = clock_.now(), .through = through});
  looks_.back().number = ++last_look_;
  look();
}

void ClockMovedBack::keep(JobId id) {
  for (Look& look : looks_) look.kept.insert(id);
}

TimeHold ClockMovedBack::hold_time(JobId id) {
  ++held_[id];
  return {.id = id, .look = last_look_};
}

// A later look moves it: the change used the clock from before.
void ClockMovedBack::release_time(const TimeHold& hold, bool was_changed) {
  if (const auto held = held_.find(hold.id); --held->second == 0) held_.erase(held);
  for (Look& look : looks_) {
    if (was_changed && look.number <= hold.look) look.kept.insert(hold.id);
  }
}

Sizes ClockMovedBack::sizes() const {
  std::size_t kept = 0;
  for (const Look& look : looks_) kept += look.kept.size();
  return {{"looks", looks_.size()}, {"kept", kept}, {"held", held_.size()}};
}

void ClockMovedBack::look_again(const Error& why) {
  log_.warn("cannot move waiting jobs after the clock moved back; retrying", "error", why.message);
  task_runner_.post_at(clock_.steady_now() + kLookAgain, [this] { look(); });
}

void ClockMovedBack::look() {
  if (is_stopped_ || is_under_way_ || looks_.empty()) return;
  if (looks_.front().groups.empty()) {
    looks_.pop_front();
    return look();
  }
  is_under_way_ = true;
  Look& now = looks_.front();
  if (!now.has_begun) return begin_when_all_is_there();
  batcher_.ask(ReadUpcoming{.group = now.groups.back(),
                            .after_time = now.after.first,
                            .after_id = now.after.second,
                            .through = now.through,
                            .limit = kMovedBackAtOnce},
               [this](Result<ReadAnswer> answer) {
                 is_under_way_ = false;
                 if (!answer.ok()) return look_again(answer.error());
                 move(std::move(std::get<JobsAnswer>(answer.value()).jobs));
               });
}

// Each urgency has its own queue.
void ClockMovedBack::begin_when_all_is_there() {
  lines_left_ = kUrgencies;
  for (std::size_t urgency = 0; urgency < kUrgencies; ++urgency) {
    batcher_.post_unit(static_cast<Urgency>(urgency), {},
                       [this](std::vector<Operation>&, const std::vector<Outcome>&, const Error*) {
                         if (--lines_left_ > 0) return;
                         is_under_way_ = false;
                         Look& begun = looks_.front();
                         begun.after = first_after(begun.to);
                         begun.has_begun = true;
                         look();
                       });
  }
}

void ClockMovedBack::move(std::vector<WaitingJob> jobs) {
  if (is_stopped_) return;
  const Look& now = looks_.front();
  std::optional<DueKey> last;  // None: complete.
  if (static_cast<std::int64_t>(jobs.size()) == kMovedBackAtOnce) last = due_key(jobs.back());
  std::vector<Operation> moves;
  bool are_all_free = true;
  for (WaitingJob& job : jobs) {
    WaitingJob to = job;
    clock_moved_back(to, now.by, now.to);
    // A job that is being claimed starts.
    if (to == job || executing_.find(job.id) != nullptr || now.kept.contains(job.id)) continue;
    are_all_free = are_all_free && !held_.contains(job.id);
    if (held_.contains(job.id)) continue;
    hold(job);
    moves.emplace_back(ChangeWaiting{.from = std::move(job), .to = std::move(to)});
  }
  const auto then = [this, last, are_all_free] {
    if (are_all_free) return go_on(last);
    task_runner_.post_at(clock_.steady_now() + kLookAtHeld, [this] { look(); });
  };
  if (moves.empty()) return then();
  is_under_way_ = true;
  batcher_.post_unit(
      Urgency::kClaim, std::move(moves),
      [this, then, are_all_free](std::vector<Operation>& done, const std::vector<Outcome>& outcomes,
                                 const Error* refused) {
        is_under_way_ = false;
        was_moved(done, outcomes, refused, !are_all_free);
        refused == nullptr ? then() : look_again(*refused);
      });
}

void ClockMovedBack::was_moved(std::vector<Operation>& moves, const std::vector<Outcome>& outcomes,
                               const Error* refused, bool are_looked_at_again) {
  for (std::size_t i = 0; i < moves.size(); ++i) {
    auto& change = std::get<ChangeWaiting>(moves[i]);
    sink_.release(change.from.id);
    if (refused != nullptr) {
      sink_.offer(std::move(change.from));
    } else if (outcomes[i].kind == OutcomeKind::kDone) {
      if (are_looked_at_again) looks_.front().kept.insert(change.to->id);
      sink_.offer(std::move(*change.to));
    }
  }
}

void ClockMovedBack::go_on(std::optional<DueKey> last) {
  Look& now = looks_.front();
  if (!last) now.groups.pop_back();
  now.after = last.value_or(first_after(now.to));
  look();
}

// No decider takes it meanwhile.
void ClockMovedBack::hold(const WaitingJob& job) {
  if (ActiveDefinition* definition = catalog_.definition(job.definition))
    definition->blocked.erase(hand_out_key(job));
  sink_.hold(job.group, job.id);
}

}  // namespace carillon::jobtracker
