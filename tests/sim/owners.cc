#include "tests/sim/owners.h"

#include <algorithm>
#include <utility>

#include "jobtracker/store/heartbeat_watch.h"

namespace carillon::sim {

using jobtracker::kPartitions;
using jobtracker::OutcomeKind;

void Owners::begun(const std::string& name, SessionId session, SessionId before,
                   const jobtracker::Partitions& owned) {
  const auto is_noted = [this](SessionId one) {
    return tables_.trackers.lower_bound({one, jobtracker::kHeartbeatConnection}) !=
           tables_.trackers.lower_bound(
               {SessionId{one.value + 1}, jobtracker::kHeartbeatConnection});
  };
  for (auto next = last_word_.begin(); next != last_word_.end();) {
    const auto [other, word] = *next;
    if (is_noted(other)) {
      ++next;
      continue;
    }
    next = last_word_.erase(next);
    const bool was_silent = timeline_.now() - std::max(word, back_at_) >= jobtracker::kSilence;
    if (other != before && !ended_.contains(other) && !was_silent) {
      broken_(name + " takes over from one that was not silent for its time");
    }
  }
  last_word_[session] = timeline_.now();
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    SessionId& owner = owners_[i];
    if (works(owner)) {
      if (owned.test(i))
        broken_(name + " takes partition " + std::to_string(i) + " of one that works");
      continue;
    }
    const auto committed = last_commit_.find(owner);
    if (committed != last_commit_.end()) dead_times_[i].from = committed->second;
    owner = owned.test(i) ? session : SessionId{};
    if (owner) dead_times_[i].until = timeline_.wall_now();
  }
}

bool Owners::owns(SessionId session, GroupId group) const {
  return owners_.at(static_cast<std::size_t>(jobtracker::partition_of(group))) == session;
}

void Owners::committed(const std::string& name, SessionId session, const jobtracker::Batch& batch,
                       const jobtracker::Committed& done) {
  if (!works(session)) return broken_(name + " commits though it was fenced");
  beat(session);
  last_commit_[session] = batch.now;
  for (std::size_t i = 0; i < batch.operations.size(); ++i) {
    if (done.outcomes[i].kind == OutcomeKind::kDone) check({name, session}, batch.operations[i]);
  }
}

void Owners::acts(const Actor& actor, GroupId group, const std::string& what) const {
  if (owns(actor.session, group)) return;
  broken_(actor.name + " decides about " + what + ", which is another's");
}

void Owners::check(const Actor& actor, const jobtracker::Operation& operation) const {
  const auto of_job = [&](JobId id) {
    if (const Ledger::Job* job = ledger_.find(id)) {
      acts(actor, job->row.group, "job " + std::to_string(id.value));
    }
  };
  const auto adds = [&](const jobtracker::WaitingJob& job) {
    acts(actor, job.group, "a new job of " + job.task_id);
  };
  if (const auto* change = std::get_if<jobtracker::ChangeWaiting>(&operation)) {
    of_job(change->from.id);
  } else if (const auto* end = std::get_if<jobtracker::End>(&operation)) {
    of_job(end->id);
    for (const auto& run : end->children) adds(run);
  } else if (const auto* definition = std::get_if<jobtracker::ChangeDefinition>(&operation)) {
    const auto found = ledger_.definitions().find(definition->id);
    if (found == ledger_.definitions().end()) return;
    acts(actor, found->second.row.group, "task " + found->second.row.task_id);
  } else if (const auto* claim = std::get_if<jobtracker::Claim>(&operation)) {
    of_job(claim->to.job.id);
  } else if (const auto* defined = std::get_if<jobtracker::AddDefinition>(&operation)) {
    acts(actor, defined->definition.group, "task " + defined->definition.task_id);
  } else if (const auto* begun = std::get_if<jobtracker::AddExecuting>(&operation)) {
    adds(begun->to.job);
  } else if (const auto* added = std::get_if<jobtracker::AddJob>(&operation)) {
    adds(added->job);
  } else if (const auto* cancel = std::get_if<jobtracker::CancelExecuting>(&operation)) {
    of_job(cancel->id);
  } else if (const auto* taken = std::get_if<jobtracker::RemoveInbox>(&operation)) {
    const auto row = ledger_.inbox().find(taken->id);
    if (row != ledger_.inbox().end()) acts(actor, row->second.row.group, row->second.row.task_id);
  } else if (const auto* told = std::get_if<jobtracker::RemoveFeedback>(&operation)) {
    const auto partition = jobtracker::partition_of_client_group(told->client_group);
    acts(actor, GroupId{partition}, "the feedback for " + told->client_group);
  }
}

}  // namespace carillon::sim
