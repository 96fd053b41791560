#include <algorithm>
#include <utility>

#include "jobtracker/push/pusher.h"
#include "shared/base/utf8.h"
#include "shared/job/retry_delay.h"
#include "shared/wire/xxl/write.h"

// The ends of calls: results, kills, time-outs, and executors that have left.
namespace carillon::jobtracker {
namespace {

constexpr Duration kTidyPeriod = std::chrono::minutes{1};
// Interval of idle checks for a run without doubt.
constexpr Duration kAskSeldom = std::chrono::minutes{1};
// First idle check of a run at an executor that has never reported itself as busy.
constexpr Duration kAskFirst = std::chrono::milliseconds{500};
// An end that the store rejected is reported again.
constexpr Duration kReportAgain = std::chrono::seconds{2};
// Limit of log lines about late results, and of the quoted text.
constexpr Duration kLateTime = std::chrono::seconds{10};
constexpr std::int32_t kLateLines = 20;
constexpr std::size_t kLateMessageBytes = 200;

std::int32_t code_of(std::int64_t code) {
  const bool is_one = code > 0 && code <= INT32_MAX;
  return is_one ? static_cast<std::int32_t>(code) : wire::xxl::kFailure;
}

wire::RunOutcome outcome_of(std::int32_t code) {
  if (code == wire::xxl::kSuccess) return wire::RunOutcome::kSucceeded;
  if (code == kDiscardedCode) return wire::RunOutcome::kDiscarded;
  return code == wire::xxl::kTimedOut ? wire::RunOutcome::kTimedOut : wire::RunOutcome::kException;
}

LogState state_of(std::int32_t code) {
  if (code == wire::xxl::kSuccess) return LogState::kSucceeded;
  if (code == kDiscardedCode) return LogState::kDiscarded;
  return code == wire::xxl::kTimedOut ? LogState::kTimedOut : LogState::kFailed;
}

// Answers an executor with several results when all are stored.
class Answer {
 public:
  explicit Answer(OnStored done) : done_(std::move(done)) {}
  void expect() { ++left_; }
  void stored(const Status& status) {
    if (!status.ok()) status_ = status;
    if (--left_ == 0) done_(std::move(status_));
  }

 private:
  OnStored done_;
  Status status_{};
  std::size_t left_ = 0;
};

}  // namespace

// ---- results ----

void Pusher::results(ExecutorResults results, OnStored done) {
  inbox_.after_others([this, results = std::move(results), done = std::move(done)]() mutable {
    take_results(std::move(results), std::move(done));
  });
}

void Pusher::take_results(ExecutorResults results, OnStored done) {
  auto answer = std::make_shared<Answer>(std::move(done));
  const auto told = [answer](const Status& status) { answer->stored(status); };
  answer->expect();  // Until all were checked.
  std::vector<wire::xxl::RunResult> for_others;
  for (wire::xxl::RunResult& one : results.results) {
    const std::int32_t code = code_of(one.code);
    const auto partition = static_cast<std::size_t>(partition_of_log_id(one.log_id));
    if (!ownership_.owned().test(partition)) {
      one.code = code;
      for_others.push_back(std::move(one));
      continue;
    }
    Run* run = find_run(one.log_id);
    if (run == nullptr || run->row.code != 0) {
      note_late(one, code);
    }
    answer->expect();
    if (run == nullptr) {
      confirm_late(told);
      continue;
    }
    hear({run->row.group, run->row.address});
    if (run->row.code != 0 && run->row.shards > 1) {
      // Its end is stored or being stored; that of the broadcast may be hours away.
      confirm_late(told);
    } else if (run->row.code != 0) {
      run->told.push_back(told);
    } else if (jobs_.at(run->row.job).killed.empty() && says_it_is_lost(one)) {
      if (run->phase != Phase::kEnded)
        lose(jobs_.at(run->row.job), *run, "its executor was killed");
      confirm_late(told);
    } else {
      end_run(jobs_.at(run->row.job), *run, code, std::move(one.message).value_or(std::string{}),
              told);
    }
  }
  if (!for_others.empty()) {
    answer->expect();
    inbox_.put(std::move(for_others), told);
  }
  told({});
}

std::vector<GroupId> Pusher::groups_of_run(std::int64_t log_id) const {
  const std::int32_t partition = partition_of_log_id(log_id);
  if (ownership_.owned().test(static_cast<std::size_t>(partition))) {
    const auto found = runs_.find(log_id);
    if (found == runs_.end()) return {};
    return {found->second.row.group};
  }
  std::vector<GroupId> groups = executors_.groups();
  std::erase_if(groups, [&](GroupId group) { return partition_of(group) != partition; });
  return groups;
}

// A session that has lost the store knows no runs, and must not accept another session's result:
// the next commit after all pending ends proves its ownership.
void Pusher::confirm_late(OnStored told) {
  batcher_.post_unit(Urgency::kCompletion, {},
                     [told = std::move(told)](std::vector<Operation>&, const std::vector<Outcome>&,
                                              const Error* refused) {
                       told(refused != nullptr ? Status{*refused} : Status{});
                     });
}

// Limits the log lines for a flood of late results.
void Pusher::note_late(const wire::xxl::RunResult& result, std::int32_t code) {
  ++late_results_;
  const SteadyTime now = clock_.steady_now();
  if (now >= late_until_) {
    late_until_ = now + kLateTime;
    late_lines_ = 0;
  }
  if (++late_lines_ > kLateLines) return;
  const std::string said = result.message.value_or(std::string{});
  log_.info("ignored a late result of an executor", "log_id", result.log_id, "code", code,
            "message", first_bytes(said, kLateMessageBytes), "so_far", late_results_);
}

void Pusher::end_run(Job& job, Run& run, std::int32_t code, std::string message, OnStored done) {
  if (!job.killed.empty() && says_it_was_killed(message)) code = wire::xxl::kFailure;
  (void)call_back(run);  // Its connection may have released it since the last try.
  run.phase = Phase::kEnded;
  run.row.code = code;
  run.row.message = std::move(message);
  const bool is_killed = !job.killed.empty() && code != wire::xxl::kSuccess;
  if (run.row.shards > 1) {
    return end_shard(job, run, is_killed ? LogState::kKilled : state_of(code), std::move(done));
  }
  if (done) run.told.push_back(std::move(done));
  if (is_killed) {
    end_job(job, wire::RunOutcome::kKilled,
            job.killed + (run.row.message.empty() ? "" : ": " + run.row.message));
  } else {
    end_job(job, outcome_of(code), run.row.message);
  }
}

void Pusher::end_uncalled(Job& job, Run& run) {
  end_run(job, run, wire::xxl::kFailure, "it was not called");
}

void Pusher::end_job(Job& job, wire::RunOutcome outcome, std::string message) {
  if (job.result) return;
  const bool may_be_retried =
      outcome == wire::RunOutcome::kException || outcome == wire::RunOutcome::kTimedOut;
  if (may_be_retried && job.retries.max > 0 && job.runs.size() == 1) {
    RetryPolicy longest = job.retries;
    longest.jitter = 0;
    choice_.failed_at(job.id, runs_.at(job.runs.front()).row.address,
                      clock_.steady_now() + 2 * retry_delay(longest, job.retries.max, random_));
  }
  const WallTime now = clock_.now();
  job.result = wire::RunResult{.id = {job.id, job.attempt},
                               .outcome = outcome,
                               .message = std::move(message),
                               .started_at = now,
                               .ended_at = now};
  for (const std::int64_t log_id : job.runs) {
    const Run* run = find_run(log_id);
    if (run == nullptr) continue;
    job.result->started_at = std::min(job.result->started_at, began_at(*run));
  }
  report(job);
}

WallTime Pusher::began_at(const Run& run) {
  return run.sent_at == WallTime{} ? run.row.called_at : run.sent_at;
}

void Pusher::report(Job& job) {
  Worker* worker = workers_.find(push_session(job.group));
  if (worker == nullptr) return;
  job.reported_at = clock_.steady_now();
  outside_.report(*worker, {.session = worker->session, .results = {*job.result}});
}

// The attempt's end is in the store, or it belongs to another session: nothing of it counts any
// more.
void Pusher::forget(const wire::AttemptId& id) {
  Job* job = find(id.job_id, id.attempt);
  if (job == nullptr) return;
  std::vector<Operation> operations;
  std::vector<OnStored> told;
  const bool was_full = full_.contains(job->group);
  for (const std::int64_t log_id : job->runs) {
    operations.emplace_back(RemovePushRun{log_id});
    Run& run = runs_.at(log_id);
    std::move(run.told.begin(), run.told.end(), std::back_inserter(told));
    forget_run(log_id);
  }
  const GroupId group = job->group;
  jobs_.erase(id.job_id);
  if (!operations.empty()) {
    // One per end: as background work they would pile up under load.
    batcher_.post_unit(Urgency::kClaim, std::move(operations),
                       [](std::vector<Operation>&, const std::vector<Outcome>&, const Error*) {});
  }
  if (was_full) set_credit(group);
  for (const OnStored& one : told) one({});
}

// ---- shards ----

LogEntry Pusher::log_of_shard(const Job& job, const Run& run, LogState state) const {
  const WallTime now = clock_.now();
  const std::string place =
      "shard " + std::to_string(run.row.shard) + " of " + std::to_string(run.row.shards);
  LogEntry entry{.id = ids_.next(now),
                 .job_id = job.id,
                 .group = job.group,
                 .definition = job.definition,
                 .attempt = job.attempt,
                 .state = state,
                 .trigger_time = job.trigger_time,
                 .started_at = began_at(run),
                 .ended_at = now,
                 .node = run.row.address,
                 .message = place + (run.row.message.empty() ? "" : ": " + run.row.message),
                 .final = false,
                 .executor_log = run.row.log_id};
  const Executing* executing = executing_.find(job.id, job.attempt);
  if (executing != nullptr) entry.task_id = executing->row.job.task_id;
  return entry;
}

void Pusher::end_shard(Job& job, Run& run, LogState state, OnStored done) {
  const bool is_final = state == LogState::kSucceeded || state == LogState::kDiscarded ||
                        state == LogState::kKilled || run.row.failures >= job.retries.max;
  if (!is_final) {
    run.again_at = clock_.steady_now() + retry_delay(job.retries, run.row.failures + 1, random_);
  }
  std::vector<Operation> operations;
  operations.emplace_back(PutPushRun{run.row});
  operations.emplace_back(AddLog{log_of_shard(job, run, state)});
  batcher_.post_unit(
      Urgency::kClaim, std::move(operations),
      [this, id = job.id, attempt = job.attempt, done = std::move(done)](
          std::vector<Operation>&, const std::vector<Outcome>&, const Error* refused) {
        if (done) done(refused != nullptr ? Status{*refused} : Status{});
        if (Job* its = find(id, attempt)) end_if_all_have(*its);
      });
}

// Its previous executor may have its data, so it is tried first.
void Pusher::retry_shard(Job& job, Run& run) {
  std::vector<std::string> order = choice_.all_for(job);
  if (order.empty()) {
    run.again_at = clock_.steady_now() + config_.result_grace;
    return;
  }
  const auto own = std::find(order.begin(), order.end(), run.row.address);
  if (own != order.end()) std::rotate(order.begin(), own, own + 1);
  if (run.row.code != 0) ++run.row.failures;  // A lost shard has no result.
  run.refusals = {};
  replace_run(job, run, std::move(order));
}

void Pusher::end_if_all_have(Job& job) {
  if (job.result || job.runs.empty()) return;
  std::size_t succeeded = 0;
  std::size_t discarded = 0;
  std::string failures;
  for (const std::int64_t log_id : job.runs) {
    const Run& run = runs_.at(log_id);
    if (run.phase != Phase::kEnded || run.again_at) return;
    if (run.row.code == wire::xxl::kSuccess) {
      ++succeeded;
    } else if (run.row.code == kDiscardedCode) {
      ++discarded;
    } else {
      failures += "; shard " + std::to_string(run.row.shard) + " at " + run.row.address + ": " +
                  run.row.message;
    }
  }
  std::string message =
      std::to_string(succeeded) + " of " + std::to_string(job.runs.size()) + " shards succeeded";
  if (discarded > 0) message += ", " + std::to_string(discarded) + " discarded";
  message += failures;
  if (failures.empty()) {
    const bool has_run = succeeded > 0;
    return end_job(job, has_run ? wire::RunOutcome::kSucceeded : wire::RunOutcome::kDiscarded,
                   std::move(message));
  }
  // Each shard has had its own retries.
  const bool is_killed = !job.killed.empty();
  end_job(job, is_killed ? wire::RunOutcome::kKilled : wire::RunOutcome::kFailed,
          is_killed ? job.killed + ": " + message : std::move(message));
}

// ---- kills ----

void Pusher::kill(const wire::Kill& message) {
  for (const wire::AttemptId& id : message.jobs) {
    Job* job = find(id.job_id, id.attempt);
    if (job == nullptr || job->result) continue;
    job->killed = message.reason.empty() ? "killed" : message.reason;
    job->stop_by = clock_.steady_now() + config_.stop_grace;
    if (job->runs.empty()) {
      end_job(*job, wire::RunOutcome::kKilled, job->killed + " before it was called");
      continue;
    }
    for (const std::int64_t log_id : job->runs) {
      Run& run = runs_.at(log_id);
      run.again_at.reset();
      if (call_back(run)) end_uncalled(*job, run);
    }
    if (job->result) continue;
    send_kill(*job);
    if (runs_.at(job->runs.front()).row.shards > 1) end_if_all_have(*job);
  }
}

void Pusher::send_kill(const Job& job) {
  std::set<std::string> addresses;
  for (const std::int64_t log_id : job.runs) {
    const Run& run = runs_.at(log_id);
    if (run.phase == Phase::kCalling || run.phase == Phase::kRunning) {
      addresses.insert(run.row.address);
    }
  }
  for (const std::string& address : addresses) {
    // The kill is not retried for unreachable executors.
    (void)post({.kind = Call::Kind::kKill, .group = job.group, .address = address}, "kill",
               wire::xxl::write_job({.job_id = job.call.job_id}));
  }
}

// ---- executors that have left ----

void Pusher::doubt(GroupId group, const std::string& address) {
  const SteadyTime now = clock_.steady_now();
  for (auto& [log_id, run] : runs_) {
    const bool is_there = run.row.group == group && run.row.address == address;
    if (!is_there || run.phase != Phase::kRunning) continue;
    run.asked_every = {};
    run.is_doubtful = true;
    run.grace = config_.result_grace;
    if (run.lost_at) run.lost_at = std::min(*run.lost_at, now + run.grace);
  }
}

void Pusher::on_idle_answer(const Call& made, const net::PostOutcome& outcome) {
  const BeatAnswer answer = answer_to_beat(outcome);
  const Place place = made.place();
  if (answer == BeatAnswer::kNo) {
    suspects_.erase(place);
    outside_.learn(place.first, place.second, &ExecutorRow::reports_busy_state, true);
  }
  Run* run = find_run(made.log_id);
  if (run == nullptr || run->phase != Phase::kRunning || answer == BeatAnswer::kSilent) return;
  const bool is_gone = answer == BeatAnswer::kGone;
  if (is_gone && !run->is_doubtful) return doubt(made.group, made.address);
  run->asked_every = std::clamp(2 * run->asked_every, config_.beat, kAskSeldom);
  if (answer == BeatAnswer::kNo) {
    // The executor got a stop request with this run or with a later run of the job.
    run->grace = config_.resend_grace;
    run->lost_at.reset();
  } else if (!run->is_doubtful && !reports_busy_state(place)) {
    suspects_.insert(place);
  } else if (!run->lost_at) {
    const Duration grace = run->is_doubtful ? run->grace : config_.resend_grace;
    run->lost_at = clock_.steady_now() + grace;
  }
}

void Pusher::lose(Job& job, Run& run, const char* why) {
  if (!std::exchange(run.is_lost, true)) {
    ++runs_lost_;
    log_.warn("a run is lost", "job", job.id.value, "address", run.row.address, "reason", why);
  }
  if (run.row.shards == 1) return ends_.reclaim(job.id, true);
  if (++run.losses >= kLostRunsMax) {
    return end_run(job, run, wire::xxl::kFailure,
                   "its executor died or was disconnected each time");
  }
  run.phase = Phase::kEnded;
  run.again_at = clock_.steady_now();
  run.row.message = "its executor died, was disconnected, or never received the call";
  batcher_.post(Urgency::kCompletion, AddLog{log_of_shard(job, run, LogState::kLost)},
                [](Operation&, const Outcome&, const Error*) {});
  again(job, run);
}

void Pusher::again(Job& job, Run& run) {
  if (!is_void(job)) return retry_shard(job, run);
  run.again_at.reset();
  end_if_all_have(job);
}

void Pusher::run_once() {
  const SteadyTime now = clock_.steady_now();
  for (const GroupId group : executors_.groups()) {
    if (workers_.find(push_session(group)) == nullptr) register_worker(group);
  }
  std::vector<Place> places;
  for (const auto& [place, line] : lines_) places.push_back(place);
  for (const Place& place : places) call_waiting(place);
  std::vector<JobId> all;
  all.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_) all.push_back(id);
  for (const JobId id : all) {
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) look_at(found->second, now);
  }
  ask_who_may_be_gone();
  if (now - beaten_at_ >= config_.beat) beat(now);
  silence_.tidy(now);
  if (now - tidied_at_ >= kTidyPeriod) {
    tidied_at_ = now;
    choice_.tidy(now);
  }
  go_back_again();
  inbox_.run_once();
}

void Pusher::look_at(Job& job, SteadyTime now) {
  if (job.result) {
    if (now - job.reported_at >= kReportAgain) report(job);
    return;
  }
  if (requeue_if_superseded(job)) return;
  const bool stops = job.stop_by && now >= *job.stop_by;
  if (stops) job.stop_by.reset();
  for (const std::int64_t log_id : std::vector<std::int64_t>(job.runs)) {
    Run* run = find_run(log_id);
    if (run == nullptr || job.result) continue;
    if (stops && run->phase != Phase::kEnded) {
      end_run(job, *run, wire::xxl::kFailure, "its executor did not report that it stopped");
    } else {
      look_at_run(job, *run, now);
    }
  }
}

void Pusher::look_at_run(Job& job, Run& run, SteadyTime now) {
  if (run.phase == Phase::kEnded && run.again_at && now >= *run.again_at) return again(job, run);
  if (run.phase != Phase::kRunning) return;
  const bool is_over =
      job.timeout > Duration{} && now - run.since >= job.timeout + config_.stop_grace;
  // A run that its executor denies does not continue there.
  if (is_over && !run.lost_at) {
    send_kill(job);
    return end_run(job, run, wire::xxl::kTimedOut, "timed out, and its executor did not report it");
  }
  if (run.lost_at && now >= *run.lost_at) return lose(job, run, "its executor does not know it");
  if (is_given_up(run, now)) return lose(job, run, "its executor has been silent for too long");
  const bool is_suspect = suspects_.contains({run.row.group, run.row.address});
  if (is_suspect && !run.row.is_taken && !run.is_doubtful) {
    run.row.is_taken = true;
    keep(run);
  }
  if (is_time_to_ask(run, now)) {
    run.asked_at = now;
    (void)post({.kind = Call::Kind::kIdle,
                .group = job.group,
                .job = job.id,
                .attempt = job.attempt,
                .log_id = run.row.log_id,
                .address = run.row.address},
               "idleBeat", wire::xxl::write_job({.job_id = job.call.job_id}));
  }
}

bool Pusher::reports_busy_state(const Place& place) const {
  const ExecutorRow* executor = executors_.find(place.first, place.second);
  return executor != nullptr && executor->reports_busy_state;
}

// Stores the current state of a run, so that it survives a restart. All writes about runs are in
// one queue, so that the newest one wins.
void Pusher::keep(const Run& run) {
  batcher_.post(Urgency::kClaim, PutPushRun{run.row},
                [](Operation&, const Outcome&, const Error*) {});
}

// An executor that has never reported itself as busy may always report itself as idle: its reports
// do not count, and it is tested with one run now and then.
bool Pusher::is_time_to_ask(const Run& run, SteadyTime now) {
  if (run.is_doubtful || run.lost_at) return now - run.asked_at >= run.asked_every;
  if (now - run.asked_at < kAskFirst) return false;
  const Place place{run.row.group, run.row.address};
  if (reports_busy_state(place)) return now - run.asked_at >= kAskSeldom;
  SteadyTime& tried_at = tried_at_[place];
  const bool is_time = now - tried_at >= config_.beat;
  if (is_time) tried_at = now;
  return is_time;
}

Sizes Pusher::sizes() const {
  std::int32_t busy = 0;
  for (const auto& [group, count] : busy_of_) busy += count;
  std::int32_t counted_runs = 0;
  for (const auto& [group, count] : runs_of_) counted_runs += count;
  Sizes all{{"jobs", jobs_.size()},
            {"runs", runs_.size()},
            {"going_back", going_back_.size()},
            {"calls", calls_.size()},
            {"lines", lines_.size()},
            {"busy", static_cast<std::size_t>(busy)},
            {"counted_runs", static_cast<std::size_t>(counted_runs)},
            {"full", full_.size()},
            {"suspects", suspects_.size()},
            {"tried_at", tried_at_.size()},
            {"handed", handed_.size()},
            {"asked", asked_.size()},
            {"hung_up", hung_up_.size()}};
  add_sizes(all, "choice", choice_.sizes());
  add_sizes(all, "inbox", inbox_.sizes());
  return all;
}

}  // namespace carillon::jobtracker
