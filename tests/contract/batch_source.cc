#include "tests/contract/batch_source.h"

#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "shared/job/bucket.h"
#include "tests/contract/store_contract.h"

namespace carillon::jobtracker {
namespace {

constexpr std::uint64_t kBatchMax = 60;
constexpr std::int64_t kVoidedRuns = 1000;  // that a definition may have, and more
constexpr std::size_t kLeavingMax = 25;     // in a batch
// What is known of is forgotten then, but for the youngest half.
constexpr std::size_t kKnownMax = 2000;
constexpr std::size_t kWaitingKept = 150;  // in a group, and of the delayed ones
constexpr std::size_t kRowsKept = 60;      // of most others
constexpr std::uint64_t kAlarms = 40;
constexpr std::uint64_t kPushRuns = 200;
constexpr std::uint64_t kClients = 40;
// Alike, but none is another.
constexpr const char* kAddresses[] = {"http://executor-1:9999/", "http://executor-1:9999",
                                      "http://Executor-1:9999/", "https://executor-1:9999/",
                                      "http://executor-2:9999/"};
constexpr const char* kRecipients[] = {"ops@example.com", "https://hooks.example.com/Ops"};

template <class T>
void forget_oldest(std::vector<T>& known) {
  if (known.size() > kKnownMax) known.erase(known.begin(), known.begin() + kKnownMax / 2);
}

}  // namespace

std::string drawn_task_id(int number, int spelling) {
  constexpr const char* kBefore[kSpellings] = {"task ", "Task ", "task "};
  constexpr const char* kAfter[kSpellings] = {"", "", " "};
  return kBefore[spelling] + std::to_string(number) + kAfter[spelling];
}

// What jobs go through is drawn so often that there is something to do for the rest.
const BatchSource::Kind BatchSource::kKinds[] = {
    {300, &BatchSource::add_job},
    {200, &BatchSource::claim},
    {180, &BatchSource::end},
    {120, &BatchSource::change_waiting},
    {30, &BatchSource::add_definition},
    {60, &BatchSource::change_definition},
    {10, &BatchSource::remove_definition},
    {35, &BatchSource::cancel_executing},
    {20, &BatchSource::add_output},
    {10, &BatchSource::put_node},
    {8, &BatchSource::remove_feedback},
    {6, &BatchSource::remove_inbox},
    {5, &BatchSource::remove_alarm},
    {15, &BatchSource::put_script},
    {2, &BatchSource::put_executor_group},
    {4, &BatchSource::remove_executor_group},
    {12, &BatchSource::change_executor},
    {10, &BatchSource::put_push_run},
    {5, &BatchSource::remove_push_run},
    {8, &BatchSource::put_route},
    {6, &BatchSource::put_executor_result},
    {3, &BatchSource::remove_executor_result},
    {8, &BatchSource::add_log},
    {6, &BatchSource::purge},
    {4, &BatchSource::clean_log},
    {6, &BatchSource::index_log},
    {6, &BatchSource::add_audit},
    {6, &BatchSource::put_principal},
    {4, &BatchSource::remove_principal},
    {6, &BatchSource::put_figures},
    {6, &BatchSource::put_alarm_history},
    {4, &BatchSource::put_silence},
};

BatchSource::BatchSource(std::uint64_t seed, const std::vector<Group>& groups)
    : random_(seed), now_(kNow) {
  for (const Group& group : groups) {
    names_.push_back(group.name);
    groups_.push_back(group.id);
  }
  jobs_.push_back(new_job());
  definitions_.push_back(new_definition());
}

Batch BatchSource::next() {
  std::uint64_t shares = 0;
  for (const Kind& kind : kKinds) shares += kind.share;
  Batch batch{.recovered = chance(90),
              .lease = std::chrono::seconds{now_.time_since_epoch().count() % 4},
              .now = now_,
              .log_settled = leaving_.empty() && chance(80) ? last_id_ : 0};
  for (auto left = below(kBatchMax) + 1; left > 0; --left) {
    auto at = below(shares);
    const Kind* kind = kKinds;
    for (; at >= kind->share; ++kind) at -= kind->share;
    (this->*kind->draw)(batch.operations);
  }
  for (std::size_t left = kLeavingMax; left > 0 && !leaving_.empty(); --left) {
    batch.operations.push_back(std::move(leaving_.front()));
    leaving_.pop_front();
  }
  add_requests(batch);
  batch.id_high = last_id_;
  now_ += Duration{number_below(2'000'000)};
  forget_oldest(jobs_);
  forget_oldest(definitions_);
  forget_oldest(relayed_);
  forget_oldest(logs_);
  forget_oldest(feedback_);
  return batch;
}

// Something is stored twice, or of a group that there is not.
Batch BatchSource::next_invalid() {
  Batch batch = next();
  const auto add = [&](const Operation& one) { batch.operations.push_back(one); };
  WaitingJob job = new_job();
  job.keyed = false;
  if (const auto kind = below(6); kind < 2) {
    const AddLog twice{new_log(job)};
    add(twice);
    add(twice);
    // Which must not be taken for it.
    (kind == 0) ? purge(batch.operations) : clean_log(batch.operations);
  } else if (kind == 2) {
    add(AddJob{job});
    add(AddJob{job});
  } else if (kind == 3) {
    ++job.attempt;
    const AddExecuting twice{{.job = job, .session = SessionId{1}, .node = "worker"}};
    add(twice);
    add(twice);
  } else if (kind == 4) {
    Definition definition = new_definition();
    definition.task_id = "stored once";
    add(AddDefinition{definition, std::nullopt});
    definition.task_id = "stored twice";
    add(AddDefinition{definition, std::nullopt});
  } else {
    job.group = GroupId{9999};
    add(AddJob{job});
  }
  batch.id_high = last_id_;
  return batch;
}

Batch BatchSource::next_of(std::vector<Operation> operations) {
  return {.id_high = last_id_, .recovered = true, .now = now_, .operations = std::move(operations)};
}

GroupSplit BatchSource::next_split() {
  return {.group = names_[below(names_.size())], .parts = chance(50) ? 2 : 4};
}

void BatchSource::note_split(const SplitPlan& plan) {
  leaving_.clear();  // It may have gone to a part.
  for (const NewGroupPartition& part : plan.parts) {
    groups_.push_back(part.group.id);
    const auto move = [&](auto& row) {
      if (row.group == plan.whole.id && part.takes(bucket_of(row.task_id)))
        row.group = part.group.id;
    };
    std::for_each(jobs_.begin(), jobs_.end(), move);
    std::for_each(definitions_.begin(), definitions_.end(), move);
  }
}

void BatchSource::note_group(const Group& group) {
  const bool is_new = std::find(groups_.begin(), groups_.end(), group.id) == groups_.end();
  if (!is_new) return;
  names_.push_back(group.name);
  groups_.push_back(group.id);
}

template <class Map, class Make>
void BatchSource::leave(const Map& map, std::size_t kept, const Make& make) {
  auto at = map.begin();
  for (std::size_t left = map.size(); left > kept; --left) leaving_.push_back(make(*at++));
}

void BatchSource::keep_small(const MemoryTables& stored) {
  leaving_.clear();
  const auto remove_waiting = [](const auto& one) { return ChangeWaiting{.from = one.second}; };
  for (const auto& [group, table] : stored.waiting) {
    leave(table.all(), kWaitingKept / stored.waiting.size() + 5, remove_waiting);
  }
  leave(stored.delayed.all(), kWaitingKept, remove_waiting);
  leave(stored.executing, kRowsKept, [&](const auto& one) {
    const WaitingJob& job = one.second.job;
    return End{.id = job.id,
               .attempt = job.attempt,
               .group = job.group,
               .task_id = job.task_id,
               .frees_key = job.keyed && !job.definition,
               .log = new_log(job)};
  });
  leave(stored.definitions, kRowsKept, [&](const auto& one) {
    const Definition& definition = one.second;
    ChangeDefinition change{.id = definition.id,
                            .expected_version = definition.version,
                            .void_waiting = true,
                            .voided = new_log(new_occurrence(definition)),
                            .group = definition.group};
    last_id_ += kVoidedRuns * kIdStep;
    return change;
  });
  leave(stored.inbox, kRowsKept, [](const auto& one) { return RemoveInbox{.id = one.first}; });
  leave(stored.routes, kRowsKept, [](const auto& one) {
    return PutRoute{{.definition = one.first, .group = one.second.group}};
  });
  // It goes with the log of its attempt, once that is purged.
  leave(stored.output, kRowsKept, [&](const auto& one) {
    const OutputRow& row = one.second;
    return AddLog{new_log({.id = row.job_id, .group = group(), .attempt = row.attempt})};
  });
}

std::vector<WaitingJob> BatchSource::youngest_jobs(std::size_t count) const {
  const auto first = static_cast<std::ptrdiff_t>(jobs_.size() - std::min(count, jobs_.size()));
  return {jobs_.begin() + first, jobs_.end()};
}

WallTime BatchSource::time() { return now_ + (number_below(40) - 20) * kSecond; }

WallTime BatchSource::earlier() { return now_ - number_below(10'000) * kSecond; }

std::string BatchSource::task_id() {
  return drawn_task_id(static_cast<int>(below(kDrawnTaskIds)),
                       chance(80) ? 0 : static_cast<int>(below(kSpellings)));
}

std::string BatchSource::address() { return kAddresses[below(std::size(kAddresses))]; }

// Seldom one that is too long for a smaller column.
std::string BatchSource::bytes(std::uint64_t size_max) {
  const auto size = below(2000) == 0 ? 70'000 : below(size_max);
  return std::string(size, static_cast<char>(below(256)));
}

WaitingJob BatchSource::new_job() {
  WaitingJob job{.id = JobId{++last_id_}, .group = group(), .trigger_time = time()};
  if (chance(20)) job.not_before = time();
  job.keyed = chance(50);
  job.task_id = job.keyed ? task_id() : "job-" + std::to_string(job.id.value);
  job.kind = chance(50) ? ScheduleKind::kNow : ScheduleKind::kAt;
  job.priority = static_cast<int>(below(5)) * 50 - 1;
  job.failures = static_cast<std::int32_t>(below(3));
  job.lost = chance(10) ? 1 : 0;
  job.forced = chance(10);
  job.spec = bytes(40);
  return job;
}

WaitingJob BatchSource::new_occurrence(const Definition& definition) {
  auto job = new_job();
  job.group = definition.group;
  job.task_id = definition.task_id;
  job.keyed = false;
  job.definition = definition.id;
  job.version = definition.version;
  job.kind = definition.kind;
  job.triggered = chance(20);
  job.makes_up = job.triggered && chance(50);
  job.spec.clear();
  return job;
}

Definition BatchSource::new_definition() {
  Definition made{.id = DefinitionId{++last_definition_}};
  made.group = group();
  made.task_id = task_id();
  made.keyed = chance(80);
  made.kind = chance(50) ? ScheduleKind::kCron : ScheduleKind::kEvery;
  made.created_at = now_;
  made.next_fire = time();
  made.generated_through = now_;
  made.spec = bytes(40);
  return made;
}

LogEntry BatchSource::new_log(const WaitingJob& job) {
  LogEntry entry{.id = ++last_id_,
                 .job_id = job.id,
                 .group = job.group,
                 .task_id = job.task_id,
                 .definition = job.definition,
                 .attempt = job.attempt};
  entry.state = static_cast<LogState>(below(11));
  entry.trigger_time = job.trigger_time;
  if (chance(50)) entry.started_at = time();
  entry.ended_at = chance(95) ? now_ : earlier();
  entry.node = "worker-" + std::to_string(below(3));
  if (chance(50)) entry.exit_code = static_cast<std::int32_t>(below(256)) - 128;
  entry.message = bytes(30);
  entry.count = number_below(5);
  entry.final = chance(70);
  if (chance(20)) entry.executor_log = number_below(kPushRuns) + 1;
  logs_.push_back(entry.id);
  if (chance(20)) {
    entry.feedback_to = kDrawnClientGroups[below(std::size(kDrawnClientGroups))];
    feedback_.emplace_back(entry.feedback_to, entry.id);
  }
  for (auto left = chance(10) ? below(3) + 1 : 0; left > 0; --left) {
    entry.alarms.push_back({.alarm = number_below(kAlarms) + 1,
                            .line = static_cast<std::int32_t>(below(4)),
                            .failures = number_below(9) + 1,
                            .recipient = kRecipients[below(std::size(kRecipients))]});
  }
  return entry;
}

void BatchSource::add_job(Operations& to) {
  AddJob add{new_job()};
  add.job.delayed = chance(20);
  add.job.suspended = add.job.delayed && chance(50);
  jobs_.push_back(add.job);
  if (add.job.delayed || !chance(20)) return to.push_back(std::move(add));
  ++jobs_.back().attempt;
  to.push_back(AddExecuting{{.job = jobs_.back(),
                             .session = SessionId{number_below(5) + 1},
                             .node = "worker",
                             .claimed_at = now_}});
}

void BatchSource::claim(Operations& to) {
  WaitingJob& known = any(jobs_);
  ++known.attempt;
  to.push_back(Claim{{.job = known,
                      .session = SessionId{number_below(5) + 1},
                      .node = "worker",
                      .claimed_at = now_}});
}

void BatchSource::end(Operations& to) {
  WaitingJob& known = any(jobs_);
  End ended{
      .id = known.id, .attempt = known.attempt, .group = known.group, .task_id = known.task_id};
  if (chance(80)) ended.log = new_log(known);
  if (chance(40)) {
    ended.again = known;
    ended.again->delayed = chance(15);
    ended.again->suspended = ended.again->delayed && chance(50);
    ended.again->failures += 1;
    if (chance(70)) ended.again->not_before = time();
    known = *ended.again;
  } else {
    ended.frees_key = known.keyed && !known.definition;
  }
  for (auto left = chance(10) ? below(3) : 0; left > 0; --left) {
    ended.children.push_back(new_occurrence(any(definitions_)));
  }
  if (chance(10)) {
    ended.relayed.push_back({.id = ++last_id_, .group = group(), .task_id = task_id()});
    relayed_.push_back(ended.relayed.back().id);
  }
  jobs_.insert(jobs_.end(), ended.children.begin(), ended.children.end());
  to.push_back(std::move(ended));
}

void BatchSource::change_waiting(Operations& to) {
  WaitingJob& known = any(jobs_);
  ChangeWaiting change{.from = known};
  if (known.delayed && chance(10)) {  // Looked at before it was suspended, or resumed.
    change.from.suspended = !known.suspended;
    return to.push_back(std::move(change));
  }
  if (chance(60)) {
    change.to = known;
    change.to->trigger_time = time();
    change.to->not_before = chance(20) ? std::optional{time()} : std::nullopt;
    change.to->priority = static_cast<int>(below(5)) * 50 - 1;
    change.to->delayed = chance(50);
    change.to->suspended = change.to->delayed && chance(50);
    known = *change.to;
  }
  if (chance(40)) change.log = new_log(known);
  to.push_back(std::move(change));
}

void BatchSource::add_definition(Operations& to) {
  AddDefinition add{.definition = new_definition()};
  definitions_.push_back(add.definition);
  if (chance(50)) {
    add.first = new_occurrence(add.definition);
    jobs_.push_back(*add.first);
  }
  to.push_back(std::move(add));
}

void BatchSource::change_definition(Operations& to) {
  Definition& known = any(definitions_);
  ChangeDefinition change{.id = known.id, .expected_version = known.version, .group = known.group};
  if (chance(30)) change.expected_generated_through = known.generated_through;
  if (chance(10)) ++change.expected_version;
  change.void_waiting = chance(30);
  change.uncounts_voided = change.void_waiting && chance(50);
  change.spares_triggered = change.void_waiting && chance(50);
  if (change.void_waiting && chance(70)) {
    change.voided = new_log(new_occurrence(known));
    change.voided->count = number_below(2);
    change.voided->ended_at = time();
    last_id_ += kVoidedRuns * kIdStep;
  }
  if (chance(30)) ++known.version;
  if (chance(15)) {
    constexpr ScheduleKind kKindsOfDefinition[] = {ScheduleKind::kCron, ScheduleKind::kEvery,
                                                   ScheduleKind::kFixedDelay,
                                                   ScheduleKind::kManual};
    known.kind = kKindsOfDefinition[below(std::size(kKindsOfDefinition))];
  }
  known.state = chance(70) ? DefinitionState::kActive : static_cast<DefinitionState>(below(4));
  known.generated_through = now_ + number_below(3) * kSecond;
  known.last_fire = now_;
  ++known.fired;
  change.spec_changed = chance(20);
  change.to = known;
  if (change.spec_changed) change.to->spec = "edited " + std::to_string(below(1000));
  for (auto left = below(4); left > 0; --left) {
    change.add.push_back(new_occurrence(known));
    jobs_.push_back(change.add.back());
  }
  if (chance(20)) change.logs.push_back(new_log(new_occurrence(known)));
  to.push_back(std::move(change));
}

// Or puts another in its place, which mostly has its scripts and its route's memory from then on.
void BatchSource::remove_definition(Operations& to) {
  const Definition known = any(definitions_);
  ChangeDefinition change{.id = known.id, .expected_version = known.version, .group = known.group};
  change.void_waiting = chance(70);
  if (change.void_waiting && chance(70)) {
    change.voided = new_log(new_occurrence(known));
    last_id_ += kVoidedRuns * kIdStep;
  }
  for (auto left = below(3); left > 0; --left) change.runs.push_back(any(jobs_).id);
  change.cancels_runs = chance(50);
  change.leaves_spec = chance(50);
  std::optional<AddDefinition> add;
  if (chance(50)) {
    add = AddDefinition{.definition = new_definition()};
    add->definition.group = known.group;
    add->definition.task_id = known.task_id;
    definitions_.push_back(add->definition);
    if (chance(70)) change.scripts_to = add->definition.id;
    if (chance(70)) change.routes_to = add->definition.id;
  }
  to.push_back(std::move(change));
  if (add) to.push_back(std::move(*add));
}

void BatchSource::cancel_executing(Operations& to) {
  const WaitingJob& known = any(jobs_);
  to.push_back(CancelExecuting{known.id, known.attempt});
}

void BatchSource::add_output(Operations& to) {
  const JobId id = any(jobs_).id;
  to.push_back(AddOutput{{.job_id = id,
                          .attempt = static_cast<std::int32_t>(below(2)) + 1,
                          .sequence = number_below(3) + 1,
                          .stream = static_cast<int>(below(3)) + 1,
                          .at = now_,
                          .bytes = bytes(20)}});
}

void BatchSource::put_node(Operations& to) {
  const auto session = number_below(60) + 1;
  to.push_back(PutNode{{.session = SessionId{session},
                        .name = "worker-" + std::to_string(session),
                        .group = group(),
                        .address = "tcp://10.0.0." + std::to_string(below(9)) + ":5601",
                        .threads = static_cast<std::int32_t>(below(64)),
                        .started_at = time(),
                        .last_seen = chance(50) ? now_ : earlier(),
                        .alive = chance(70)}});
}

void BatchSource::remove_feedback(Operations& to) {
  RemoveFeedback remove{.client_group = any(feedback_).first};
  for (auto left = below(6); left > 0; --left) {
    remove.ids.push_back(any(feedback_).second);
    if (chance(20)) remove.ids.push_back(remove.ids.front());  // clients may say it twice
  }
  if (chance(30)) remove.before = any(feedback_).second;
  to.push_back(std::move(remove));
}

void BatchSource::remove_inbox(Operations& to) {
  to.push_back(RemoveInbox{.id = any(relayed_), .to = chance(30) ? group() : GroupId{}});
}

void BatchSource::remove_alarm(Operations& to) {
  to.push_back(RemoveAlarm{number_below(kAlarms) + 1});
}

// Now and then more than are kept.
void BatchSource::put_script(Operations& to) {
  const DefinitionId definition = any(definitions_).id;
  for (auto left = chance(5) ? 2 * kScriptVersionsMax : 1; left > 0; --left) {
    PutScript put{.definition = definition, .is_old = chance(30)};
    put.script = {.version = number_below(1000),
                  .language = chance(80) ? "bash" : "python",
                  .source = "script " + std::to_string(below(5)),
                  .remark = chance(30) ? "remark " + std::to_string(below(3)) : ""};
    to.push_back(std::move(put));
  }
}

void BatchSource::put_executor_group(Operations& to) {
  to.push_back(
      PutExecutorGroup{{.group = group(), .token = std::string(below(9), 't')}, chance(30)});
}

void BatchSource::remove_executor_group(Operations& to) {
  to.push_back(RemoveExecutorGroup{group()});
}

void BatchSource::change_executor(Operations& to) {
  to.push_back(ChangeExecutor{{.group = group(),
                               .address = address(),
                               .is_manual = chance(20),
                               .has_trigger = chance(50),
                               .registered_at = time(),
                               .reports_busy_state = chance(50),
                               .place = static_cast<std::int32_t>(below(1000))},
                              static_cast<ExecutorWord>(below(5))});
}

void BatchSource::put_push_run(Operations& to) {
  const WaitingJob& known = any(jobs_);
  PushRun run{.log_id = number_below(kPushRuns) + 1,
              .group = known.group,
              .job = known.id,
              .attempt = known.attempt};
  run.shards = static_cast<std::int32_t>(below(4)) + 1;
  run.shard = static_cast<std::int32_t>(below(static_cast<std::uint64_t>(run.shards)));
  run.address = address();
  run.failures = static_cast<std::int32_t>(below(3));
  run.called_at = now_;
  run.code = chance(50) ? 200 : 0;
  run.message = bytes(30);
  run.is_taken = chance(50);
  to.push_back(PutPushRun{std::move(run)});
}

void BatchSource::remove_push_run(Operations& to) {
  to.push_back(RemovePushRun{number_below(kPushRuns) + 1});
}

void BatchSource::put_route(Operations& to) {
  const Definition& known = any(definitions_);
  to.push_back(PutRoute{{.definition = known.id,
                         .group = known.group,
                         .memory = std::string(below(4), static_cast<char>('0' + below(10)))}});
}

void BatchSource::put_executor_result(Operations& to) {
  to.push_back(PutExecutorResult{{.id = number_below(kPushRuns) + 1,
                                  .log_id = number_below(kPushRuns) + 1,
                                  .code = chance(50) ? 200 : 500,
                                  .message = bytes(30)}});
}

void BatchSource::remove_executor_result(Operations& to) {
  to.push_back(RemoveExecutorResult{number_below(kPushRuns) + 1});
}

void BatchSource::add_log(Operations& to) { to.push_back(AddLog{new_log(any(jobs_))}); }

void BatchSource::purge(Operations& to) {
  to.push_back(Purge{.log_before = now_ - 60 * kSecond,
                     .clients_before = now_ - number_below(300) * kSecond,
                     .counts_before = earlier(),
                     .audit_before = chance(30) ? std::max<std::int64_t>(0, last_id_ - 100) : 0,
                     .alarms_max = chance(30) ? 40 : 0,
                     .figures_before = chance(30) ? now_ - 300 * kSecond : WallTime{},
                     .limit = chance(50) ? number_below(60) + 1 : 1000});
}

// Little, and mostly of a task, so that a log remains that can be compared.
void BatchSource::clean_log(Operations& to) {
  CleanLog clean{.limit = number_below(50) + 1};
  if (chance(80)) clean.groups = {group(), group()};
  if (chance(70)) clean.task_id = task_id();
  if (chance(50)) clean.after = any(logs_);
  clean.before = any(logs_);
  to.push_back(std::move(clean));
}

// Slices of few rows, so that there are many.
void BatchSource::index_log(Operations& to) {
  to.push_back(IndexLog{.rows = number_below(20) + 1, .slice_rows = 40});
}

AuditRow BatchSource::new_audit() {
  const bool has_task = chance(80);
  return {.id = ++last_id_,
          .at = now_,
          .by = chance(50) ? "anna" : "b\xC3\xB6rje",
          .kind = "key",
          .address = "127.0.0.1",
          .action = chance(50) ? "submit" : "cancel",
          .group = any(names_),
          .task_id = has_task ? task_id() : "",
          .outcome = "done",
          .before = chance(30) ? R"({"suspended":true})" : "",
          .after = std::string("{\"a\":\"\xC3\xBC\"}")};
}

void BatchSource::add_audit(Operations& to) { to.push_back(AddAudit{new_audit()}); }

// Few names, so that some exist.
void BatchSource::put_principal(Operations& to) {
  const bool is_key = chance(50);
  PrincipalRow row{.principal = {.kind = is_key ? kKeyKind : kUserKind,
                                 .name = chance(50) ? "anna" : "bert",
                                 .role = static_cast<Role>(below(kRoles)),
                                 .groups = {any(names_)}},
                   .secret = chance(30) ? "" : "secret" + std::to_string(below(3)),
                   .created_at = now_,
                   .created_by = "clara"};
  if (chance(40)) row.principal.groups.emplace_back("ops-*");
  if (chance(40)) row.expires_at = earlier();
  if (chance(40)) row.language = "zh";
  if (chance(20)) row.principal.groups.clear();
  to.push_back(PutPrincipal{.row = std::move(row), .replaces = chance(50)});
}

void BatchSource::remove_principal(Operations& to) {
  to.push_back(RemovePrincipal{.kind = chance(50) ? kKeyKind : kUserKind,
                               .name = chance(50) ? "anna" : "bert"});
}

// Few minutes and groups, so that rows are replaced.
void BatchSource::put_figures(Operations& to) {
  const GroupId whole = group();
  const WallTime minute = now_ - number_below(600) * kSecond;
  to.push_back(PutFigures{{.minute = minute - minute.time_since_epoch() % (60 * kSecond),
                           .group = whole,
                           .part = chance(70) ? whole : group(),
                           .submitted = number_below(1000),
                           .started = number_below(1000),
                           .ended = number_below(1000),
                           .failed = number_below(10),
                           .lateness_p50_ms = number_below(100),
                           .lateness_p95_ms = number_below(1000),
                           .lateness_p99_ms = number_below(100'000),
                           .backlog = number_below(1'000'000),
                           .workers = number_below(10),
                           .threads = number_below(100)}});
}

// Sometimes a delivery that is tried again.
void BatchSource::put_alarm_history(Operations& to) {
  const std::int64_t id = chance(80) ? ++last_id_ : std::max<std::int64_t>(1, last_id_ - 1);
  to.push_back(PutAlarmHistory{{.id = id,
                                .at = now_,
                                .group = group(),
                                .rule = chance(50) ? "late" : task_id(),
                                .recipient = "ops@example.com",
                                .state = static_cast<AlarmState>(number_below(4) + 1),
                                .message = "b\xC3\xB6se"}});
}

void BatchSource::put_silence(Operations& to) {
  const WallTime until = now_ + number_below(60) * kSecond;
  to.push_back(PutSilence{{.group = group(), .until = chance(80) ? until : WallTime{}}});
}

void BatchSource::add_requests(Batch& batch) {
  for (std::size_t first = 0; first < batch.operations.size();) {
    const std::size_t count = std::min<std::size_t>(below(6) + 1, batch.operations.size() - first);
    if (chance(50)) {
      NumberedRequest request{.client = number_below(kClients) + 1,
                              .answer = "answer " + std::to_string(below(1000)),
                              .first_operation = first,
                              .operation_count = count};
      auto& sequence = sequences_[request.client];
      request.sequence =
          chance(15) ? std::max<std::int64_t>(1, sequence - number_below(20)) : ++sequence;
      if (chance(50)) request.audit = new_audit();
      batch.requests.push_back(std::move(request));
    }
    first += count;
  }
}

}  // namespace carillon::jobtracker
