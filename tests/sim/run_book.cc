#include "tests/sim/run_book.h"

#include <algorithm>
#include <iterator>

namespace carillon::sim {
namespace {

// A run is remembered so long after its end.
constexpr Duration kRunKept = std::chrono::hours{1};

}  // namespace

void RunBook::began(const wire::AttemptId& id, Run run) {
  ++count_;
  run.began = timeline_.now();
  const auto partition = static_cast<std::size_t>(run.partition);
  run.lease = leases_[run.session].at(partition).number;
  for (auto other = runs_.lower_bound({id.job_id, 0});
       other != runs_.end() && other->first.job_id == id.job_id; ++other) {
    const auto& [other_id, one] = *other;
    if (other_id == id) {
      broken_(text(id) + " was begun twice, by " + one.worker + " and " + run.worker);
    } else if (!one.ended && has_lease(one)) {
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
  while (!ended_.empty() && ended_.front().first + kRunKept < timeline_.now()) {
    runs_.erase(ended_.front().second);
    ended_.pop_front();
  }
}

const RunBook::Run* RunBook::find(const wire::AttemptId& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second;
}

void RunBook::pull_was_sent(const net::Peer& line, std::int64_t number) {
  pulls_[line][number].sent = timeline_.now();
}

void RunBook::pull_was_answered(const net::Peer& line, std::int64_t number,
                                const jobtracker::Partitions& by, Duration lease) {
  const auto pulls = pulls_.find(line);
  if (pulls == pulls_.end()) return;  // A frame that came again, as over another connection.
  const auto found = pulls->second.find(number);
  if (found == pulls->second.end()) return;
  found->second.answered_by = by;
  found->second.lease = lease;
}

void RunBook::answer_was_taken(SessionId session, const net::Peer& line, std::int64_t number) {
  auto& pulls = pulls_[line];
  const auto found = pulls.find(number);
  if (found == pulls.end()) return;
  const Pull& pull = found->second;
  Leases& leases = leases_[session];
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if (!pull.answered_by.test(i)) continue;
    Lease& lease = leases[i];
    if (lease.until && timeline_.now() >= *lease.until) ++lease.number;
    const SteadyTime until = pull.sent + pull.lease;
    lease.until = std::max<SteadyTime>(lease.until.value_or(until), until);
  }
  pulls.erase(pulls.begin(), std::next(found));
}

bool RunBook::has_lease(const Run& run) const {
  const auto found = leases_.find(run.session);
  if (found == leases_.end()) return false;
  const Lease& lease = found->second.at(static_cast<std::size_t>(run.partition));
  return lease.number == run.lease && lease.until && timeline_.now() < *lease.until;
}

void RunBook::tracker_began(SessionId tracker, SessionId before,
                            const jobtracker::Partitions& owned, Duration lease) {
  began_[tracker] = timeline_.now();
  lease_of_[tracker] = lease;
  const auto was_owned = owned_since_.find(before);
  const Since none{};
  const Since& since_before = was_owned == owned_since_.end() ? none : was_owned->second;
  Since& since = owned_since_[tracker];
  for (std::size_t i = 0; i < since.size(); ++i) {
    if (owned.test(i)) since[i] = since_before[i].value_or(timeline_.now());
  }
  const auto first = heard_.lower_bound({before, SessionId{}});
  for (auto one = first; one != heard_.end() && one->first.first == before; ++one)
    heard_.emplace(std::pair{tracker, one->first.second}, one->second);
}

void RunBook::heard(SessionId tracker, SessionId worker) {
  const auto [found, is_new] = heard_.try_emplace({tracker, worker});
  Heard& heard = found->second;
  if (is_new) heard.last = began_.at(tracker);
  if (timeline_.now() - heard.last >= lease_of_.at(tracker)) heard.silence_ended = timeline_.now();
  heard.last = timeline_.now();
}

void RunBook::registered(SessionId tracker, SessionId worker, std::int64_t number) {
  const auto found = heard_.find({tracker, worker});
  if (found != heard_.end() && number <= found->second.registered) return;
  heard(tracker, worker);
  heard_.at({tracker, worker}).registered = number;
}

// Another job tracker may have heard of it as long as it looked after the partition.
bool RunBook::was_silent(SessionId tracker, SessionId worker, int partition) const {
  const SteadyTime now = timeline_.now();
  const auto since = owned_since_.at(tracker).at(static_cast<std::size_t>(partition));
  if (!since) return false;
  const Duration lease = lease_of_.at(tracker);
  const auto found = heard_.find({tracker, worker});
  if (found == heard_.end()) return now - *since >= lease;
  const Heard& heard = found->second;
  return now - std::max(heard.last, *since) >= lease ||
         (now - heard.silence_ended < std::chrono::minutes{1} &&
          heard.silence_ended - *since >= lease);
}

}  // namespace carillon::sim
