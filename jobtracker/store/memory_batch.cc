#include "jobtracker/store/memory_batch.h"

#include <algorithm>
#include <limits>
#include <set>

#include "jobtracker/store/names.h"
#include "jobtracker/store/request_slots.h"
#include "shared/base/assert.h"

namespace carillon::jobtracker {
namespace {

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Outcome done() { return {}; }
Outcome conflict() { return {.kind = OutcomeKind::kConflict}; }

Outcome taken(const KeyHolder& by) {
  return {
      .kind = OutcomeKind::kTaken, .existing_job = by.job, .existing_definition = by.definition};
}

}  // namespace

std::variant<Committed, MemoryDatabase::Failure> MemoryDatabase::apply(const Batch& batch) {
  return MemoryBatch{*this, batch}.run();
}

std::variant<Committed, MemoryDatabase::Failure> MemoryBatch::run() {
  undo_.clear();
  committed_.outcomes.resize(batch_.operations.size());
  look_up_requests();
  for (std::size_t kind = 0; kind < std::variant_size_v<Operation>; ++kind) {
    for (std::size_t i = 0; i < batch_.operations.size(); ++i) {
      const Operation& operation = batch_.operations[i];
      if (operation.index() != kind) continue;
      if (committed_.outcomes[i].kind == OutcomeKind::kAnswered) continue;
      auto outcome = std::visit([this](const auto& one) { return apply(one); }, operation);
      if (!outcome.ok()) {
        for (auto step = undo_.rbegin(); step != undo_.rend(); ++step) (*step)();
        undo_.clear();
        return MemoryDatabase::Failure{.error = std::move(outcome).error(), .culprit = i};
      }
      committed_.outcomes[i] = outcome.value();
    }
  }
  store_requests();
  return std::move(committed_);
}

void MemoryBatch::look_up_requests() {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> newest;  // in this batch
  for (const NumberedRequest& request : batch_.requests) {
    const std::pair slot{request.client, slot_of(request.sequence)};
    RequestOutcome outcome;
    const auto stored = tables_.answers.find(slot);
    auto& sequence = newest[slot];
    if (stored != tables_.answers.end()) sequence = std::max(sequence, stored->second.sequence);
    if (request.sequence <= sequence) {
      outcome.answered_before = true;
      if (stored != tables_.answers.end() && stored->second.sequence == request.sequence) {
        outcome.answer = stored->second.answer;
        outcome.outcomes = stored->second.outcomes;
      }
      for (std::size_t i = 0; i < request.operation_count; ++i) {
        committed_.outcomes[request.first_operation + i].kind = OutcomeKind::kAnswered;
      }
    }
    sequence = std::max(sequence, request.sequence);
    committed_.requests.push_back(std::move(outcome));
  }
}

void MemoryBatch::store_requests() {
  for (std::size_t i = 0; i < batch_.requests.size(); ++i) {
    if (committed_.requests[i].answered_before) continue;
    const NumberedRequest& request = batch_.requests[i];
    const auto first =
        committed_.outcomes.begin() + static_cast<std::ptrdiff_t>(request.first_operation);
    StoredAnswer stored{
        .sequence = request.sequence,
        .answer = request.answer,
        .outcomes = {first, first + static_cast<std::ptrdiff_t>(request.operation_count)},
        .at = batch_.now};
    for (Outcome& outcome : stored.outcomes) outcome.next = 0;
    put(tables_.answers, {request.client, slot_of(request.sequence)}, std::move(stored));
    if (const auto row = audit_row_of(request, committed_.outcomes))
      put(tables_.audit, row->id, *row);
  }
}

Result<WaitingTable*> MemoryBatch::group_table(GroupId group) {
  const auto found = tables_.waiting.find(group);
  if (found == tables_.waiting.end()) {
    return invalid("group " + std::to_string(group.value) + " does not exist (create it first)");
  }
  return &found->second;
}

Status MemoryBatch::insert_waiting(WaitingJob job) {
  WaitingTable* table = CARILLON_TRY(group_table(job.group));
  const bool taken_id = table->find(job.id) != nullptr || tables_.delayed.find(job.id) != nullptr ||
                        tables_.executing.contains(job.id);
  if (taken_id) return invalid("job " + std::to_string(job.id.value) + " is already stored");
  if (job.delayed) {
    table = &tables_.delayed;
  } else {
    job.suspended = false;
  }
  table->insert(job);
  undo_.push_back([table, id = job.id] { table->erase(id); });
  return {};
}

void MemoryBatch::erase_waiting(WaitingTable& table, JobId id) {
  undo_.push_back([&table, before = *table.find(id)] { table.insert(before); });
  table.erase(id);
}

Status MemoryBatch::insert_log(const LogEntry& entry) {
  if (tables_.log.contains(entry.id)) {
    return invalid("log row " + std::to_string(entry.id) + " is already stored");
  }
  CARILLON_ASSERT(entry.id > tables_.log_index.through,
                  "the log's index covers settled rows only, so a search would not find this row");
  LogEntry kept = entry;
  std::string storage;
  kept.message = std::string{storable_message(entry.message, storage)};
  const std::string feedback_to = std::exchange(kept.feedback_to, {});
  const std::vector<AlarmMark> alarms = std::exchange(kept.alarms, {});
  LogEntry copy = kept;
  copy.count = 1;
  copy.final = true;
  copy.executor_log = 0;
  for (const AlarmMark& mark : alarms) {
    put(tables_.alarms, {mark.alarm, mark.line}, AlarmRow{.mark = mark, .entry = copy});
  }
  if (!feedback_to.empty()) {
    copy.feedback_to = feedback_to;
    put(tables_.feedback, {feedback_to, copy.id}, std::move(copy));
  }
  if (entry.count != 0) {
    const std::tuple key{count_slot_of(entry.ended_at), entry.group, entry.state, entry.final};
    const auto counted = tables_.log_counts.find(key);
    const std::int64_t before = counted == tables_.log_counts.end() ? 0 : counted->second;
    put(tables_.log_counts, key, before + entry.count);
  }
  put(tables_.log, entry.id, std::move(kept));
  return {};
}

const KeyHolder* MemoryBatch::holder_of(GroupId group, const std::string& task_id) const {
  const auto found = tables_.keys.find({group, task_id});
  return found == tables_.keys.end() ? nullptr : &found->second;
}

void MemoryBatch::free_key(GroupId group, const std::string& task_id, const KeyHolder& holder) {
  const KeyHolder* held = holder_of(group, task_id);
  if (held == nullptr || held->job != holder.job || held->definition != holder.definition) return;
  put(tables_.keys, {group, task_id}, std::nullopt);
}

Result<Outcome> MemoryBatch::apply(const ChangeWaiting& change) {
  WaitingTable* table = CARILLON_TRY(group_table(change.from.group));
  if (change.from.delayed) table = &tables_.delayed;
  const WaitingJob* stored = table->find(change.from.id);
  if (stored == nullptr || stored->attempt != change.from.attempt ||
      stored->suspended != change.from.suspended) {
    return conflict();
  }
  erase_waiting(*table, change.from.id);
  if (change.to) {
    CARILLON_TRY(insert_waiting(*change.to));
  } else if (holds_key(change.from)) {
    free_key(change.from.group, change.from.task_id, {.job = change.from.id});
  }
  if (change.log) CARILLON_TRY(insert_log(*change.log));
  return done();
}

Result<Outcome> MemoryBatch::apply(const End& end) {
  const auto found = tables_.executing.find(end.id);
  if (found == tables_.executing.end() || found->second.job.attempt != end.attempt) {
    return conflict();
  }
  put(tables_.executing, end.id, std::nullopt);
  if (end.frees_key) free_key(end.group, end.task_id, {.job = end.id});
  if (end.again) CARILLON_TRY(insert_waiting(*end.again));
  for (const WaitingJob& child : end.children) CARILLON_TRY(insert_waiting(child));
  for (const InboxRow& row : end.relayed) put(tables_.inbox, row.id, row);
  if (end.log) CARILLON_TRY(insert_log(*end.log));
  return done();
}

Result<Outcome> MemoryBatch::apply(const Claim& claim) {
  const WaitingJob& job = claim.to.job;
  WaitingTable* table = CARILLON_TRY(group_table(job.group));
  const WaitingJob* stored = table->find(job.id);
  if (stored == nullptr || stored->attempt != job.attempt - 1) return conflict();
  erase_waiting(*table, job.id);
  ExecutingJob executing = claim.to;
  executing.job.delayed = false;
  executing.job.suspended = false;
  put(tables_.executing, job.id, std::move(executing));
  return done();
}

Result<Outcome> MemoryBatch::apply(const AddDefinition& add) {
  const Definition& definition = add.definition;
  CARILLON_TRY(group_table(definition.group));
  if (const KeyHolder* holder = holder_of(definition.group, definition.task_id)) {
    return taken(*holder);
  }
  if (tables_.definitions.contains(definition.id)) {
    return invalid("definition " + std::to_string(definition.id.value) + " is already stored");
  }
  put(tables_.keys, {definition.group, definition.task_id}, KeyHolder{.definition = definition.id});
  put(tables_.definitions, definition.id, definition);
  undo_.push_back(
      [&high = tables_.definition_high, before = tables_.definition_high] { high = before; });
  tables_.definition_high = std::max(tables_.definition_high, definition.id);
  if (add.first) CARILLON_TRY(insert_waiting(*add.first));
  return done();
}

// Reserves the task id of a keyed one-shot job, or returns the holder.
std::optional<Outcome> MemoryBatch::take_key(const WaitingJob& job) {
  if (!holds_key(job)) return {};
  if (const KeyHolder* holder = holder_of(job.group, job.task_id)) return taken(*holder);
  put(tables_.keys, {job.group, job.task_id}, KeyHolder{.job = job.id});
  return {};
}

Result<Outcome> MemoryBatch::apply(const AddJob& add) {
  const WaitingJob& job = add.job;
  if (const auto refused = take_key(job)) return *refused;
  CARILLON_TRY(insert_waiting(job));
  return done();
}

Result<Outcome> MemoryBatch::apply(const AddExecuting& add) {
  const WaitingJob& job = add.to.job;
  if (const auto refused = take_key(job)) return *refused;
  if (tables_.executing.contains(job.id)) {
    return invalid("job " + std::to_string(job.id.value) + " is already stored");
  }
  put(tables_.executing, job.id, add.to);
  return done();
}

Result<Outcome> MemoryBatch::apply(const CancelExecuting& cancel) {
  const auto found = tables_.executing.find(cancel.id);
  if (found == tables_.executing.end() || found->second.job.attempt != cancel.attempt) {
    return conflict();
  }
  ExecutingJob after = found->second;
  after.cancelled = true;
  put(tables_.executing, cancel.id, std::move(after));
  return done();
}

Result<Outcome> MemoryBatch::apply(const AddOutput& add) {
  const std::tuple key{add.row.job_id, add.row.attempt, add.row.sequence};
  if (!tables_.output.contains(key)) put(tables_.output, key, add.row);
  return done();
}

Result<Outcome> MemoryBatch::apply(const PutNode& put_node) {
  put(tables_.nodes, put_node.node.session, put_node.node);
  serve(put_node.node.group);
  return done();
}

void MemoryBatch::serve(GroupId id) {
  const auto group = tables_.groups.find(id);
  if (group == tables_.groups.end() || group->second.served) return;
  Group after = group->second;
  after.served = true;
  put(tables_.groups, after.id, std::move(after));
}

Result<Outcome> MemoryBatch::apply(const RemovePushRun& remove) {
  put(tables_.push_runs, remove.log_id, std::nullopt);
  return done();
}

Result<Outcome> MemoryBatch::apply(const RemoveExecutorResult& remove) {
  put(tables_.executor_results, remove.id, std::nullopt);
  return done();
}

Result<Outcome> MemoryBatch::apply(const PutExecutorGroup& put_group) {
  if (!put_group.is_new || !tables_.executor_groups.contains(put_group.row.group))
    put(tables_.executor_groups, put_group.row.group, put_group.row);
  return done();
}

bool MemoryBatch::has_list(GroupId group) const {
  return std::any_of(tables_.executors.begin(), tables_.executors.end(), [&](const auto& one) {
    return one.first.first == group && one.second.is_manual;
  });
}

Result<Outcome> MemoryBatch::apply(const ChangeExecutor& change) {
  const ExecutorRow& said = change.row;
  const ExecutorWord word = change.word;
  const std::pair key{said.group, said.address};
  const auto found = tables_.executors.find(key);
  const bool is_there = found != tables_.executors.end();
  if (change.serves()) serve(said.group);
  if (word == ExecutorWord::kListed) {
    put(tables_.executors, key, said);
  } else if (is_there && change.goes()) {
    const bool is_left =
        !found->second.is_manual && found->second.registered_at <= said.registered_at;
    if (word == ExecutorWord::kRemoved || is_left) put(tables_.executors, key, std::nullopt);
  } else if (is_there) {
    ExecutorRow row = found->second;
    if (word == ExecutorWord::kRegistered) row.registered_at = said.registered_at;
    if (word == ExecutorWord::kFacts) {
      row.has_trigger = said.has_trigger;
      row.reports_busy_state = said.reports_busy_state;
    }
    put(tables_.executors, key, std::move(row));
  } else if (word == ExecutorWord::kRegistered && !has_list(said.group)) {
    ExecutorRow row = said;  // The existence of a list is unknown here.
    row.is_manual = false;
    row.place = 0;
    put(tables_.executors, key, std::move(row));
  }
  return done();
}

Result<Outcome> MemoryBatch::apply(const PutPushRun& put_run) {
  PushRun kept = put_run.row;
  std::string storage;
  kept.message = std::string{storable_message(put_run.row.message, storage)};
  put(tables_.push_runs, kept.log_id, std::move(kept));
  return done();
}

Result<Outcome> MemoryBatch::apply(const PutRoute& put_route) {
  const bool is_empty = put_route.row.memory.empty();
  put(tables_.routes, put_route.row.definition,
      is_empty ? std::nullopt : std::optional{put_route.row});
  return done();
}

Result<Outcome> MemoryBatch::apply(const PutExecutorResult& put_result) {
  ExecutorResult kept = put_result.row;
  std::string storage;
  kept.message = std::string{storable_message(put_result.row.message, storage)};
  put(tables_.executor_results, kept.id, std::move(kept));
  return done();
}

Result<Outcome> MemoryBatch::apply(const AddLog& add) {
  CARILLON_TRY(insert_log(add.entry));
  return done();
}

Result<Outcome> MemoryBatch::apply(const RemoveInbox& remove) {
  const auto found = tables_.inbox.find(remove.id);
  if (remove.to && found != tables_.inbox.end()) {
    InboxRow row = found->second;
    row.group = remove.to;
    put(tables_.inbox, remove.id, std::optional{std::move(row)});
  } else {
    put(tables_.inbox, remove.id, std::nullopt);
  }
  return done();
}

Result<Outcome> MemoryBatch::apply(const RemoveAlarm& remove) {
  while (true) {
    const auto line = tables_.alarms.lower_bound({remove.alarm, 0});
    if (line == tables_.alarms.end() || line->first.first != remove.alarm) return done();
    put(tables_.alarms, std::pair{line->first}, std::nullopt);
  }
}

Result<Outcome> MemoryBatch::apply(const RemoveFeedback& remove) {
  Outcome outcome;
  const auto take_out = [&](std::int64_t id) {
    if (!tables_.feedback.contains({remove.client_group, id})) return;
    put(tables_.feedback, {remove.client_group, id}, std::nullopt);
    ++outcome.count;
  };
  for (const std::int64_t id : remove.ids) take_out(id);
  while (true) {
    const auto first = tables_.feedback.lower_bound({remove.client_group, 0});
    const bool is_old = first != tables_.feedback.end() &&
                        first->first.first == remove.client_group &&
                        first->first.second < remove.before;
    if (!is_old) return outcome;
    take_out(first->first.second);
  }
}

// Newest first.
std::vector<ScriptVersion> MemoryBatch::scripts_of(DefinitionId id) const {
  std::vector<ScriptVersion> versions;
  for (auto at = tables_.scripts.lower_bound({id, 0});
       at != tables_.scripts.end() && at->first.first == id; ++at) {
    versions.insert(versions.begin(), at->second);
  }
  return versions;
}

Result<Outcome> MemoryBatch::apply(const PutScript& put_script) {
  const DefinitionId id = put_script.definition;
  if (!tables_.definitions.contains(id)) return done();
  const std::vector<ScriptVersion> versions = scripts_of(id);
  ScriptVersion script = put_script.script;
  if (put_script.is_old) {
    if (tables_.scripts.contains({id, script.version})) return done();
  } else if (!versions.empty()) {
    const ScriptVersion& newest = versions.front();
    if (is_no_new_version(script, newest)) return done();
    script.version = std::max(script.version, newest.version + 1);
  }
  put(tables_.scripts, {id, script.version}, script);
  const std::vector<ScriptVersion> all = scripts_of(id);
  for (std::size_t i = kScriptVersionsMax; i < all.size(); ++i)
    put(tables_.scripts, {id, all[i].version}, std::nullopt);
  return done();
}

Result<Outcome> MemoryBatch::apply(const RemoveExecutorGroup& remove) {
  put(tables_.executor_groups, remove.group, std::nullopt);
  for (auto next = tables_.executors.lower_bound({remove.group, {}});
       next != tables_.executors.end() && next->first.first == remove.group;) {
    const auto key = (next++)->first;
    put(tables_.executors, key, std::nullopt);
  }
  if (const auto group = tables_.groups.find(remove.group); group != tables_.groups.end()) {
    Group unserved = group->second;
    unserved.served = false;
    put(tables_.groups, remove.group, std::move(unserved));
  }
  return done();
}

// With the output of its attempt.
void MemoryBatch::remove_log(const LogEntry& entry) {
  put(tables_.log, entry.id, std::nullopt);
  for (auto next = tables_.output.lower_bound({entry.job_id, entry.attempt, 0});
       next != tables_.output.end() && next->second.job_id == entry.job_id &&
       next->second.attempt == entry.attempt;) {
    const auto key = (next++)->first;
    put(tables_.output, key, std::nullopt);
  }
}

bool MemoryBatch::is_live(JobId id) const {
  if (tables_.executing.contains(id) || tables_.delayed.find(id) != nullptr) return true;
  return std::any_of(tables_.waiting.begin(), tables_.waiting.end(),
                     [&](const auto& one) { return one.second.find(id) != nullptr; });
}

Result<Outcome> MemoryBatch::apply(const CleanLog& clean) {
  Outcome outcome;
  std::int64_t rows = 0;
  std::vector<LogEntry> gone;
  for (auto at = tables_.log.upper_bound(clean.after);
       at != tables_.log.end() && at->first < clean.before && rows < clean.limit; ++at) {
    const LogEntry& entry = at->second;
    outcome.next = ++rows == clean.limit ? entry.id : 0;
    const bool fits = is_of(clean.groups, entry.group) &&
                      (clean.task_id.empty() || entry.task_id == clean.task_id);
    if (fits && !is_live(entry.job_id)) gone.push_back(entry);
  }
  for (const LogEntry& entry : gone) remove_log(entry);
  outcome.count = static_cast<std::int64_t>(gone.size());
  return outcome;
}

// Over all sessions that may still add rows.
std::int64_t MemoryBatch::log_settled() const {
  std::int64_t through = std::numeric_limits<std::int64_t>::max();
  for (const auto& [connection, row] : tables_.trackers) {
    if (!row.has_ended && connection.second != kHeartbeatConnection)
      through = std::min(through, row.log_settled);
  }
  return through;
}

Result<Outcome> MemoryBatch::apply(const IndexLog& index) {
  MemoryTables::LogIndex to = tables_.log_index;
  if (to.slice_rows >= index.slice_rows) to.slice_rows = 0;
  const std::int64_t wanted = std::min(index.rows, index.slice_rows - to.slice_rows);
  const std::int64_t settled = log_settled();
  std::int64_t rows = 0;
  for (auto at = tables_.log.upper_bound(to.through);
       at != tables_.log.end() && at->first <= settled && rows < wanted; ++at) {
    to.through = at->first;
    ++rows;
  }
  Outcome outcome;
  if (rows == 0 || rows < wanted) return outcome;
  to.slice_rows += rows;
  outcome.count = rows;
  undo_.push_back([&stored = tables_.log_index, was = tables_.log_index] { stored = was; });
  tables_.log_index = to;
  return outcome;
}

Result<Outcome> MemoryBatch::apply(const Purge& purge) {
  Outcome outcome;
  const auto full = [&](std::int64_t count) { return count >= purge.limit; };

  std::int64_t rows = 0;
  while (!full(rows) && !tables_.log.empty()) {
    const LogEntry oldest = tables_.log.begin()->second;
    if (oldest.ended_at >= purge.log_before) break;
    remove_log(oldest);
    ++rows;
  }
  outcome.count += rows;

  std::vector<std::tuple<WallTime, std::int64_t, std::int64_t>> answers;
  for (const auto& [slot, answer] : tables_.answers) {
    if (answer.at < purge.clients_before) answers.push_back({answer.at, slot.first, slot.second});
  }
  std::sort(answers.begin(), answers.end());
  rows = 0;
  for (const auto& [at, client, slot] : answers) {
    if (full(rows)) break;
    put(tables_.answers, {client, slot}, std::nullopt);
    ++rows;
  }
  outcome.count += rows;

  std::vector<SessionId> nodes;
  for (const auto& [session, node] : tables_.nodes) {
    const bool goes = !node.alive && node.last_seen < purge.log_before;
    if (goes && !full(static_cast<std::int64_t>(nodes.size()))) nodes.push_back(session);
  }
  for (const SessionId session : nodes) put(tables_.nodes, session, std::nullopt);
  outcome.count += static_cast<std::int64_t>(nodes.size());
  while (!tables_.log_counts.empty() &&
         std::get<0>(tables_.log_counts.begin()->first) < purge.counts_before) {
    const auto oldest = tables_.log_counts.begin()->first;
    put(tables_.log_counts, oldest, std::nullopt);
  }
  rows = 0;
  while (!full(rows) && !tables_.audit.empty() &&
         tables_.audit.begin()->first < purge.audit_before) {
    put(tables_.audit, std::int64_t{tables_.audit.begin()->first}, std::nullopt);
    ++rows;
  }
  outcome.count += rows + purge_figures(purge.figures_before, purge.limit) + purge_alarms(purge);
  return outcome;
}

Result<Outcome> MemoryBatch::apply(const AddAudit& audit) {
  put(tables_.audit, audit.row.id, audit.row);
  return done();
}

Result<Outcome> MemoryBatch::apply(const PutPrincipal& put_principal) {
  const Principal& principal = put_principal.row.principal;
  const std::pair key{principal.kind, principal.name};
  const auto found = tables_.principals.find(key);
  auto after = principal_after(put_principal, found == tables_.principals.end()
                                                  ? std::optional<PrincipalRow>{}
                                                  : found->second);
  if (!after) return conflict();
  put(tables_.principals, key, std::move(after));
  return done();
}

Result<Outcome> MemoryBatch::apply(const RemovePrincipal& remove) {
  const std::pair key{remove.kind, remove.name};
  if (!tables_.principals.contains(key)) return conflict();
  put(tables_.principals, key, std::nullopt);
  return done();
}

}  // namespace carillon::jobtracker
