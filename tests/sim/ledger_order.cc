// The order of hand-out: by priority, due time and creation, within a group or a part of one.
#include <algorithm>
#include <set>
#include <utility>

#include "jobtracker/state/executors.h"
#include "tests/sim/ledger.h"

namespace carillon::sim {

using jobtracker::WaitingJob;

namespace {

// What a user triggers goes before everything else in its group.
constexpr int kBeforeAll = -1;
// What has waited and been due for so long, the loop knows of. It reads rows page by page: where
// more come due at once than it holds, later pages take their time.
constexpr Duration kKnown = std::chrono::milliseconds{50};
// Nothing is handed out so long before its time.
constexpr Duration kEarliest = std::chrono::seconds{3};
// What was overtaken is claimed, or changed, by then.
constexpr Duration kSettled = std::chrono::seconds{1};

}  // namespace

Ledger::Turn Ledger::turn_of(const WaitingJob& row) {
  return {row.priority, row.not_before.value_or(row.trigger_time), row.id};
}

void Ledger::stops_waiting(const Job& job) {
  if (job.place == Place::kWaiting) turns_[job.row.group].erase(turn_of(job.row));
  overtaken_.erase(job.row.id);
}

// As by a request that comes again. It was held until now, and its row is read once more.
void Ledger::was_left(const WaitingJob& row) {
  const auto found = jobs_.find(row.id);
  if (found == jobs_.end()) return;
  found->second.left_as_it_was = timeline_.now();
  const auto overtaken = overtaken_.find(row.id);
  if (overtaken != overtaken_.end() && overtaken->second.since == timeline_.now()) {
    overtaken_.erase(overtaken);
  }
}

void Ledger::check_priority(const Job& job, int expected) const {
  if (job.row.priority == expected) return;
  broken(job, "it has priority " + std::to_string(job.row.priority) + ", and should have " +
                  std::to_string(expected));
}

// A trigger of a user, or of the inbox: it has its own priority unless a user has asked for it.
void Ledger::check_triggered(const Commit& commit, const Job& job) const {
  const bool is_child = std::any_of(
      commit.batch.operations.begin(), commit.batch.operations.end(), [&job](const auto& one) {
        const auto* removed = std::get_if<jobtracker::RemoveInbox>(&one);
        return removed != nullptr && !removed->to;
      });
  const bool has_own = !job.own_priority || job.row.priority == *job.own_priority;
  if (is_child && has_own) return;
  check_priority(job, kBeforeAll);
}

// The clock was set back: what waits for a time that was read off it moves with it, nothing else.
bool Ledger::moves_with_clock(const Commit& commit, const WaitingJob& from, const WaitingJob& to) {
  const bool was_tried = from.failures > 0 || from.lost > 0 || from.not_before;
  const bool was_read_off =
      was_tried || from.kind == ScheduleKind::kNow || (from.triggered && !from.makes_up);
  return commit.was_ever_set && was_read_off && to.priority == from.priority &&
         jobtracker::due_time(to) < jobtracker::due_time(from) && (was_tried || !to.not_before);
}

// Only a trigger moves a job that waits, and only to the front; and one that was in quarantine is
// not due before it is resumed.
void Ledger::check_changed_turn(const Commit& commit, const Job& job, const WaitingJob& to) const {
  const bool is_resumed = jobtracker::was_lost_too_often(job.row) && to.lost == 0;
  const bool is_same = to.priority == job.row.priority && turn_of(to) == turn_of(job.row);
  if (is_same || (is_resumed && to.priority == job.row.priority)) return;
  if (moves_with_clock(commit, job.row, to)) return;
  const bool is_triggered =
      to.priority == kBeforeAll && jobtracker::due_time(to) <= commit.batch.now && !to.delayed;
  if (!is_triggered) broken(job, "its place in the order was changed, and nobody triggered it");
}

void Ledger::check_turn_again(const Commit& commit, const Job& job, const WaitingJob& again,
                              bool failed, bool may_wait) const {
  const int expected = failed ? job.own_priority.value_or(again.priority) : job.row.priority;
  if (again.priority != expected) {
    broken(job, "it goes on with priority " + std::to_string(again.priority) +
                    ", and should with " + std::to_string(expected));
  }
  // What was handed out so long before its time is due: the clock was set back.
  const bool is_due = jobtracker::due_time(job.row) > commit.batch.now + kEarliest &&
                      jobtracker::due_time(again) <= commit.batch.now;
  if (!may_wait && !is_due && jobtracker::due_time(again) != jobtracker::due_time(job.row)) {
    broken(job, "it was given back or lost, and has lost its place in the order");
  }
}

bool Ledger::accepts(SessionId session, const Job& job) const {
  if (jobtracker::is_push_session(session) || job.is_pushed) {
    return jobtracker::is_push_session(session) && job.is_pushed;
  }
  const auto worker = workers_.find(session);
  if (worker == workers_.end()) return false;
  return !worker->second.handlers_only || job.kind == RunKind::kHandler;
}

// Nothing better that may start has waited for longer, as far as the loop could know when it chose.
void Ledger::check_order(const Commit& commit, const Job& job, const jobtracker::Claim& claim,
                         bool is_new) {
  const WallTime claimed_at = claim.to.claimed_at;
  const SteadyTime chosen_at = commit.flushed_at - (commit.batch.now - claimed_at);
  const Turn own = turn_of(job.row);
  for (const auto& [turn, id] : turns_[job.row.group]) {
    if (turn >= own) break;
    const Job& other = jobs_.at(id);
    if (!accepts(claim.to.session, other) || !may_start(commit, other, chosen_at, claimed_at)) {
      continue;
    }
    overtaken_.try_emplace(
        id, Overtaken{.by = "job " + std::to_string(job.row.id.value) + " of " + job.row.task_id +
                            ", attempt " + std::to_string(job.row.attempt),
                      .chosen_at = claimed_at,
                      .was_new = is_new,
                      .since = timeline_.now()});
  }
}

// What is better is claimed only now: if that was chosen first, its claim was on its way.
void Ledger::check_overtaken(JobId id, WallTime claimed_at) {
  const auto found = overtaken_.find(id);
  if (found == overtaken_.end()) return;
  const Overtaken& other = found->second;
  const bool was_chosen =
      claimed_at < other.chosen_at || (other.was_new && claimed_at == other.chosen_at);
  if (!was_chosen) {
    broken_(other.by + ": it was claimed before job " + std::to_string(id.value) + " of " +
            jobs_.at(id).row.task_id + ", which is better");
  }
}

// What was being changed is changed by now: cancelled, suspended, skipped.
void Ledger::check_all_overtaken(const Commit& commit) {
  for (auto next = overtaken_.begin(); next != overtaken_.end();) {
    const auto& [id, other] = *next;
    if (!commit.was_tracker_disturbed && other.since + kSettled > timeline_.now()) {
      ++next;
      continue;
    }
    const Job& job = jobs_.at(id);
    if (!commit.was_tracker_disturbed &&
        may_start(commit, job, timeline_.now(), commit.batch.now)) {
      broken_(other.by + ": it was claimed before job " + std::to_string(id.value) + " of " +
              job.row.task_id + ", which is better, and waits still");
    }
    next = overtaken_.erase(next);
  }
}

// It is due, the loop knows of it, and nothing but the order keeps it.
bool Ledger::may_start(const Commit& commit, const Job& job, SteadyTime chosen_at,
                       WallTime claimed_at) const {
  const WaitingJob& row = job.row;
  const bool is_known = std::max(job.since, job.left_as_it_was) + kKnown < chosen_at &&
                        jobtracker::due_time(row) + kKnown < claimed_at;
  if (!is_known || is_void(job) || jobtracker::was_lost_too_often(row)) return false;
  if (!jobtracker::was_tried(row)) {  // Otherwise it ends when it comes to it.
    const bool is_expired =
        job.start_deadline > Duration{} && claimed_at > row.trigger_time + job.start_deadline;
    const auto partition = static_cast<std::size_t>(jobtracker::partition_of(row.group));
    const bool was_missed =
        job.skips_missed && row.trigger_time < commit.dead_times.at(partition).until + kSettled;
    if (is_expired || was_missed) return false;
  }
  const auto definition = definitions_.find(row.definition);
  return definition == definitions_.end() ||
         !waits_for_another(job, definition->second, chosen_at, claimed_at);
}

// Of a schedule whose runs do not overlap one goes on or has its turn before, or has just ended.
bool Ledger::waits_for_another(const Job& job, const DefinitionFacts& facts, SteadyTime chosen_at,
                               WallTime claimed_at) const {
  const Overlap overlap = facts.spec.overlap;
  if (overlap == Overlap::kParallel || job.row.forced || job.row.attempt > 0) return false;
  if (facts.ended_at + kKnown >= chosen_at) return true;
  const bool only_latest = overlap == Overlap::kQueueOne || overlap == Overlap::kCancelRunning;
  const auto goes_first = [&](JobId id) {
    const Job& other = jobs_.at(id);
    if (id == job.row.id) return false;
    if (other.place == Place::kExecuting || other.row.attempt > 0) return true;
    const bool is_due =
        other.place == Place::kWaiting && jobtracker::due_time(other.row) <= claimed_at;
    return is_due && (only_latest || turn_of(other.row) < turn_of(job.row));
  };
  const auto any_of = [&](const auto& all, const auto& key) {
    const auto found = all.find(key);
    return found != all.end() &&
           std::any_of(found->second.begin(), found->second.end(), goes_first);
  };
  return any_of(of_definition_, job.row.definition) ||
         any_of(outliving_, std::pair{job.row.group, job.row.task_id});
}

}  // namespace carillon::sim
