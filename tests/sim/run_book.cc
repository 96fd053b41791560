#include "tests/sim/run_book.h"

#include <iterator>

namespace carillon::sim {
namespace {

// A run is remembered so long after its end.
constexpr Duration kKept = std::chrono::hours{1};

std::string text(const wire::AttemptId& id) {
  return "job " + std::to_string(id.job_id.value) + " attempt " + std::to_string(id.attempt);
}

}  // namespace

void RunBook::began(const wire::AttemptId& id, Run run) {
  ++count_;
  run.began = timeline_.now();
  run.lease = leases_[run.session].number;
  for (auto other = runs_.lower_bound({id.job_id, 0});
       other != runs_.end() && other->first.job_id == id.job_id; ++other) {
    const auto& [other_id, one] = *other;
    if (other_id == id) {
      broken_(text(id) + " was begun twice, by " + one.worker + " and " + run.worker);
    } else if (!one.ended && !one.has_several_leases && has_lease(one)) {
      broken_(text(id) + " begins at " + run.worker + " while " + one.worker + " runs attempt " +
              std::to_string(other_id.attempt) + " and has a lease");
    } else if (other_id.attempt > id.attempt && one.session != run.session) {
      broken_(text(id) + " begins at " + run.worker + " after attempt " +
              std::to_string(other_id.attempt));
    }
  }
  runs_[id] = std::move(run);
}

void RunBook::ended(const wire::AttemptId& id, std::optional<wire::RunOutcome> outcome) {
  Run& run = runs_.at(id);
  run.ended = timeline_.now();
  run.outcome = outcome;
  ended_.emplace_back(timeline_.now(), id);
  while (!ended_.empty() && ended_.front().first + kKept < timeline_.now()) {
    runs_.erase(ended_.front().second);
    ended_.pop_front();
  }
}

const RunBook::Run* RunBook::find(const wire::AttemptId& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second;
}

void RunBook::pull_was_sent(SessionId session, std::int64_t number) {
  leases_[session].sent[number] = timeline_.now();
}

void RunBook::pull_was_answered(SessionId session, std::int64_t number) {
  Lease& lease = leases_[session];
  const auto found = lease.sent.find(number);
  if (found == lease.sent.end()) return;
  if (lease.from && timeline_.now() >= *lease.from + lease_) ++lease.number;
  lease.from = found->second;
  lease.sent.erase(lease.sent.begin(), std::next(found));
}

bool RunBook::has_lease(const Run& run) const {
  const auto found = leases_.find(run.session);
  return found != leases_.end() && found->second.number == run.lease && found->second.from &&
         timeline_.now() < *found->second.from + lease_;
}

void RunBook::heard(SessionId tracker, SessionId worker) {
  const auto [found, is_new] = heard_.try_emplace({tracker, worker});
  Heard& heard = found->second;
  if (is_new) heard.last = began_.at(tracker);
  if (timeline_.now() - heard.last >= lease_) heard.silence_ended = timeline_.now();
  heard.last = timeline_.now();
}

void RunBook::registered(SessionId tracker, SessionId worker, std::int64_t number) {
  const auto found = heard_.find({tracker, worker});
  if (found != heard_.end() && number <= found->second.registered) return;
  heard(tracker, worker);
  heard_.at({tracker, worker}).registered = number;
}

bool RunBook::was_silent(SessionId tracker, SessionId worker) const {
  const SteadyTime now = timeline_.now();
  const auto found = heard_.find({tracker, worker});
  if (found == heard_.end()) return now - began_.at(tracker) >= lease_;
  return now - found->second.last >= lease_ ||
         now - found->second.silence_ended < std::chrono::minutes{1};
}

}  // namespace carillon::sim
