// Changes of definitions, on the tables of a memory database.
#include <algorithm>
#include <utility>

#include "jobtracker/store/memory_batch.h"
#include "jobtracker/store/request_slots.h"

namespace carillon::jobtracker {
namespace {

// A run that ends with its own log row.
bool is_run(const WaitingJob& job) { return job.attempt > 0 || !is_fire(job); }

bool is_spared(const ChangeDefinition& change, const WaitingJob& job) {
  return change.spares_triggered && !is_fire(job);
}

// The definition's fires that are due at the end of the entry and were never claimed.
void count_due(std::initializer_list<const WaitingTable*> tables, DefinitionId definition,
               LogEntry& entry) {
  std::int64_t count = 0;
  WallTime first = WallTime::max();
  for (const WaitingTable* table : tables) {
    const auto limit = static_cast<std::int64_t>(table->size());
    for (const WaitingJob& job : table->of_definition(definition, limit)) {
      if (is_run(job) || due_time(job) > entry.ended_at) continue;
      ++count;
      first = std::min(first, due_time(job));
    }
  }
  if (count == 0) return;
  entry.count = count;
  entry.trigger_time = first;
}

// One row for each other removed run, in creation order.
std::vector<LogEntry> runs_of(std::initializer_list<const WaitingTable*> tables,
                              const ChangeDefinition& change, const LogEntry& voided) {
  std::vector<LogEntry> entries;
  for (const WaitingTable* table : tables) {
    const auto limit = static_cast<std::int64_t>(table->size());
    auto jobs = table->of_definition(change.id, limit);
    std::sort(jobs.begin(), jobs.end(),
              [](const WaitingJob& a, const WaitingJob& b) { return a.id < b.id; });
    for (const WaitingJob& job : jobs) {
      if (!is_run(job) || is_spared(change, job)) continue;
      const auto offset = static_cast<std::int64_t>(entries.size()) + 1;
      entries.push_back(entry_of_run(voided, offset, job.id, job.trigger_time));
    }
  }
  return entries;
}

}  // namespace

Result<Outcome> MemoryBatch::apply(const ChangeDefinition& change) {
  const auto found = tables_.definitions.find(change.id);
  if (found == tables_.definitions.end()) return Outcome{.kind = OutcomeKind::kConflict};
  const Definition before = found->second;
  if (before.version != change.expected_version) return Outcome{.kind = OutcomeKind::kConflict};
  if (change.expected_generated_through &&
      before.generated_through != *change.expected_generated_through) {
    return Outcome{.kind = OutcomeKind::kConflict};
  }
  if (change.to) {
    Definition after = *change.to;
    after.id = before.id;
    after.group = before.group;
    after.task_id = before.task_id;
    after.keyed = before.keyed;
    if (!change.spec_changed) after.spec = before.spec;
    put(tables_.definitions, change.id, std::move(after));
  } else {
    put(tables_.definitions, change.id, std::nullopt);
    free_key(before.group, before.task_id, {.definition = before.id});
    for (ScriptVersion& script : scripts_of(change.id)) {
      const std::int64_t version = script.version;
      put(tables_.scripts, {change.id, version}, std::nullopt);
      if (change.scripts_to) put(tables_.scripts, {change.scripts_to, version}, std::move(script));
    }
    const auto route = tables_.routes.find(change.id);
    if (change.routes_to && route != tables_.routes.end()) {
      RouteRow moved = route->second;
      moved.definition = change.routes_to;
      put(tables_.routes, change.id, std::nullopt);
      put(tables_.routes, change.routes_to, std::move(moved));
    }
    leave_runs(change, before.spec);
  }
  Outcome outcome;
  const bool uncounts = change.to && change.uncounts_voided;
  std::optional<LogEntry> voided = change.voided;
  if (change.void_waiting) {
    WaitingTable* group = CARILLON_TRY(group_table(change.group));
    if (voided) {
      const auto runs = runs_of({group, &tables_.delayed}, change, *voided);
      CARILLON_TRY(check_voided_runs(change.id, static_cast<std::int64_t>(runs.size())));
      for (const LogEntry& entry : runs) CARILLON_TRY(insert_log(entry));
      if (!std::exchange(voided->feedback_to, {}).empty())
        outcome.next = static_cast<std::int64_t>(runs.size());
      count_due({group, &tables_.delayed}, change.id, *voided);
    }
    for (WaitingTable* table : {group, &tables_.delayed}) {
      const auto limit = static_cast<std::int64_t>(table->size());
      for (const WaitingJob& job : table->of_definition(change.id, limit)) {
        if (is_spared(change, job)) continue;
        if (uncounts && !was_tried(job) && is_fire(job)) ++outcome.count;
        erase_waiting(*table, job.id);
      }
    }
  }
  if (outcome.count > 0) {
    Definition uncounted = tables_.definitions.at(change.id);
    uncounted.fired -= outcome.count;
    put(tables_.definitions, change.id, std::move(uncounted));
  }
  if (voided && voided->count > 0) CARILLON_TRY(insert_log(*voided));
  for (const WaitingJob& job : change.add) CARILLON_TRY(insert_waiting(job));
  for (const LogEntry& entry : change.logs) CARILLON_TRY(insert_log(entry));
  return outcome;
}

void MemoryBatch::leave_runs(const ChangeDefinition& change, const std::string& spec) {
  for (const JobId run : change.runs) {
    const auto executing = tables_.executing.find(run);
    if (executing == tables_.executing.end()) continue;
    ExecutingJob after = executing->second;
    if (change.cancels_runs) after.cancelled = true;
    if (change.leaves_spec && after.job.definition == change.id && after.job.spec.empty())
      after.job.spec = spec;
    put(tables_.executing, run, std::move(after));
  }
}

}  // namespace carillon::jobtracker
