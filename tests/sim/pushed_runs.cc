#include "tests/sim/pushed_runs.h"

#include "jobtracker/state/executor_silence.h"
#include "shared/wire/codec.h"

namespace carillon::sim {

using jobtracker::LogState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// A call is remembered so long.
constexpr Duration kCallKept = hours{1};
// A job tracker ends what overran its time-out by so much, less what clocks differ by.
// A job tracker gives it five seconds, of which the call may have waited three for a connection.
constexpr Duration kOverrun = seconds{2};
// It has asked for each run, waited for its result and ended it.
constexpr Duration kFound = minutes{4};
// A job tracker and the clock that it follows are apart by less.
constexpr Duration kFollowed = std::chrono::milliseconds{1};
// It knows what the store has.
constexpr Duration kKnown = seconds{10};

LogState state_of(wire::RunOutcome outcome) {
  if (outcome == wire::RunOutcome::kSucceeded) return LogState::kSucceeded;
  return outcome == wire::RunOutcome::kTimedOut ? LogState::kTimedOut : LogState::kFailed;
}

}  // namespace

void PushedRuns::committed(const Commit& commit) {
  for (std::size_t i = 0; i < commit.batch.operations.size(); ++i) {
    const auto* change = std::get_if<jobtracker::ChangeDefinition>(&commit.batch.operations[i]);
    const bool is_done = commit.done.outcomes[i].kind == jobtracker::OutcomeKind::kDone;
    if (change != nullptr && change->void_waiting && is_done)
      called_off_[change->id] = timeline_.now();
  }
}

// The first call of an attempt.
void PushedRuns::check_wanted(const wire::AttemptId& id, std::optional<WallTime> now) const {
  const auto executing = tables_.executing.find(id.job_id);
  if (executing == tables_.executing.end() || executing->second.job.attempt != id.attempt) return;
  const jobtracker::WaitingJob& job = executing->second.job;
  const Duration deadline = start_deadline(job);
  if (now && deadline > Duration{} && id.attempt == 1 &&
      *now > job.trigger_time + deadline + kFollowed)
    broken_(text(id) + " of " + job.task_id + " is called after its start deadline");
  const auto when = called_off_.find(job.definition);
  if (when == called_off_.end() || timeline_.now() < when->second + kKnown) return;
  const auto definition = tables_.definitions.find(job.definition);
  const bool is_void = jobtracker::is_fire(job) && (definition == tables_.definitions.end() ||
                                                    definition->second.version != job.version);
  if (is_void)
    broken_(text(id) + " of " + job.task_id + " is called, and its job was suspended or changed");
}

// Zero: none.
Duration PushedRuns::start_deadline(const jobtracker::WaitingJob& job) const {
  const auto definition = tables_.definitions.find(job.definition);
  const bool is_own = !job.spec.empty() || definition == tables_.definitions.end();
  const auto spec = wire::decode_spec(is_own ? job.spec : definition->second.spec);
  return spec.ok() ? spec.value().start_deadline : Duration{};
}

void PushedRuns::is_called(const std::string& address, const wire::xxl::RunCall& call,
                           const Caller& by) {
  const auto row = tables_.push_runs.find(call.log_id);
  if (row == tables_.push_runs.end() || row->second.address != address) {
    // Whoever lost the database may not know it yet.
    if (by.may_call) broken_("log id " + std::to_string(call.log_id) + " is called and not stored");
    return;
  }
  const wire::AttemptId id{row->second.job, row->second.attempt};
  if (by.may_call && last_of(id) == nullptr) check_wanted(id, by.now);
  const bool is_new = calls_
                          .emplace(call.log_id, Call{.id = id,
                                                     .group = row->second.group,
                                                     .address = address,
                                                     .job = call.job_id,
                                                     .timeout = seconds{call.timeout_s},
                                                     .called = timeline_.now()})
                          .second;
  if (!is_new) return broken_(text(id) + " is called twice by one log id");
  last_[id] = call.log_id;
  order_.emplace_back(timeline_.now(), call.log_id);
  while (order_.front().first + kCallKept < timeline_.now()) {
    const auto oldest = calls_.find(order_.front().second);
    const auto last = last_.find(oldest->second.id);
    if (last != last_.end() && last->second == oldest->first) last_.erase(last);
    calls_.erase(oldest);
    order_.pop_front();
  }
}

bool PushedRuns::begins(const std::string& app, const std::string& address,
                        const wire::xxl::RunCall& call) {
  const auto found = calls_.find(call.log_id);
  if (found == calls_.end()) return false;
  Call& one = found->second;
  if (one.has_begun) broken_(text(one.id) + " comes twice by one log id");
  const std::string& group = tables_.groups.at(one.group).name;
  if (group != app) broken_(text(one.id) + " of " + group + " comes to an executor of " + app);
  one.has_begun = true;
  ++count_;
  runs_.began(one.id, {.worker = address});
  return true;
}

void PushedRuns::is_refused(std::int64_t log_id) {
  const auto found = calls_.find(log_id);
  if (found != calls_.end()) found->second.was_refused = true;
}

void PushedRuns::ended(std::int64_t log_id, std::optional<wire::RunOutcome> outcome) {
  Call& one = calls_.at(log_id);
  one.ended = timeline_.now();
  runs_.ended(one.id, outcome);
}

void PushedRuns::says_idle(const std::string& address, std::int64_t job) {
  for (auto& [log_id, one] : calls_) {
    if (one.address == address && one.job == job && !one.ended) one.was_denied = true;
  }
}

// With its end, beside the run, or for the job tracker that it belongs to.
void PushedRuns::was_taken(std::int64_t log_id) const {
  const auto found = calls_.find(log_id);
  if (found == calls_.end() || has_ended(log_id)) return;
  for (const auto& [result_id, result] : tables_.executor_results) {
    if (result.log_id == log_id) return;
  }
  broken_("the result of " + text(found->second.id) + " is answered 200, and is not stored");
}

bool PushedRuns::has_ended(std::int64_t log_id) const {
  const auto row = tables_.push_runs.find(log_id);
  if (row == tables_.push_runs.end() || row->second.code != 0) return true;
  const auto executing = tables_.executing.find(row->second.job);
  return executing == tables_.executing.end() ||
         executing->second.job.attempt != row->second.attempt;
}

const PushedRuns::Call* PushedRuns::last_of(const wire::AttemptId& id) const {
  const auto last = last_.find(id);
  return last == last_.end() ? nullptr : &calls_.at(last->second);
}

void PushedRuns::check_end(const Commit& commit, const Ledger::Job& job,
                           const jobtracker::LogEntry& log, bool is_void) const {
  if (log.state == LogState::kLost) return;  // That is check_lost()'s.
  const wire::AttemptId id{job.row.id, job.row.attempt};
  const Call* call = last_of(id);
  const RunBook::Run* run = runs_.find(id);
  const bool is_told = run != nullptr && run->outcome && state_of(*run->outcome) == log.state;
  if (is_told || (log.state == LogState::kKilled && is_void)) return;
  if (log.state == LogState::kFailed && run == nullptr) {  // Nobody took it.
    const bool is_quiet = !commit.was_disturbed && !commit.were_executors_disturbed;
    if (is_quiet && !is_void && !log.message.starts_with("no executor is idle")) {
      broken_(text(id) + " of " + job.row.task_id +
              " has failed though executors are there: " + log.message);
    }
    return;
  }
  const bool has_limit = call != nullptr && call->timeout > Duration{};
  const bool overran = has_limit && is_over(*call, timeline_.now() - call->called);
  if (log.state == LogState::kTimedOut && overran) return;
  broken_(text(id) + " of " + job.row.task_id + " ended as " + to_string(log.state) + " (" +
          log.message + "), but " +
          (run == nullptr ? "never ran"
           : !run->ended  ? "goes on at " + run->worker
           : run->outcome ? std::string("its run as ") + to_string(state_of(*run->outcome))
                          : "died with " + run->worker));
}

bool PushedRuns::is_over(const Call& call, std::chrono::nanoseconds ran) {
  return ran >= call.timeout + kOverrun;
}

void PushedRuns::check_lost(const wire::AttemptId& id,
                            const std::optional<jobtracker::LogEntry>& log, bool is_quiet) const {
  const Call* call = last_of(id);
  if (!log && call != nullptr && !call->was_refused) {
    return broken_(text(id) + " is given back as if " + call->address + " had not been called");
  }
  if (!log || log->state != LogState::kLost) return;
  if (call == nullptr || !call->has_begun || call->ended) return;
  if (!call->was_denied && !was_silent(call->address))
    broken_(text(id) + " was lost, but " + call->address + " runs it and never said otherwise");
  if (is_quiet) broken_(text(id) + " was lost though nothing is wrong, and goes on");
}

bool PushedRuns::was_silent(const std::string& address) const {
  const auto answered = answered_.find(address);
  return answered == answered_.end() ||
         timeline_.now() >= answered->second + jobtracker::kExecutorSilent + kExecutorSilence;
}

void PushedRuns::check_executing(const wire::AttemptId& id, const Ledger::Job& job) const {
  const Call* call = last_of(id);
  const bool goes_on = call != nullptr && call->has_begun && !call->ended;
  const SteadyTime since = call == nullptr ? job.since : call->ended.value_or(call->called);
  if (!goes_on && since + kFound < timeline_.now()) {
    broken_(text(id) + " of " + job.row.task_id + " executes, and no executor runs it");
  }
}

}  // namespace carillon::sim
