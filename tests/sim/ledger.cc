#include "tests/sim/ledger.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobtracker/state/executors.h"
#include "shared/wire/codec.h"
#include "tests/sim/parts.h"

namespace carillon::sim {

using jobtracker::Batch;
using jobtracker::DefinitionState;
using jobtracker::LogEntry;
using jobtracker::LogState;
using jobtracker::Operation;
using jobtracker::Outcome;
using jobtracker::OutcomeKind;
using jobtracker::WaitingJob;

namespace {

// The id of a job that has ended is remembered so long.
constexpr Duration kRemembered = std::chrono::hours{2};
// How much longer than its better a worse job must have known of it, to be handed out wrongly.
constexpr Duration kOrderSlack = std::chrono::seconds{1};

LogState state_of(wire::RunOutcome outcome) {
  constexpr std::array kStates{LogState::kSucceeded, LogState::kFailed,   LogState::kFailed,
                               LogState::kLater,     LogState::kTimedOut, LogState::kKilled};
  return kStates.at(static_cast<std::size_t>(outcome));
}

// With half of the jitter's share to spare, a retry may not come earlier.
Duration least_wait(const RetryPolicy& policy, int failures) {
  Duration wait = policy.base;
  if (policy.policy == RetryBackoff::kExponential) {
    wait = std::min(policy.cap, policy.base * (std::int64_t{1} << std::min(failures - 1, 30)));
  }
  return Duration{
      static_cast<Duration::rep>(static_cast<double>(wait.count()) * (1 - policy.jitter) * 0.999)};
}

}  // namespace

void Ledger::broken(const Job& job, const std::string& what) const {
  broken_("job " + std::to_string(job.row.id.value) + " of " + job.row.task_id + ", attempt " +
          std::to_string(job.row.attempt) + ": " + what);
}

const Ledger::Job* Ledger::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

bool Ledger::key_is_held(GroupId group, const std::string& task_id) const {
  return keys_.contains({group, task_id});
}

bool Ledger::defines(const std::string& group, const std::string& task_id) const {
  return key_is_held(part_of(tables_, group, task_id), task_id);
}

std::optional<WallTime> Ledger::next_fire(DefinitionId id) {
  return fires_.next(id, definitions_.at(id).row.generated_through);
}

bool Ledger::shows(wire::Verb verb, const std::string& group, const std::string& task_id,
                   SteadyTime asked_at) const {
  const GroupId id = part_of(tables_, group, task_id);
  if (!id) return false;
  const bool is_suspended = verb == wire::Verb::kSuspend;
  for (const auto& [definition, facts] : definitions_) {
    if (facts.row.group != id || facts.row.task_id != task_id) continue;
    if (verb == wire::Verb::kCancel) return false;
    if (!is_suspended && verb != wire::Verb::kResume) return true;
    return (facts.row.state == DefinitionState::kSuspended) == is_suspended;
  }
  for (const auto& [job_id, job] : jobs_) {
    if (job.row.group != id || job.row.task_id != task_id || job.row.definition) continue;
    // What was killed is a run of the job that it replaced: it waited then itself.
    const bool waited = job.place != Place::kExecuting || job.since > asked_at;
    if (verb == wire::Verb::kKill && waited) continue;
    if (verb == wire::Verb::kCancel || verb == wire::Verb::kKill) return job.cancelled;
    if (is_suspended || verb == wire::Verb::kResume) return job.row.suspended == is_suspended;
  }
  return true;
}

// A request is done once, however often it is sent.
void Ledger::check_requests(const Commit& commit) {
  for (std::size_t i = 0; i < commit.batch.requests.size(); ++i) {
    if (commit.done.requests[i].answered_before) continue;
    const std::int64_t client = commit.batch.requests[i].client;
    const std::int64_t sequence = commit.batch.requests[i].sequence;
    if (!requests_[client].insert(sequence).second) {
      broken_("request " + std::to_string(client) + "/" + std::to_string(sequence) +
              " was done a second time");
    }
    while (requests_[client].size() > 1000) requests_[client].erase(requests_[client].begin());
  }
}

// Likewise whatever number it was sent with. Each describes itself.
void Ledger::check_submission(const std::string& task_id, const JobSpec& spec) {
  if (spec.description.empty() || submissions_.insert(spec.description).second) return;
  broken_("task " + task_id + " was submitted once, and is stored twice: " + spec.description);
}

void Ledger::committed(const Commit& commit) {
  check_requests(commit);
  for (std::size_t kind = 0; kind < std::variant_size_v<Operation>; ++kind) {
    for (std::size_t i = 0; i < commit.batch.operations.size(); ++i) {
      const Operation& operation = commit.batch.operations[i];
      if (operation.index() != kind) continue;
      std::visit([&](const auto& one) { take(commit, one, commit.done.outcomes[i]); }, operation);
    }
  }
  check_all_overtaken(commit);
}

// ---- where jobs are ----

Ledger::Job* Ledger::add(const WaitingJob& row, bool by_act) {
  Job job{.row = row, .by_act = by_act};
  if (knows(row.id)) {
    broken(job, "its id was given out before");
    return nullptr;
  }
  const auto definition = definitions_.find(row.definition);
  const auto spec = row.spec.empty() ? Result<JobSpec>{Error{}} : wire::decode_spec(row.spec);
  if (spec.ok() && !row.definition) check_submission(row.task_id, spec.value());
  if (spec.ok()) {
    job.retries = spec.value().retries;
    job.kind = spec.value().run.kind;
    job.start_deadline = spec.value().start_deadline;
    job.children = spec.value().children;
    job.is_to_be_told = spec.value().need_feedback;
    job.is_pushed = spec.value().dispatch == Dispatch::kPush;
    job.own_priority = spec.value().priority;
    job.skips_missed = !row.definition && row.kind == ScheduleKind::kAt &&
                       spec.value().misfire.policy == MisfirePolicy::kSkip;
  } else if (definition != definitions_.end()) {
    job.retries = definition->second.spec.retries;
    job.kind = definition->second.spec.run.kind;
    job.start_deadline = definition->second.spec.start_deadline;
    job.children = definition->second.spec.children;
    job.is_to_be_told = definition->second.spec.need_feedback;
    job.is_pushed = definition->second.spec.dispatch == Dispatch::kPush;
    job.own_priority = definition->second.spec.priority;
  } else if (!by_act) {  // A trigger may meet the end of its task; then it ends, too.
    broken(job, "it has neither a description nor a definition");
  }
  if (!by_act && job.own_priority) check_priority(job, *job.own_priority);
  if (row.definition) {
    of_definition_[row.definition].insert(row.id);
    if (!by_act) fires_.opened(row.definition, row.trigger_time);
  } else if (row.keyed && ++keys_[{row.group, row.task_id}] > 1) {
    broken(job, "its task id was taken");
  }
  Job& kept = jobs_[row.id] = std::move(job);
  place(kept, row);
  return &kept;
}

void Ledger::place(Job& job, const WaitingJob& row) {
  stops_waiting(job);
  job.row = row;
  job.place = row.delayed ? Place::kDelayed : Place::kWaiting;
  job.since = timeline_.now();
  if (job.place == Place::kWaiting) turns_[row.group][turn_of(row)] = row.id;
}

void Ledger::end(JobId id, const LogEntry* log) {
  const auto found = jobs_.find(id);
  const Job& job = found->second;
  stops_waiting(job);
  if (job.row.definition) {
    auto definition = definitions_.find(job.row.definition);
    of_definition_[job.row.definition].erase(id);
    if (definition != definitions_.end()) {
      definition->second.ended_at = timeline_.now();
    } else {
      outliving_[{job.row.group, job.row.task_id}].erase(id);
      DefinitionFacts* next = defined_by(job.row.group, job.row.task_id);
      if (next != nullptr) next->ended_at = timeline_.now();  // Its runs have waited for this one.
    }
    if (definition != definitions_.end() && !job.by_act) {
      if (job.ran) ++definition->second.runs;
    }
    if (!job.by_act) {
      if (log != nullptr) {
        fires_.closed(job.row.definition, job.row.trigger_time, 1);
      } else {
        fires_.voided(job.row.definition, job.row.trigger_time);
      }
    }
  } else if (job.row.keyed) {
    const auto key = keys_.find({job.row.group, job.row.task_id});
    if (key != keys_.end() && --key->second == 0) keys_.erase(key);
  }
  ++ended_count_;
  ended_.insert(id);
  ended_at_.emplace_back(timeline_.now(), id);
  while (ended_at_.front().first + kRemembered < timeline_.now()) {
    ended_.erase(ended_at_.front().second);
    ended_at_.pop_front();
  }
  jobs_.erase(found);
}

// ---- what becomes of them ----

void Ledger::take(const Commit& commit, const jobtracker::AddJob& add_job, const Outcome& outcome) {
  if (outcome.kind == OutcomeKind::kTaken && !key_is_held(add_job.job.group, add_job.job.task_id)) {
    broken_("task " + add_job.job.task_id + " was refused as taken, and is not");
  }
  if (outcome.kind != OutcomeKind::kDone) return;
  const bool is_triggered = static_cast<bool>(add_job.job.definition);
  const Job* job = add(add_job.job, is_triggered);
  if (job != nullptr && is_triggered) check_triggered(commit, *job);
}

// As if it had waited for no time.
void Ledger::take(const Commit& commit, const jobtracker::AddExecuting& add_job,
                  const Outcome& outcome) {
  jobtracker::AddJob new_job{.job = add_job.to.job};
  new_job.job.attempt -= 1;
  take(commit, new_job, outcome);
  if (outcome.kind == OutcomeKind::kDone) claimed(commit, {.to = add_job.to}, true);
}

void Ledger::take(const Commit&, const jobtracker::AddDefinition& added, const Outcome& outcome) {
  const jobtracker::Definition& row = added.definition;
  if (outcome.kind == OutcomeKind::kTaken && !key_is_held(row.group, row.task_id)) {
    broken_("task " + row.task_id + " was refused as taken, and is not");
  }
  if (outcome.kind != OutcomeKind::kDone) return;
  auto spec = wire::decode_spec(row.spec);
  if (!spec.ok()) return broken_("task " + row.task_id + " is stored without a description");
  check_submission(row.task_id, spec.value());
  if (++keys_[{row.group, row.task_id}] > 1) broken_("task " + row.task_id + " was taken");
  definitions_[row.id] = {.row = row, .spec = std::move(spec).value(), .since = timeline_.now()};
  fires_.add(row, definitions_.at(row.id).spec);
  if (jobtracker::is_held(row.state)) {  // As the one was that it replaces: it is resumed later.
    definitions_.at(row.id).was_acted_on = true;
    fires_.suspended(row.id, row.created_at - Duration{1});
  }
  if (added.first) add(*added.first, false);
}

void Ledger::take(const Commit& commit, const jobtracker::ChangeWaiting& change,
                  const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kDone) return was_left(change.from);
  const auto found = jobs_.find(change.from.id);
  if (found == jobs_.end()) return broken_("a job was changed that is not stored");
  Job& job = found->second;
  if (job.place == Place::kExecuting) broken(job, "it was changed while it executed");
  if (change.log && change.log->final == change.to.has_value()) {
    broken(job, "it goes on though its row in the log is final, or the other way round");
  }
  if (change.to) {
    if (change.to->attempt != job.row.attempt) broken(job, "its attempt was changed");
    check_changed_turn(commit, job, *change.to);
    return place(job, *change.to);
  }
  if (!change.log && !job.row.definition) broken(job, "it went without a row in the log");
  if (change.log && change.log->attempt == 0 && change.log->state < LogState::kSkipped) {
    broken(job, "it ended as if it had run, and had not");
  }
  if (change.log && change.log->state == LogState::kSkipped) check_skipped(commit, job);
  if (change.log && change.log->state == LogState::kExpired && !commit.was_clock_set &&
      commit.batch.now + kOrderSlack < job.row.trigger_time + job.start_deadline) {
    broken(job, "it has expired, and has time left");
  }
  const bool is_run =
      !job.row.definition || jobtracker::was_tried(job.row) || !jobtracker::is_fire(job.row);
  if (change.log && is_run) check_told(job, *change.log);
  end(job.row.id, change.log ? &*change.log : nullptr);
}

void Ledger::take(const Commit& commit, const jobtracker::Claim& claim, const Outcome& outcome) {
  if (outcome.kind == OutcomeKind::kDone) claimed(commit, claim, false);
}

void Ledger::claimed(const Commit& commit, const jobtracker::Claim& claim, bool is_new) {
  const WaitingJob& row = claim.to.job;
  const auto found = jobs_.find(row.id);
  if (found == jobs_.end()) return broken_("a job was claimed that is not stored");
  Job& job = found->second;
  if (job.place != Place::kWaiting) broken(job, "it was claimed though it does not wait");
  if (jobtracker::was_lost_too_often(job.row)) {
    broken(job, "it was claimed though each of its runs was lost");
  }
  if (row.attempt != job.row.attempt + 1) broken(job, "its attempt did not go up by one");
  const Duration ahead =
      jobtracker::is_push_session(claim.to.session) ? commit.push_claim_ahead : commit.claim_ahead;
  if (jobtracker::due_time(row) > claim.to.claimed_at + ahead + Duration{1000}) {
    broken(job, "it was claimed before its time");
  }
  const auto worker = workers_.find(claim.to.session);
  if (worker == workers_.end()) {
    broken(job, "it was claimed for a session that never came");
  } else {
    if (group_name(tables_, row.group) != worker->second.group) {
      broken(job, "it was claimed for a worker of another group");
    }
    if (worker->second.handlers_only && job.kind != RunKind::kHandler) {
      broken(job, "it was claimed for a worker that does not accept its kind");
    }
  }
  if (row.definition) check_overlap(job);
  check_lateness(commit, job, claim.to.claimed_at);
  if (!commit.was_tracker_disturbed) check_overtaken(row.id, claim.to.claimed_at);
  stops_waiting(job);
  if (!commit.was_tracker_disturbed) check_order(commit, job, claim, is_new);
  job.row = row;
  job.place = Place::kExecuting;
  job.stops_since.reset();
  job.session = claim.to.session;
  job.since = timeline_.now();
}

// Only what may not overlap is passed over, or what too many wait before.
void Ledger::check_skipped(const Commit& commit, const Job& job) {
  const auto definition = definitions_.find(job.row.definition);
  if (definition == definitions_.end()) return;
  const Overlap overlap = definition->second.spec.overlap;
  if (overlap == Overlap::kParallel) broken(job, "it was skipped though its runs may overlap");
  const bool is_full = of_definition_[job.row.definition].size() > commit.blocked_max;
  if (overlap == Overlap::kQueue && !is_full) {
    broken(job, "it was skipped though its runs wait for each other");
  }
}

// It has not begun when it is too late for it.
void Ledger::check_lateness(const Commit& commit, const Job& job, WallTime claimed_at) {
  const WallTime trigger = job.row.trigger_time;
  if (jobtracker::was_tried(job.row) || job.row.attempt > 0) return;
  if (job.start_deadline > Duration{} && claimed_at > trigger + job.start_deadline) {
    broken(job, "it was claimed after its start deadline");
  }
  const auto definition = definitions_.find(job.row.definition);
  if (definition == definitions_.end() || job.by_act || job.row.triggered) return;
  const Misfire& misfire = definition->second.spec.misfire;
  const auto partition = static_cast<std::size_t>(jobtracker::partition_of(job.row.group));
  const DeadTime& dead = commit.dead_times.at(partition);
  const bool was_missed =
      trigger > dead.from + kOrderSlack && trigger < dead.until - misfire.threshold - kOrderSlack;
  if (misfire.policy == MisfirePolicy::kSkip && was_missed && !commit.was_clock_set) {
    broken(job, "it was missed, is not to run then, and is claimed");
  }
}

Ledger::DefinitionFacts* Ledger::defined_by(GroupId group, const std::string& task_id) {
  const auto found = std::find_if(definitions_.begin(), definitions_.end(), [&](const auto& one) {
    return one.second.row.group == group && one.second.row.task_id == task_id;
  });
  return found == definitions_.end() ? nullptr : &found->second;
}

// Of a schedule whose runs do not overlap, one runs at a time, and none beside what went on when
// the definition was replaced.
void Ledger::check_overlap(const Job& job) {
  const auto definition = definitions_.find(job.row.definition);
  if (definition == definitions_.end()) return broken(job, "its definition is gone");
  const jobtracker::Definition& row = definition->second.row;
  const JobSpec& spec = definition->second.spec;
  if (was_voided(job)) broken(job, "its definition was changed since it was made");
  const bool is_suspended = row.state == DefinitionState::kSuspended;
  if (is_suspended && !job.by_act) broken(job, "its definition is suspended");
  if (spec.overlap == Overlap::kParallel || job.row.forced || job.row.attempt > 0) return;
  std::set<JobId> others = of_definition_[job.row.definition];
  const std::set<JobId>& before = outliving_[{row.group, row.task_id}];
  others.insert(before.begin(), before.end());
  for (const JobId id : others) {
    const Job& other = jobs_.at(id);
    const bool runs_now = other.place == Place::kExecuting;
    if (id != job.row.id && runs_now && !other.row.forced) {
      broken(job, "it runs beside job " + std::to_string(id.value) + " of the same task");
    }
  }
}

bool Ledger::is_void(const Job& job) const {
  if (job.cancelled) return true;
  return job.row.definition && (!definitions_.contains(job.row.definition) || was_voided(job));
}

// A fire that had not begun when its job was suspended is taken back; what was triggered outlives
// that, but not a quarantine.
bool Ledger::was_voided(const Job& job) const {
  const auto definition = definitions_.find(job.row.definition);
  if (definition == definitions_.end()) return false;
  const jobtracker::Definition& row = definition->second.row;
  return row.version != job.row.version &&
         (jobtracker::is_fire(job.row) || row.state == DefinitionState::kQuarantined);
}

void Ledger::take(const Commit& commit, const jobtracker::End& ended, const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kDone) return;
  const auto found = jobs_.find(ended.id);
  if (found == jobs_.end()) return broken_("a job ended that is not stored");
  Job& job = found->second;
  if (job.place != Place::kExecuting) broken(job, "it ended though it does not execute");
  if (ended.attempt != job.row.attempt) broken(job, "another attempt of it has ended");
  check_end(commit, job, ended);
  check_children(job, ended);
  if (ended.log && !ended.again) check_told(job, *ended.log);
  const bool was_started = ended.log && ended.log->attempt > 0;
  job.ran = job.ran || was_started;
  for (const WaitingJob& run : ended.children) {
    const Job* child = add(run, true);
    if (child != nullptr && child->own_priority) check_priority(*child, *child->own_priority);
  }
  for (const jobtracker::InboxRow& row : ended.relayed) {
    inbox_[row.id] = {.row = row, .since = timeline_.now()};
  }
  const auto definition = definitions_.find(job.row.definition);
  if (definition != definitions_.end() && ended.log && ended.log->state == LogState::kLost) {
    DefinitionFacts& facts = definition->second;
    ++facts.lost;
    facts.was_lost_too_often |= jobtracker::lost_once_more(job.row) >= jobtracker::kLostRunsMax;
  }
  if (ended.again) return place(job, *ended.again);
  if (definition != definitions_.end() && !job.by_act) definition->second.last_ended = ended.id;
  end(ended.id, ended.log ? &*ended.log : nullptr);
}

void Ledger::check_end(const Commit& commit, const Job& job, const jobtracker::End& ended) {
  if (!ended.log) {
    if (!ended.again) return broken(job, "it ended without a row in the log");
    const auto& again = *ended.again;
    if (again.failures != job.row.failures || again.lost != job.row.lost) {
      broken(job, "it was given back, and something was counted against it");
    }
    check_turn_again(commit, job, again, false, false);
    return;
  }
  const LogEntry& log = *ended.log;
  if (log.final == ended.again.has_value()) {
    broken(job, "it goes on though its row in the log is final, or the other way round");
  }
  if (log.attempt != 0 && log.attempt != job.row.attempt) {
    broken(job, "its row in the log is of another attempt");
  }
  const RunBook::Run* run = runs_.find({job.row.id, job.row.attempt});
  if (log.attempt == 0) {
    if (!is_void(job)) broken(job, "it ended without a run, and nobody had cancelled it");
  } else if (jobtracker::is_push_session(job.session)) {
    on_pushed_end(commit, job, log, is_void(job));
  } else if (log.state != LogState::kLost && (run == nullptr || !run->outcome)) {
    const bool was_killed = log.state == LogState::kKilled && run == nullptr;  // before it began
    if (!was_killed) {
      broken(job, std::string("it ended as ") + to_string(log.state) + ", but " +
                      (run == nullptr ? "never ran" : "its run has not ended") + ": " +
                      log.message);
    }
  } else if (log.message.starts_with("killed") && !job.cancelled && !was_voided(job)) {
    broken(job, "it was killed, and nobody had asked for that");
  } else if (log.state != LogState::kLost && state_of(*run->outcome) != log.state) {
    broken(job, std::string("it ended as ") + to_string(log.state) + ", but its run as " +
                    to_string(state_of(*run->outcome)));
  }
  if (ended.again) {
    if (is_void(job) && ended.again->version == job.row.version && job.cancelled) {
      broken(job, "it was cancelled, and goes on");
    }
    return check_again(commit, job, *ended.again, log);
  }
  if (log.state == LogState::kLost && !is_void(job))
    broken(job, "it was lost, and does not run again");
  if (log.state == LogState::kLater && !is_void(job)) {
    broken(job, "it asked for a later run, and gets none");
  }
  const bool may_retry = run != nullptr && run->outcome &&
                         (*run->outcome == wire::RunOutcome::kException ||
                          *run->outcome == wire::RunOutcome::kTimedOut);
  if (log.attempt > 0 && log.state != LogState::kLost && may_retry && !is_void(job) &&
      job.row.failures < job.retries.max) {
    broken(job, "it has retries left, and is not tried again");
  }
}

// Also of a run whose definition is gone.
void Ledger::check_told(const Job& job, const LogEntry& log) {
  const bool is_told = !log.feedback_to.empty() || log.message.starts_with("no feedback: ");
  if (is_told && !job.is_to_be_told) broken(job, "somebody is told of its end who had not asked");
  if (!is_told && job.is_to_be_told && (log.attempt > 0 || !is_void(job)))
    broken(job, "nobody is told of its end");
}

// A success sets off a run of each of its children, or says of which it does not, and why.
void Ledger::check_children(const Job& job, const jobtracker::End& ended) {
  const bool has_succeeded = ended.log && ended.log->state == LogState::kSucceeded;
  const auto is_child = [&](GroupId group, const std::string& task_id) {
    const std::string name = group_name(tables_, group);
    return std::any_of(job.children.begin(), job.children.end(), [&](const Child& child) {
      return child.group == name && child.task_id == task_id;
    });
  };
  const std::size_t trigger_children = ended.children.size() + ended.relayed.size();
  if (!has_succeeded && trigger_children > 0)
    broken(job, "it has not succeeded, and sets off another");
  for (const WaitingJob& run : ended.children) {
    if (!is_child(run.group, run.task_id) || !run.triggered) {
      broken(job, "it sets off " + run.task_id);
    }
  }
  for (const jobtracker::InboxRow& row : ended.relayed) {
    if (!is_child(row.group, row.task_id)) broken(job, "it has " + row.task_id + " set off");
  }
  const bool are_all = trigger_children == job.children.size();
  if (has_succeeded && !job.cancelled && !are_all &&
      ended.log->message.find("not triggered: ") == std::string::npos) {
    broken(job, "it has succeeded, and does not set off its children");
  }
}

// Once, and with the run in the same batch; it may be that none is to be set off any more.
void Ledger::take(const Commit& commit, const jobtracker::RemoveInbox& remove,
                  const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kDone) return;
  const auto found = inbox_.find(remove.id);
  if (found == inbox_.end()) return broken_("a child is set off a second time");
  const jobtracker::InboxRow row = found->second.row;
  inbox_.erase(found);
  const auto is_run = [&row](const Operation& operation) {
    const auto* added = std::get_if<jobtracker::AddJob>(&operation);
    return added != nullptr && added->job.triggered && added->job.group == row.group &&
           added->job.task_id == row.task_id;
  };
  const bool is_set_off =
      std::any_of(commit.batch.operations.begin(), commit.batch.operations.end(), is_run);
  const bool may_be = std::any_of(definitions_.begin(), definitions_.end(), [&](const auto& one) {
    const DefinitionFacts& facts = one.second;
    const bool was_known = facts.since + kOrderSlack < commit.flushed_at && !commit.was_disturbed;
    return was_known && facts.row.group == row.group && facts.row.task_id == row.task_id &&
           facts.row.state == DefinitionState::kActive && facts.spec.overlap != Overlap::kSkip;
  });
  if (may_be && !is_set_off) {
    broken_("task " + row.task_id + " is a child of a run that succeeded, and is not set off");
  }
}

void Ledger::check_again(const Commit& commit, const Job& job, const WaitingJob& again,
                         const LogEntry& log) {
  const bool failed = log.state == LogState::kFailed || log.state == LogState::kTimedOut;
  const int lost = log.state == LogState::kLost ? jobtracker::lost_once_more(job.row) : 0;
  if (again.failures != job.row.failures + (failed ? 1 : 0)) {
    broken(job, "its failures are counted wrongly");
  }
  if (again.lost != lost) broken(job, "its lost runs are counted wrongly");
  const bool is_held = jobtracker::was_lost_too_often(again) && !again.definition;
  if (again.suspended != is_held) {
    broken(job, is_held ? "each of its runs was lost, and it goes on"
                        : "it is suspended, and nobody asked for that");
  }
  if (again.attempt != job.row.attempt) broken(job, "its attempts are counted wrongly");
  if (again.trigger_time != job.row.trigger_time) broken(job, "its trigger time was changed");
  check_turn_again(commit, job, again, failed, failed || log.state == LogState::kLater);
  if (failed) {
    const RunBook::Run* run = runs_.find({job.row.id, job.row.attempt});
    if (run != nullptr && run->outcome == wire::RunOutcome::kFailed) {
      broken(job, "it failed for good, and is tried again");
    }
    if (again.failures > job.retries.max) broken(job, "it is tried again too often");
    const Duration wait = least_wait(job.retries, again.failures);
    // The commit may be somewhat later than the decision; the decision is later than the end.
    if (!again.not_before || *again.not_before < log.ended_at + wait) {
      broken(job, "it is tried again too early");
    }
    const WallTime latest = commit.batch.now + 2 * wait + std::chrono::seconds{1};
    if (again.not_before && *again.not_before > latest && job.retries.jitter == 0 &&
        !commit.was_clock_set) {
      broken(job, "it is tried again too late");
    }
  }
  if (log.state == LogState::kLater) {
    const RunBook::Run* run = runs_.find({job.row.id, job.row.attempt});
    if (run != nullptr && (!again.not_before || *again.not_before < log.ended_at + run->later)) {
      broken(job, "it runs again earlier than it asked for");
    }
    if (run != nullptr && !commit.was_clock_set && again.not_before &&
        *again.not_before > commit.batch.now + run->later + kOrderSlack) {
      broken(job, "it runs again later than it asked for");
    }
  }
}

void Ledger::take(const Commit&, const jobtracker::CancelExecuting& cancel,
                  const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kDone) return;
  const auto found = jobs_.find(cancel.id);
  if (found == jobs_.end() || found->second.place != Place::kExecuting) {
    return broken_("a run was cancelled that does not execute");
  }
  found->second.cancelled = true;
  found->second.stops_since = timeline_.now();
}

// ---- definitions ----

// Until then each of its fires has come to something; after the last one of a count none comes.
WallTime Ledger::called_off_at(const DefinitionFacts& facts, const LogEntry& voided) {
  const std::optional<std::int64_t> count = facts.spec.schedule.count;
  const bool is_over =
      facts.row.state != DefinitionState::kActive || (count && facts.row.fired >= *count);
  return is_over ? std::min(voided.ended_at, facts.row.generated_through) : voided.ended_at;
}

// What waits is gone, and has a row in the log if it was due or a run of it was claimed before.
// What was triggered has one of its own, and outlives a suspension.
void Ledger::take_voided(const Commit& commit, const jobtracker::ChangeDefinition& change,
                         const DefinitionFacts& facts) {
  const LogEntry& voided = *change.voided;
  const bool is_suspended = change.to && change.to->state == DefinitionState::kSuspended;
  bool was_due = false;
  const std::set<JobId> all = of_definition_[change.id];
  for (const JobId id : all) {
    const Job& job = jobs_.at(id);
    const bool is_fire = jobtracker::is_fire(job.row);
    if (job.place == Place::kExecuting || (is_suspended && !is_fire)) continue;
    const bool is_run = job.row.attempt > 0 || !is_fire;
    const bool is_due = !is_run && jobtracker::due_time(job.row) <= voided.ended_at;
    was_due = was_due || is_due;
    if (is_run) {
      check_told(job, voided);
      const auto is_its = [id](const auto& row) { return row.second.job_id == id; };
      if (std::none_of(tables_.log.lower_bound(voided.id), tables_.log.end(), is_its))
        broken(job, "it was called off, and has no row of its own in the log");
    }
    end(id, is_due || is_run ? &voided : nullptr);
  }
  const bool is_of_a_fire = !was_due && voided.count > 0 && voided.trigger_time != voided.ended_at;
  if (is_of_a_fire && !commit.was_clock_set)
    fires_.called_off(change.id, voided.trigger_time, commit.batch.now + commit.claim_ahead);
  if (change.to) fires_.suspended(change.id, called_off_at(facts, voided));
}

// Of what was missed no more runs than the rule allows; the rest has a row in the log.
void Ledger::check_misfires(const Commit& commit, const jobtracker::ChangeDefinition& change,
                            const DefinitionFacts& facts) const {
  const bool were_missed = std::any_of(change.logs.begin(), change.logs.end(), [](const auto& log) {
    return log.state == LogState::kMissed;
  });
  const Misfire& rule = facts.spec.misfire;
  if (!were_missed || rule.policy != MisfirePolicy::kFireAll) return;
  std::int64_t runs = 0;
  WallTime oldest = WallTime::max();
  for (const WaitingJob& row : change.add) {
    if (row.trigger_time + rule.threshold > commit.batch.now) continue;
    ++runs;
    oldest = std::min(oldest, row.trigger_time);
  }
  // It is looked for when a job tracker has started, which is a while ago.
  const bool is_old = runs > 0 && oldest + rule.window + std::chrono::minutes{5} < commit.batch.now;
  if (runs > rule.max || is_old)
    broken_("task " + facts.row.task_id + ": more missed fires run than its rule allows");
}

void Ledger::take(const Commit& commit, const jobtracker::ChangeDefinition& change,
                  const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kDone) return;
  const auto found = definitions_.find(change.id);
  if (found == definitions_.end()) return broken_("a definition was changed that is not stored");
  DefinitionFacts& facts = found->second;
  const bool is_resumed =
      change.to && jobtracker::is_held(facts.row.state) && !jobtracker::is_held(change.to->state);
  const bool is_act =
      change.void_waiting || is_resumed || (change.to && change.to->version != facts.row.version);
  const auto is_in_quarantine = [](const jobtracker::Definition& row) {
    return row.state == DefinitionState::kQuarantined;
  };
  const bool was_lost =
      facts.was_lost_too_often ||
      (facts.spec.overlap == Overlap::kCancelRunning && facts.lost >= jobtracker::kLostRunsMax);
  if (change.to && is_in_quarantine(*change.to) && !is_in_quarantine(facts.row) && !was_lost) {
    broken_("task " + facts.row.task_id +
            " is in quarantine, and none of its runs was lost so often");
  }
  if (is_act) facts.was_acted_on = true;
  const WallTime generated = change.to ? change.to->generated_through : facts.row.generated_through;
  if (generated < facts.row.generated_through && !is_act &&
      facts.row.kind != ScheduleKind::kFixedDelay) {
    broken_("task " + facts.row.task_id + " goes back in its schedule");
  }
  for (const LogEntry& log : change.logs) fires_.closed(change.id, log.trigger_time, log.count);
  if (!commit.was_clock_set) check_misfires(commit, change, facts);
  if (change.void_waiting) take_voided(commit, change, facts);
  if (is_resumed) {
    // A suspension leaves the count as it is.
    if (is_in_quarantine(facts.row)) {
      facts.lost = 0;
      facts.was_lost_too_often = false;
    }
    const bool makes_one = !change.add.empty();
    fires_.resumed(change.id, commit.batch.now,
                   makes_one ? change.add.front().trigger_time - Duration{1} : generated);
  }
  if (change.to) {
    facts.row = *change.to;
    facts.row.fired -= outcome.count;
    for (const WaitingJob& row : change.add) {
      add(row, false);
      if (row.kind != ScheduleKind::kFixedDelay) continue;
      // Not before its time after the end that stands in the same batch.
      for (const Operation& operation : commit.batch.operations) {
        const auto* ended = std::get_if<jobtracker::End>(&operation);
        if (ended == nullptr || !ended->log || ended->id != facts.last_ended) continue;
        if (row.trigger_time < ended->log->ended_at + facts.spec.schedule.interval) {
          broken_("task " + facts.row.task_id + " runs again before its delay");
        }
        const Schedule& schedule = facts.spec.schedule;
        const WallTime latest = std::max(commit.batch.now + schedule.interval,
                                         schedule.first.value_or(facts.row.created_at)) +
                                kOrderSlack;
        if (row.trigger_time > latest && !commit.was_clock_set) {
          broken_("task " + facts.row.task_id + " runs again long after its delay");
        }
      }
    }
    return;
  }
  const std::optional<std::int64_t> count = facts.spec.schedule.count;
  if (!facts.was_acted_on) {
    if (!of_definition_[change.id].empty()) {
      broken_("task " + facts.row.task_id + " went, but runs of it wait or execute");
    }
    if (count && facts.runs != *count) {
      broken_("task " + facts.row.task_id + " was to run " + std::to_string(*count) +
              " times, and ran " + std::to_string(facts.runs));
    }
    if (!count && facts.row.kind != ScheduleKind::kManual) {
      broken_("task " + facts.row.task_id + " went though it has no end");
    }
  }
  // Runs of one that was replaced go on.
  const bool is_replaced = std::any_of(
      commit.batch.operations.begin(), commit.batch.operations.end(), [&](const auto& operation) {
        const auto* job = std::get_if<jobtracker::AddJob>(&operation);
        const auto* begun = std::get_if<jobtracker::AddExecuting>(&operation);
        const auto* other = std::get_if<jobtracker::AddDefinition>(&operation);
        return (job != nullptr && job->job.task_id == facts.row.task_id) ||
               (begun != nullptr && begun->to.job.task_id == facts.row.task_id) ||
               (other != nullptr && other->definition.task_id == facts.row.task_id);
      });
  std::set<JobId>& outliving = outliving_[{facts.row.group, facts.row.task_id}];
  outliving.insert(of_definition_[change.id].begin(), of_definition_[change.id].end());
  for (const JobId id : outliving) {
    Job& run = jobs_.at(id);
    const bool is_named =
        std::find(change.runs.begin(), change.runs.end(), id) != change.runs.end();
    if (change.cancels_runs && is_named) {
      run.cancelled = true;
      run.stops_since = timeline_.now();
    } else if (change.cancels_runs || (change.void_waiting && !is_replaced)) {
      broken(run, "its job was cancelled, and it was not");
    }
  }
  const auto key = keys_.find({facts.row.group, facts.row.task_id});
  if (key != keys_.end() && --key->second == 0) keys_.erase(key);
  fires_.remove(change.id,
                change.voided ? called_off_at(facts, *change.voided) : facts.row.generated_through);
  definitions_.erase(found);
}

void Ledger::check() {
  std::size_t waiting = 0;
  for (const auto& [group, table] : tables_.waiting) waiting += table.size();
  std::array<std::size_t, 3> places{};
  for (const auto& [id, job] : jobs_) ++places.at(static_cast<std::size_t>(job.place));
  const std::array stored{waiting, tables_.delayed.size(), tables_.executing.size()};
  if (places != stored) {
    broken_("the store has " + std::to_string(stored[0]) + " waiting, " +
            std::to_string(stored[1]) + " delayed and " + std::to_string(stored[2]) +
            " executing jobs; committed were " + std::to_string(places[0]) + ", " +
            std::to_string(places[1]) + " and " + std::to_string(places[2]));
  }
  if (definitions_.size() != tables_.definitions.size() || keys_.size() != tables_.keys.size()) {
    broken_("the store has " + std::to_string(tables_.definitions.size()) + " definitions and " +
            std::to_string(tables_.keys.size()) + " task ids; committed were " +
            std::to_string(definitions_.size()) + " and " + std::to_string(keys_.size()));
  }
  if (inbox_.size() != tables_.inbox.size()) {
    broken_("the store has " + std::to_string(tables_.inbox.size()) +
            " children to set off; committed were " + std::to_string(inbox_.size()));
  }
  for (const auto& [id, facts] : definitions_) fires_.check(id, facts.row.generated_through);
}

}  // namespace carillon::sim
