#include "jobtracker/store/memory_store.h"

#include <algorithm>

#include "jobtracker/store/names.h"
#include "shared/base/utf8.h"
#include "shared/job/bucket.h"

namespace carillon::jobtracker {
namespace {

Error away() { return {ErrorCode::kUnavailable, "memory store: told to be away"}; }

SessionHeartbeat heartbeat_of(const std::pair<SessionId, std::int32_t>& connection,
                              const TrackerRow& row) {
  return {.session = connection.first,
          .connection = connection.second,
          .name = row.name,
          .batch = row.batch,
          .at = row.heartbeat};
}

}  // namespace

Result<SessionStart> MemoryDatabase::begin_session(const StoreSession& session, WallTime now,
                                                   const SessionPlan& plan) {
  std::vector<ConnectionNote> connections;
  for (const auto& [connection, row] : tables_.trackers) {
    connections.push_back({.heartbeat = heartbeat_of(connection, row),
                           .id_high = row.id_high,
                           .alive_before = row.alive_before,
                           .has_ended = row.has_ended,
                           .number = row.number,
                           .lease = row.lease});
  }
  const auto beginning =
      CARILLON_TRY(plan_beginning(connections, tables_.partitions, session, plan));
  if (!are_as_watched(beginning, plan)) {
    return Error{ErrorCode::kConflict, "another job tracker has started on this store"};
  }
  for (const auto& [partition, note] : beginning.noted) tables_.partitions[partition] = note;
  std::erase_if(tables_.trackers, [&](const auto& entry) {
    return beginning.leaving.contains(entry.first.first) ||
           (entry.first.first == session.session && (entry.first.second == session.connection ||
                                                     entry.first.second == kHeartbeatConnection));
  });
  TrackerRow row{.name = session.name,
                 .id_high = beginning.start.id_high,
                 .heartbeat = now,
                 .alive_before = beginning.start.last_alive,
                 .number = beginning.start.number,
                 .address = plan.address,
                 .lease = beginning.start.lease,
                 .log_settled = beginning.start.id_high};
  tables_.trackers[{session.session, session.connection}] = row;
  row.alive_before = {};
  if (plan.silent) tables_.trackers[{session.session, kHeartbeatConnection}] = row;
  return beginning.start;
}

void MemoryDatabase::end_session(SessionId session) {
  for (auto& [connection, row] : tables_.trackers) {
    if (connection.first == session) row.has_ended = true;
  }
}

bool MemoryDatabase::raise_heartbeat(SessionId session, bool yields) {
  const auto found = tables_.trackers.find({session, kHeartbeatConnection});
  if (found == tables_.trackers.end() || found->second.has_ended) return false;
  ++found->second.batch;
  found->second.yields = yields;
  return true;
}

ClusterView MemoryDatabase::look(GroupId groups_after) const {
  ClusterView view;
  for (const auto& [connection, row] : tables_.trackers) {
    if (row.has_ended) continue;
    if (view.trackers.empty() || view.trackers.back().session != connection.first) {
      view.trackers.push_back({.session = connection.first,
                               .name = row.name,
                               .address = row.address,
                               .yields = row.yields});
    }
    view.heartbeats.push_back(heartbeat_of(connection, row));
  }
  for (const auto& [partition, note] : tables_.partitions) {
    view.owners.at(static_cast<std::size_t>(partition)) = note.owner;
  }
  for (const auto& [id, row] : tables_.inbox) {
    view.inbox.set(static_cast<std::size_t>(partition_of(row.group)));
  }
  for (auto next = tables_.groups.upper_bound(groups_after); next != tables_.groups.end(); ++next) {
    view.groups.push_back(next->second);
  }
  return view;
}

TrackerRow* MemoryDatabase::tracker(const StoreSession& session) {
  const auto found = tables_.trackers.find({session.session, session.connection});
  return found == tables_.trackers.end() ? nullptr : &found->second;
}

void MemoryDatabase::undo() {
  for (auto step = undo_.rbegin(); step != undo_.rend(); ++step) (*step)();
  undo_.clear();
}

Result<Group> MemoryDatabase::make_group(const std::string& name, WallTime now) {
  CARILLON_TRY(check_group_name(name));
  if (const Group* made = tables_.group(name)) return *made;
  if (tables_.groups.size() >= kGroupsMax) {
    return Error{ErrorCode::kLimit, "group '" + name + "' is one too many, at most " +
                                        std::to_string(kGroupsMax) + " groups can be created"};
  }
  Group group{.id = GroupId{1}, .name = name, .created_at = now};
  if (!tables_.groups.empty()) group.id.value = tables_.groups.rbegin()->first.value + 1;
  group.table = new_group_table(name, [&](const std::string& table) {
    return std::any_of(tables_.groups.begin(), tables_.groups.end(),
                       [&](const auto& entry) { return entry.second.table == table; });
  });
  tables_.groups.emplace(group.id, group);
  tables_.waiting.try_emplace(group.id);
  return group;
}

Result<Group> MemoryDatabase::split_group(const GroupSplit& split, const Partitions& owned,
                                          WallTime now) {
  std::vector<Group> groups;
  for (const auto& [id, group] : tables_.groups) groups.push_back(group);
  const auto plan = CARILLON_TRY(plan_split(groups, split, owned, now));
  const GroupId whole = plan.whole.id;
  if (tables_.executor_groups.contains(whole)) return executors_error(plan.whole);
  for (const NewGroupPartition& part : plan.parts) {
    const GroupId id = part.group.id;
    tables_.groups.emplace(id, part.group);
    const auto is_its = [&](GroupId group, const std::string& task_id) {
      return group == whole && part.takes(bucket_of(task_id));
    };
    WaitingTable& to = tables_.waiting[id];
    for (auto [job_id, job] : std::map(tables_.waiting.at(whole).all())) {
      if (!is_its(whole, job.task_id)) continue;
      tables_.waiting.at(whole).erase(job_id);
      job.group = id;
      to.insert(job);
    }
    for (auto [job_id, job] : std::map(tables_.delayed.all())) {
      if (!is_its(job.group, job.task_id)) continue;
      tables_.delayed.erase(job_id);
      job.group = id;
      tables_.delayed.insert(job);
    }
    for (auto& [job_id, row] : tables_.executing) {
      if (is_its(row.job.group, row.job.task_id)) row.job.group = id;
    }
    for (auto& [definition_id, row] : tables_.definitions) {
      if (is_its(row.group, row.task_id)) row.group = id;
    }
    for (auto& [inbox_id, row] : tables_.inbox) {
      if (is_its(row.group, row.task_id)) row.group = id;
    }
    for (const auto& [key, holder] : std::map(tables_.keys)) {
      if (!is_its(key.first, key.second)) continue;
      tables_.keys.erase(key);
      tables_.keys.emplace(std::pair{id, key.second}, holder);
    }
  }
  return plan.whole;
}

MemoryStore::MemoryStore(MemoryDatabase& database, const StoreSession& session, const Clock& clock)
    : database_(database),
      session_(session),
      clock_(clock),
      is_shared_(false),
      start_(database_.begin_session(session_, clock_.wall_now(), {}).value()) {}

MemoryStore::MemoryStore(MemoryDatabase& database, const StoreSession& session, const Clock& clock,
                         SessionStart start)
    : database_(database),
      session_(session),
      clock_(clock),
      is_shared_(true),
      start_(std::move(start)) {}

bool MemoryStore::takes_fault(MemoryFault fault) {
  if (faults_.empty() || faults_.front() != fault) return false;
  faults_.pop_front();
  return true;
}

CommitResult MemoryStore::commit(const Batch& batch) {
  if (takes_fault(MemoryFault::kUnavailable)) return RolledBack{.error = away()};
  TrackerRow* row = database_.tracker(session_);
  if (row == nullptr || row->batch != batch.number - 1) {
    return RolledBack{.error = fenced_error(session_), .fenced = true};
  }
  // Written like the other data of the session, but visible to operations of the batch.
  const std::int64_t settled_before = row->log_settled;
  if (batch.log_settled != 0) row->log_settled = batch.log_settled;
  auto applied = database_.apply(batch);
  if (std::holds_alternative<MemoryDatabase::Failure>(applied)) row->log_settled = settled_before;
  if (auto* failure = std::get_if<MemoryDatabase::Failure>(&applied)) {
    return RolledBack{.error = std::move(failure->error), .culprit = failure->culprit};
  }
  auto& committed = std::get<Committed>(applied);
  if (takes_fault(MemoryFault::kUnknownLost)) {
    database_.undo();
    row->log_settled = settled_before;
    return Unknown{.if_committed = std::move(committed)};
  }
  row->batch = batch.number;
  row->id_high = batch.id_high;
  row->heartbeat = batch.now;
  if (batch.recovered) row->alive_before = WallTime{};
  if (batch.lease != Duration{}) row->lease = batch.lease;
  if (takes_fault(MemoryFault::kUnknownCommitted)) {
    return Unknown{.if_committed = std::move(committed)};
  }
  return std::move(committed);
}

Result<bool> MemoryStore::settle(std::int64_t batch_number) {
  if (takes_fault(MemoryFault::kUnavailable)) return away();
  const TrackerRow* row = database_.tracker(session_);
  if (row == nullptr) return fenced_error(session_);
  return row->batch >= batch_number;
}

ClockAnswer MemoryStore::read_clock() const {
  if (!database_.clock_ahead()) return {};
  return {.shows = clock_.wall_now() + *database_.clock_ahead(), .at = clock_.steady_now()};
}

Result<ReadAnswer> MemoryStore::read(const Read& question) {
  if (takes_fault(MemoryFault::kUnavailable)) return away();
  if (const auto* make = std::get_if<MakeGroup>(&question)) {
    auto group = CARILLON_TRY(database_.make_group(make->name, clock_.wall_now()));
    return ReadAnswer{GroupAnswer{std::move(group)}};
  }
  if (const auto* ask = std::get_if<SplitGroup>(&question)) {
    if (database_.tracker(session_) == nullptr) return fenced_error(session_);
    auto group = CARILLON_TRY(database_.split_group(ask->split, start_.owned, clock_.wall_now()));
    return ReadAnswer{GroupAnswer{std::move(group)}};
  }
  auto answer = CARILLON_TRY(database_.read(question, start_.owned));
  if (auto* clock = std::get_if<ClockAnswer>(&answer)) *clock = read_clock();
  if (auto* start = std::get_if<StartAnswer>(&answer)) {
    start->clock = read_clock();
    start->id_high = start_.id_high;
    start->last_alive = start_.last_alive;
    start->last_alive_of = start_.last_alive_of;
    start->epochs = start_.epochs;
    start->owned = start_.owned;
    if (is_shared_) start->number = start_.number;
    start->lease = start_.lease;
    keep_owned(*start);
  }
  return answer;
}

Result<ReadAnswer> MemoryReader::read(const Read& question) {
  if (std::holds_alternative<MakeGroup>(question) || std::holds_alternative<SplitGroup>(question)) {
    return Error{ErrorCode::kInvalidArgument, "a read-only store cannot create groups"};
  }
  return database_.read(question);
}

}  // namespace carillon::jobtracker
