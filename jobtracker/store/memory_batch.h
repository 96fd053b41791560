#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "jobtracker/store/memory_store.h"

namespace carillon::jobtracker {

// Applies the operations of a batch to the tables of a memory database, and records how to undo
// them. Thread: the database's.
class MemoryBatch {
 public:
  MemoryBatch(MemoryDatabase& database, const Batch& batch)
      : tables_(database.tables_), undo_(database.undo_), batch_(batch) {}

  std::variant<Committed, MemoryDatabase::Failure> run();

 private:
  void look_up_requests();
  void store_requests();

  Result<Outcome> apply(const ChangeWaiting& change);
  Result<Outcome> apply(const End& end);
  Result<Outcome> apply(const ChangeDefinition& change);
  Result<Outcome> apply(const Claim& claim);
  Result<Outcome> apply(const AddDefinition& add);
  Result<Outcome> apply(const AddJob& add);
  Result<Outcome> apply(const AddExecuting& add);
  Result<Outcome> apply(const CancelExecuting& cancel);
  Result<Outcome> apply(const AddOutput& add);
  Result<Outcome> apply(const PutNode& put);
  Result<Outcome> apply(const RemoveFeedback& remove);
  Result<Outcome> apply(const RemoveInbox& remove);
  Result<Outcome> apply(const RemoveAlarm& remove);
  Result<Outcome> apply(const RemovePushRun& remove);
  Result<Outcome> apply(const RemoveExecutorResult& remove);
  Result<Outcome> apply(const PutExecutorGroup& put_group);
  Result<Outcome> apply(const ChangeExecutor& change);
  bool has_list(GroupId group) const;
  Result<Outcome> apply(const PutPushRun& put_run);
  Result<Outcome> apply(const PutRoute& put_route);
  Result<Outcome> apply(const PutExecutorResult& put_result);
  Result<Outcome> apply(const RemoveExecutorGroup& remove);
  Result<Outcome> apply(const PutScript& put_script);
  Result<Outcome> apply(const AddLog& add);
  Result<Outcome> apply(const Purge& purge);
  Result<Outcome> apply(const CleanLog& clean);
  Result<Outcome> apply(const IndexLog& index);
  Result<Outcome> apply(const AddAudit& audit);
  Result<Outcome> apply(const PutPrincipal& put_principal);
  Result<Outcome> apply(const RemovePrincipal& remove);
  Result<Outcome> apply(const PutFigures& figures);
  Result<Outcome> apply(const PutAlarmHistory& history);
  Result<Outcome> apply(const PutSilence& silence);
  std::int64_t purge_alarms(const Purge& purge);
  std::int64_t purge_figures(WallTime before, std::int64_t limit);
  std::int64_t log_settled() const;

  void leave_runs(const ChangeDefinition& change, const std::string& spec);
  Result<WaitingTable*> group_table(GroupId group);
  Status insert_waiting(WaitingJob job);
  void erase_waiting(WaitingTable& table, JobId id);
  Status insert_log(const LogEntry& entry);
  void remove_log(const LogEntry& entry);
  std::vector<ScriptVersion> scripts_of(DefinitionId id) const;
  bool is_live(JobId id) const;
  void serve(GroupId group);
  std::optional<Outcome> take_key(const WaitingJob& job);
  void free_key(GroupId group, const std::string& task_id, const KeyHolder& holder);
  const KeyHolder* holder_of(GroupId group, const std::string& task_id) const;
  // Stores `value` under `key`, or erases the key if it is empty.
  template <class Map>
  void put(Map& map, const typename Map::key_type& key,
           std::optional<typename Map::mapped_type> value);

  MemoryTables& tables_;
  std::vector<std::function<void()>>& undo_;
  const Batch& batch_;
  Committed committed_{};
};

template <class Map>
void MemoryBatch::put(Map& map, const typename Map::key_type& key,
                      std::optional<typename Map::mapped_type> value) {
  const auto found = map.find(key);
  std::optional<typename Map::mapped_type> before;
  if (found != map.end()) before = found->second;
  undo_.push_back([&map, key, before] {
    map.erase(key);
    if (before) map.emplace(key, *before);
  });
  if (found != map.end()) map.erase(found);
  if (value) map.emplace(key, std::move(*value));
}

}  // namespace carillon::jobtracker
