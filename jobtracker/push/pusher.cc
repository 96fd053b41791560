#include "jobtracker/push/pusher.h"

#include <algorithm>
#include <utility>

#include "shared/wire/xxl/write.h"

// Calls of executors. pusher_ends.cc handles their results.
namespace carillon::jobtracker {
namespace {

bool asks_before(Route route) { return route == Route::kFailover || route == Route::kBusyover; }

void add_refusal(std::string& refusals, const std::string& address, const std::string& why) {
  refusals += (refusals.empty() ? "" : "; ") + address + ": " + why;
}

}  // namespace

Pusher::Pusher(PusherConfig config, Catalog& catalog, const Ownership& ownership,
               ExecutingTable& executing, const Executors& executors, ExecutorHealth& health,
               ExecutorSilence& silence, Workers& workers, Batcher& batcher, AttemptReclaimer& ends,
               RunLogs& logs, IdSource& ids, SchedulingClock& clock, Random& random,
               const Logger& log, Outside outside)
    : config_(config),
      catalog_(catalog),
      ownership_(ownership),
      executing_(executing),
      executors_(executors),
      health_(health),
      silence_(silence),
      workers_(workers),
      batcher_(batcher),
      ends_(ends),
      logs_(logs),
      ids_(ids),
      clock_(clock),
      random_(random),
      log_(log),
      outside_(std::move(outside)),
      choice_(catalog, executors, health, random),
      inbox_(ownership, batcher, ids, clock, [this](ExecutorResults told, OnStored done) {
        take_results(std::move(told), std::move(done));
      }) {}

Pusher::~Pusher() { lease_->end(); }

void Pusher::start(const StartAnswer& found) {
  // Outcomes of an earlier session of this process must be ignored.
  last_call_ = static_cast<std::uint64_t>(ids_.next(clock_.now()));
  last_log_ = last_log_id_of(ids_.high());
  for (const GroupId group : executors_.groups()) register_worker(group);
  std::vector<Operation> forgotten;
  choice_.start(found.routes, forgotten);
  std::map<JobId, std::vector<PushRun>> runs;
  for (const PushRun& row : found.push_runs) {
    const Executing* entry = executing_.find(row.job, row.attempt);
    if (entry != nullptr && is_push_session(entry->row.session)) {
      runs[row.job].push_back(row);
    } else {
      forgotten.emplace_back(RemovePushRun{row.log_id});
    }
  }
  std::map<HandOutKey, JobId> uncalled;  // called in this order
  for (const ExecutingJob& row : found.executing) {
    if (!is_push_session(row.session)) continue;
    const auto its = runs.find(row.job.id);
    if (its == runs.end()) {
      uncalled.emplace(hand_out_key(row.job), row.job.id);
    } else {
      restore(*executing_.find(row.job.id), std::move(its->second));
    }
  }
  for (const auto& [key, id] : uncalled) outside_.go_on(*executing_.find(id));
  for (const GroupId group : executors_.groups()) set_credit(group);
  if (forgotten.empty()) return;
  batcher_.post_unit(Urgency::kHousekeeping, std::move(forgotten),
                     [](std::vector<Operation>&, const std::vector<Outcome>&, const Error*) {});
}

// Each run without a result may have been sent. A run that an always idle executor took goes on as
// before, until its time-out. Where the definition was changed or removed, the time-out is not
// known any more: then the executor's word counts, or the run would never end.
void Pusher::restore(const Executing& entry, std::vector<PushRun> rows) {
  Job& job = add_job(entry);
  std::optional<JobSpec> own;
  const bool has_spec = catalog_.spec_of(entry.row.job, own) != nullptr;
  for (PushRun& row : rows) {
    const std::int64_t log_id = row.log_id;
    if (log_id <= kLogIdMax) last_log_ = std::max(last_log_, log_id);
    job.runs.push_back(log_id);
    Run run{.row = std::move(row)};
    run.phase = run.row.code != 0 ? Phase::kEnded : Phase::kRunning;
    run.is_doubtful =
        !run.row.is_taken || !has_spec || reports_busy_state({run.row.group, run.row.address});
    run.grace = config_.resend_grace;
    run.since = clock_.steady_now();  // It may have been called just now.
    const bool fails = run.row.code > 0 && run.row.code != wire::xxl::kSuccess;
    if (fails && run.row.failures < job.retries.max) run.again_at = clock_.steady_now();
    note_log(job, run);
    put_run(std::move(run));
  }
  name_run(job, runs_.at(job.runs.front()));
  if (entry.row.cancelled) {
    kill({.jobs = {{job.id, job.attempt}}, .reason = "cancelled"});
  } else {
    end_if_all_have(job);
  }
}

// ---- the worker that stands for a group's executors ----

void Pusher::register_worker(GroupId group, const std::string& address) {
  health_.set_well(group, address);
  hear({group, address});
  if (!ownership_.has(group)) return;
  health_.forget_gone(group);
  const auto has_gone = [&](const Place& place) {
    return place.first == group && executors_.find(group, place.second) == nullptr;
  };
  std::erase_if(suspects_, has_gone);
  std::erase_if(asked_, has_gone);
  std::erase_if(tried_at_, [&](const auto& one) { return has_gone(one.first); });
  const SessionId session = push_session(group);
  if (!executors_.has(group)) return workers_.erase(session);
  if (workers_.find(session) == nullptr) {
    const Group* known = catalog_.group(group);
    if (known == nullptr)
      return;  // Another job tracker has created it just now: run_once() tries again.
    Worker worker{.session = session, .name = known->name, .group = group};
    worker.parts = {group};
    worker.threads = config_.claims_max;
    worker.kinds = RunKinds::pushed();
    worker.handout_last = clock_.now().time_since_epoch().count();
    workers_.put(std::move(worker));
  }
  set_credit(group);
}

void Pusher::set_credit(GroupId group) {
  Worker* worker = workers_.find(push_session(group));
  if (worker == nullptr) return;
  const bool is_served = poster_ != nullptr && !health_.is_nobody_there(group);
  // Each claim may be a broadcast with a run at every executor.
  const auto members = std::max(1, static_cast<std::int32_t>(executors_.addresses(group).size()));
  const std::int32_t room = (config_.runs_max - runs_of_[group]) / members;
  const std::int32_t window = std::max(0, std::min(config_.claims_max - busy_of_[group], room));
  if (room <= 0 && full_.insert(group).second) {
    log_.warn("the executors have the most runs that a group may have; its other jobs wait",
              "group", catalog_.group(group)->name, "runs", runs_of_[group]);
  }
  worker->take_pull({.session = worker->session,
                     .number = worker->pull + 1,
                     .handout_seen = worker->handout_last,
                     .window = is_served ? window : 0});
  outside_.touch(group);
}

void Pusher::take(const Worker& worker, const wire::Message& message) {
  if (const auto* handed = std::get_if<wire::HandOut>(&message)) {
    std::vector<wire::AttemptId>& ids = handed_[worker.group];
    for (const wire::HandedJob& job : handed->jobs) ids.push_back(job.id);
  } else if (const auto* reported = std::get_if<wire::Reported>(&message)) {
    for (const wire::AttemptId& id : reported->done) forget(id);
  } else if (const auto* stop = std::get_if<wire::Kill>(&message)) {
    kill(*stop);
  }
}

void Pusher::flush() {
  for (const auto& [group, ids] : std::exchange(handed_, {})) {
    for (const wire::AttemptId& id : ids) begin(id);
    set_credit(group);
  }
}

// ---- from an attempt to its calls ----

Pusher::Job* Pusher::find(JobId id, std::int32_t attempt) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() || found->second.attempt != attempt ? nullptr : &found->second;
}

Pusher::Run* Pusher::find_run(std::int64_t log_id) {
  const auto found = runs_.find(log_id);
  return found == runs_.end() ? nullptr : &found->second;
}

Pusher::Job& Pusher::add_job(const Executing& entry) {
  const WaitingJob& row = entry.row.job;
  Job job{.group = row.group,
          .id = row.id,
          .attempt = row.attempt,
          .definition = row.definition,
          .task_id = row.task_id,
          .trigger_time = row.trigger_time};
  std::optional<JobSpec> own;
  job.call.job_id = executor_job(row.definition, row.task_id, row.id);
  // Without a spec its definition was removed, and only its result is awaited.
  if (const JobSpec* spec = catalog_.spec_of(row, own)) {
    job.call = run_call_of(*spec, job.call.job_id);
    job.traceparent = spec->traceparent;
    job.push = spec->push;
    job.retries = spec->retries;
    job.timeout = spec->timeout;
  }
  return jobs_.insert_or_assign(row.id, std::move(job)).first->second;
}

void Pusher::begin(const wire::AttemptId& id) {
  const Executing* entry = executing_.find(id.job_id, id.attempt);
  if (entry == nullptr || entry->phase != jobtracker::Phase::kSent) return;
  if (entry->row.cancelled) return ends_.reclaim(id.job_id, false);
  if (const auto before = jobs_.find(id.job_id); before != jobs_.end()) {
    forget({id.job_id, before->second.attempt});
  }
  plan(add_job(*entry));
}

void Pusher::put_run(Run run) {
  ++runs_of_[run.row.group];
  const std::int64_t log_id = run.row.log_id;
  runs_.emplace(log_id, std::move(run));
}

void Pusher::forget_run(std::int64_t log_id) {
  const auto found = runs_.find(log_id);
  const GroupId group = found->second.row.group;
  runs_.erase(found);
  if (--runs_of_[group] < config_.runs_max / 2) full_.erase(group);
}

std::int64_t Pusher::new_log_id(GroupId group) {
  // Ids never go back, so that the next session, which knows the highest one, repeats no log id.
  const WallTime now = std::max(clock_.now(), id_time_of_next_log(last_log_));
  last_log_ = next_log_id(last_log_, ids_.next(now), group);
  return last_log_;
}

void Pusher::plan(Job& job) {
  // Its executors have left since the claim.
  if (health_.is_nobody_there(job.group) && go_back(job)) return;
  std::vector<std::string> addresses = choice_.all_for(job);
  if (addresses.empty()) {
    return end_job(job, wire::RunOutcome::kException,
                   job.push.addresses.empty()
                       ? "no executor of the group is in service"
                       : "none of the job's addresses is an executor in service of its group (the "
                         "executor must register, or be listed with jobclient groups add)");
  }
  std::vector<Operation> operations;
  if (asks_before(job.push.route)) {
    choice_.prefer_another(job.id, addresses);
    job.to_ask = std::move(addresses);
    return ask_next(job);
  }
  if (job.push.route == Route::kShardingBroadcast) {
    const auto shards = static_cast<std::int32_t>(addresses.size());
    for (std::int32_t shard = 0; shard < shards; ++shard) {
      const std::string& own = addresses[static_cast<std::size_t>(shard)];
      std::vector<std::string> order = addresses;
      choice_.prefer_the_well(job.group, order);
      std::rotate(order.begin(), std::find(order.begin(), order.end(), own), order.end());
      add_run(job, shard, shards, std::move(order), operations);
    }
  } else {
    add_run(job, 0, 1, choice_.by_route(job, addresses, operations), operations);
  }
  store_runs(job, std::move(operations));
}

void Pusher::add_run(Job& job, std::int32_t shard, std::int32_t shards,
                     std::vector<std::string> order, std::vector<Operation>& operations) {
  Run run{.row = {.log_id = new_log_id(job.group), .group = job.group, .job = job.id}};
  run.row.attempt = job.attempt;
  run.row.shard = shard;
  run.row.shards = shards;
  run.row.address = std::move(order.front());
  run.row.called_at = clock_.now();
  run.others.assign(std::make_move_iterator(order.rbegin()),
                    std::make_move_iterator(order.rend() - 1));
  job.runs.push_back(run.row.log_id);
  operations.emplace_back(PutPushRun{run.row});
  put_run(std::move(run));
}

void Pusher::store_runs(const Job& job, std::vector<Operation> operations) {
  batcher_.post_unit(
      Urgency::kClaim, std::move(operations),
      [this, id = job.id, attempt = job.attempt](
          std::vector<Operation>& stored, const std::vector<Outcome>&, const Error* refused) {
        Job* its = find(id, attempt);
        if (its == nullptr) return;
        if (refused != nullptr) {
          return end_job(*its, wire::RunOutcome::kException,
                         "cannot store its call: " + refused->message);
        }
        for (const Operation& operation : stored) {
          const auto* put = std::get_if<PutPushRun>(&operation);
          Run* run = put == nullptr ? nullptr : find_run(put->row.log_id);
          if (run != nullptr && run->phase == Phase::kStoring) get_in_line(*run);
        }
      });
}

// Replaces a rejected run, or one to repeat: a result for its old log id does not count any more.
void Pusher::replace_run(Job& job, Run& run, std::vector<std::string> order) {
  const std::int64_t before = run.row.log_id;
  Run next = std::move(run);
  forget_run(before);
  next.row.log_id = new_log_id(job.group);
  next.row.address = std::move(order.front());
  next.row.called_at = clock_.now();
  next.row.code = 0;
  next.row.message.clear();
  next.row.is_taken = false;
  next.others.assign(std::make_move_iterator(order.rbegin()),
                     std::make_move_iterator(order.rend() - 1));
  next.phase = Phase::kStoring;
  next.is_doubtful = next.is_lost = next.is_at_other_path = false;
  next.asked_every = {};
  next.lost_at.reset();
  next.again_at.reset();
  std::replace(job.runs.begin(), job.runs.end(), before, next.row.log_id);
  std::vector<Operation> operations;
  operations.emplace_back(RemovePushRun{before});
  operations.emplace_back(PutPushRun{next.row});
  put_run(std::move(next));
  store_runs(job, std::move(operations));
}

// ---- calls ----

bool Pusher::post(Call call, std::string_view path, std::string body,
                  std::shared_ptr<net::Sending> sending) {
  // Another job tracker may have created the group just now.
  const Group* group = catalog_.group(call.group);
  if (poster_ == nullptr || group == nullptr) return false;
  net::Post post = post_to(call.address, path, std::move(body),
                           executors_.token_to_send(call.group, config_.token), group->name,
                           config_.call_timeout);
  post.id = ++last_call_;
  post.may_wait = call.kind == Call::Kind::kRun || call.kind == Call::Kind::kChoose;
  post.sending = std::move(sending);
  const Job* const job = call.kind == Call::Kind::kRun ? find(call.job, call.attempt) : nullptr;
  if (job != nullptr && !job->traceparent.empty())
    post.headers.emplace_back("traceparent", job->traceparent);
  if (!poster_->post(std::move(post))) return false;
  ++lines_[call.place()].calls;
  ++busy_of_[call.group];
  calls_.emplace(last_call_, std::move(call));
  return true;
}

void Pusher::on_outcome(net::PostOutcome outcome) {
  const auto found = calls_.find(outcome.id);
  if (found == calls_.end()) return;  // From an earlier session.
  const Call call = std::move(found->second);
  calls_.erase(found);
  --lines_[call.place()].calls;
  --busy_of_[call.group];
  if (outcome.kind == net::PostOutcome::Kind::kAnswered) {
    health_.set_well(call.group, call.address);
    hear(call.place());
  } else if (!outcome.is_recalled) {
    note_unwell(call, outcome);
  }
  switch (call.kind) {
    case Call::Kind::kRun:
      on_run_answer(call, outcome);
      break;
    case Call::Kind::kChoose:
      on_asked(call, outcome);
      break;
    case Call::Kind::kIdle:
      on_idle_answer(call, outcome);
      break;
    case Call::Kind::kThere:
      if (answer_to_beat(outcome) == BeatAnswer::kGone) doubt(call.group, call.address);
      break;
    case Call::Kind::kKill:
      break;  // The result decides, or there is none.
  }
  call_waiting(call.place());
  set_credit(call.group);
}

// FAILOVER and BUSYOVER: uses the first executor that answers, or is idle.
void Pusher::ask_next(Job& job) {
  const bool is_failover = job.push.route == Route::kFailover;
  if (job.to_ask.empty()) {
    return end_job(
        job, wire::RunOutcome::kException,
        (is_failover ? "no executor answers: " : "no executor is idle: ") + job.refusals);
  }
  if (is_elsewhere_better(job.group, job.to_ask.front(), job.to_ask)) {
    choice_.prefer_the_well(job.group, job.to_ask);
  }
  const Place place{job.group, job.to_ask.front()};
  lines_[place].asking.push_back({job.id, job.attempt});
  ++busy_of_[place.first];
  call_waiting(place);
}

bool Pusher::ask(Job& job) {
  if (requeue_if_superseded(job)) return true;
  if (is_elsewhere_better(job.group, job.to_ask.front(), job.to_ask)) {
    ask_next(job);
    return true;
  }
  if (lines_[{job.group, job.to_ask.front()}].calls >= config_.calls_max) return false;
  const bool is_failover = job.push.route == Route::kFailover;
  const bool is_asked =
      post({.kind = Call::Kind::kChoose,
            .group = job.group,
            .job = job.id,
            .attempt = job.attempt,
            .address = job.to_ask.front()},
           is_failover ? "beat" : "idleBeat",
           is_failover ? "{}" : wire::xxl::write_job({.job_id = job.call.job_id}));
  if (is_asked) job.to_ask.erase(job.to_ask.begin());
  return is_asked;
}

void Pusher::on_asked(const Call& call, const net::PostOutcome& outcome) {
  Job* job = find(call.job, call.attempt);
  if (job == nullptr || job->result) return;
  // The executor is slow or hangs: another one may be faster, or it is asked again.
  if (outcome.is_crowded && executors_.find(call.group, call.address) != nullptr) {
    job->to_ask.push_back(call.address);
    return ask_next(*job);
  }
  if (answer_to_beat(outcome) != BeatAnswer::kYes) {
    if (job->to_ask.empty() && requeue_if_executor_gone(call.address, *job)) return;
    add_refusal(job->refusals, call.address, verdict_on_run(outcome, job->push.block).reason);
    return ask_next(*job);
  }
  std::vector<std::string> order{call.address};
  std::move(job->to_ask.begin(), job->to_ask.end(), std::back_inserter(order));
  job->to_ask.clear();
  std::vector<Operation> operations;
  add_run(*job, 0, 1, std::move(order), operations);
  store_runs(*job, std::move(operations));
}

void Pusher::note_log(const Job& job, const Run& run) {
  logs_.note(job.id, job.attempt, run.row.shard,
             {.log_id = run.row.log_id, .group = job.group, .address = run.row.address});
}

// An attempt with a single run shows its executor's name.
void Pusher::name_run(const Job& job, const Run& run) {
  Executing* entry = executing_.find(job.id, job.attempt);
  if (entry == nullptr || run.row.shards > 1) return;
  entry->row.node = run.row.address;
  entry->executor_log = run.row.log_id;
}

void Pusher::get_in_line(Run& run) {
  Job& job = jobs_.at(run.row.job);
  if (!job.killed.empty()) return end_uncalled(job, run);
  run.phase = Phase::kStored;
  if (lease_->is_over()) return give_away(job);
  const Place place{run.row.group, run.row.address};
  lines_[place].waiting.push_back(run.row.log_id);
  ++busy_of_[place.first];
  call_waiting(place);
}

// Until the most calls are in progress; each outcome allows the next call.
void Pusher::call_waiting(const Place& place) {
  const auto found = lines_.find(place);
  if (found == lines_.end()) return;
  std::deque<std::int64_t>& waiting = found->second.waiting;
  while (!waiting.empty()) {
    Run* run = find_run(waiting.front());
    const bool is_due = run != nullptr && run->phase == Phase::kStored;
    if (is_due && !call(jobs_.at(run->row.job), *run)) return;
    waiting.pop_front();
    --busy_of_[place.first];
  }
  std::deque<wire::AttemptId>& asking = found->second.asking;
  while (!asking.empty()) {
    Job* job = find(asking.front().job_id, asking.front().attempt);
    const bool is_due = job != nullptr && !job->result && !job->to_ask.empty();
    if (is_due && !ask(*job)) return;
    asking.pop_front();
    --busy_of_[place.first];
  }
  if (found->second.calls == 0) lines_.erase(found);
}

bool Pusher::call(Job& job, Run& run) {
  if (job.result) return true;
  if (requeue_if_superseded(job)) return true;
  if (requeue_if_executor_gone(run.row.address, job)) return true;
  if (is_elsewhere_better(job.group, run.row.address, run.others)) {
    call_next(job, run, "it does not answer");
    return true;
  }
  const Line& line = lines_[{job.group, run.row.address}];
  if (line.calls >= config_.calls_max || !lease_->is_held(clock_.steady_now())) return false;
  wire::xxl::RunCall body = job.call;
  body.log_id = run.row.log_id;
  body.log_time_ms = log_time_ms(run.row.log_id);
  body.shard_index = run.row.shard;
  body.shard_total = run.row.shards;
  name_run(job, run);
  const ExecutorRow* executor = executors_.find(job.group, run.row.address);
  const bool has_trigger = executor != nullptr && executor->has_trigger;
  auto sending = std::make_shared<net::Sending>(lease_, call_until(job));
  if (!post({.group = job.group,
             .job = job.id,
             .attempt = job.attempt,
             .log_id = run.row.log_id,
             .address = run.row.address,
             .is_trigger = has_trigger},
            has_trigger ? "trigger" : "run", wire::xxl::write_run(body), sending))
    return false;
  run.phase = Phase::kCalling;
  run.sending = std::move(sending);
  run.sent_at = clock_.now();
  run.since = clock_.steady_now();
  ++calls_made_;
  note_log(job, run);
  return true;
}

void Pusher::on_run_answer(const Call& made, const net::PostOutcome& outcome) {
  Job* job = find(made.job, made.attempt);
  Run* run = find_run(made.log_id);
  // Its result may have arrived first.
  if (job == nullptr || run == nullptr || run->phase != Phase::kCalling) return;
  run->sending.reset();
  const RunVerdict verdict = verdict_on_run(outcome, job->push.block);
  const ExecutorRow* executor = executors_.find(job->group, made.address);
  // It may have waited for a connection, but was not sent earlier than this.
  run->sent_at = std::max(run->sent_at, clock_.now() - config_.call_timeout);
  run->since = std::max(run->since, clock_.steady_now() - config_.call_timeout);
  switch (verdict.answer) {
    case RunAnswer::kTaken:
      run->phase = Phase::kRunning;
      run->asked_at = clock_.steady_now();
      break;
    case RunAnswer::kUnknown:
      log_.warn("an executor did not answer a call; the job may run there", "address", made.address,
                "job", made.job.value, "error", verdict.reason);
      run->phase = Phase::kRunning;
      run->is_doubtful = true;
      run->grace = outcome.is_broken ? config_.result_grace : config_.resend_grace;
      break;
    case RunAnswer::kOtherPath:
      if (executor == nullptr || std::exchange(run->is_at_other_path, true)) {
        call_next(*job, *run, "it accepts calls neither at /run nor at /trigger");
      } else {
        outside_.learn(job->group, made.address, &ExecutorRow::has_trigger, !made.is_trigger);
        get_in_line(*run);
      }
      break;
    case RunAnswer::kDiscarded:
      end_run(*job, *run, kDiscardedCode, verdict.reason);
      break;
    case RunAnswer::kNotSent:
      // Its executor is slow or hangs: another healthy one takes it, if there is one. Or the
      // session was not proven for a while.
      if ((outcome.is_crowded || outcome.is_recalled) && executor != nullptr) {
        get_in_line(*run);
        break;
      }
      if (outcome.kind == net::PostOutcome::Kind::kNotSent) run->phase = Phase::kStored;
      if (requeue_if_executor_gone(made.address, *job)) break;
      [[fallthrough]];
    case RunAnswer::kRefused:
      call_next(*job, *run, verdict.reason);
      break;
  }
}

void Pusher::call_next(Job& job, Run& run, const std::string& why) {
  const bool asks = asks_before(job.push.route);
  std::string& refusals = asks ? job.refusals : run.refusals;
  add_refusal(refusals, run.row.address, why);
  if (run.others.empty() && waits_for_any(job, run)) return;
  if (run.others.empty() || !job.killed.empty()) {
    return end_run(job, run, wire::xxl::kFailure, "no executor accepted it: " + refusals);
  }
  std::vector<std::string> order(run.others.rbegin(), run.others.rend());
  if (!asks) return replace_run(job, run, std::move(order));
  // Only executors that were asked are called.
  const std::int64_t log_id = run.row.log_id;
  forget_run(log_id);
  job.runs.clear();
  job.to_ask = std::move(order);
  batcher_.post(Urgency::kClaim, RemovePushRun{log_id},
                [](Operation&, const Outcome&, const Error*) {});
  ask_next(job);
}

}  // namespace carillon::jobtracker
