#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobtracker/store/partitions.h"
#include "jobtracker/store/rows.h"
#include "shared/base/sizes.h"
#include "shared/job/bucket.h"
#include "shared/job/schedule.h"
#include "shared/wire/spec_glance.h"

// The node groups and definitions in memory: all of them, as in the store.
namespace carillon::jobtracker {

// A definition with derived data and its runs.
struct ActiveDefinition {
  Definition row{};
  JobSpec spec{};  // decoded from row.spec
  CompiledSchedule schedule;

  // Started runs that have not ended, retries included.
  struct Run {
    WallTime trigger_time{};
    bool is_fire = true;  // otherwise it was triggered
  };
  std::map<JobId, Run> running{};
  // For a definition with one regular occurrence at a time: the newest one; 0: unknown.
  JobId regular{};
  // Due, but held until a run ends (overlap `queue`), or until the missed fires are known.
  std::map<HandOutKey, WaitingJob> blocked{};
  // Before the missed fires are known: more jobs were due than may be held; they are only in the
  // table.
  bool has_more_due = false;
  // Overlap `cancel_running`: the fire that stops current runs.
  WallTime watched_fire{};
  // The same: number of consecutive lost attempts of superseded runs; the next fire has it in its
  // row.
  int lost_before = 0;
  // Occurrences that end without a run and are being removed.
  std::set<JobId> removing{};
  // Requested runs that are being stored.
  int triggers_under_way = 0;
  // The stored value of row.last_fire; the next operation with occurrences updates it.
  WallTime stored_last_fire{};
  // A change is being stored; the next one waits for its result.
  bool is_changing = false;
  // That change supersedes nothing: it adds occurrences or records results. Other changes need not
  // wait for it.
  bool only_adds = false;
  // It is being removed: no run starts, so that its runs are known.
  bool is_being_removed = false;
  WallTime going_since{};  // fires from then on are not sent meanwhile
  // After a restart: its missed fires are being checked.
  bool is_recovering = false;

  // None of its runs executes, waits for its turn, or is being stored.
  bool is_settled() const {
    return running.empty() && blocked.empty() && removing.empty() && !has_more_due &&
           lost_before == 0 && triggers_under_way == 0 && !is_changing && !is_being_removed &&
           !is_recovering;
  }

  void put_run(const WaitingJob& job) {
    running.try_emplace(job.id, Run{.trigger_time = job.trigger_time, .is_fire = is_fire(job)});
  }
  // It was suspended after the fire was created, or it has been in quarantine since then. A
  // suspension stops the schedule: triggered runs continue, with their retries.
  bool supersedes(const WaitingJob& job) const {
    if (job.version == row.version) return false;
    return is_fire(job) || row.state == DefinitionState::kQuarantined;
  }

  // Whether a loss counts: not for a run from before a quarantine.
  bool counts_loss_of(const WaitingJob& job) const {
    return !supersedes(job) || row.state == DefinitionState::kSuspended;
  }

  // The next fire for users. For a schedule that is generated ahead, row.next_fire is the first
  // fire without an occurrence. WallTime{}: no further fire.
  WallTime coming_fire(WallTime now);
  // Its last fire has passed. A schedule that is generated ahead creates its last occurrence
  // earlier.
  bool has_had_last_fire(WallTime now) const {
    return row.state == DefinitionState::kEnded && row.generated_through <= now;
  }
};

struct DefinitionTable {
  std::map<DefinitionId, std::unique_ptr<ActiveDefinition>> all{};
  std::unordered_map<DefinitionId, ActiveDefinition*> by_id{};  // looked up often
  std::map<std::pair<GroupId, std::string>, DefinitionId> by_task{};
  DefinitionCounts counts{};
  std::size_t bytes = 0;  // memory of all specs, and a constant for each definition
  std::int32_t xxl_number_high = 0;
};

// State that a session passes to the next one of the same process.
struct KnownDefinitions {
  Partitions partitions{};
  std::vector<DefinitionId> unsettled{};  // of these partitions; not in the table
  DefinitionTable definitions{};
};

// Thread: the loop.
class Catalog {
 public:
  void put_group(const Group& group);
  const Group* group(GroupId id) const;
  // Group names are case-insensitive.
  const Group* group(const std::string& name) const;
  const std::map<GroupId, Group>& groups() const { return groups_; }
  void mark_served(GroupId id, bool served = true);

  // The definitions of some partitions, for the next session of the process. They equal the
  // store's, except those that were not settled.
  KnownDefinitions take_known(const Partitions& partitions);
  // Requires: the table is empty.
  void go_on_from(DefinitionTable known) { definitions_ = std::move(known); }

  // A split group consists of several partitions, each with its own row and table. The first is the
  // group itself; the others have no public name. Only these functions know the relation;
  // everything else treats a partition as a group.
  std::vector<GroupId> parts_of(GroupId whole) const;  // the group itself, if it is not split
  std::int32_t parts(GroupId whole) const;             // the number of partitions
  GroupId part(GroupId whole, std::int32_t bucket) const;
  GroupId part(GroupId whole, const std::string& task_id) const {
    return splits_.empty() ? whole : part(whole, bucket_of(task_id));
  }
  // The group of this partition.
  const Group* whole_of(GroupId part) const;

  ActiveDefinition& put_definition(Definition row, JobSpec spec, CompiledSchedule schedule);
  void remove_definition(DefinitionId id);
  void spec_changed(const std::string& from, const std::string& to);
  // The memory of all specs, and a constant for each definition.
  std::size_t definition_bytes() const { return definitions_.bytes; }
  // The memory of one definition, approximately.
  static std::size_t bytes_of(const Definition& row) { return row.spec.size() + 1024; }
  ActiveDefinition* definition(DefinitionId id);
  ActiveDefinition* definition(GroupId group, const std::string& task_id);
  // Whether one of these partitions has a definition.
  bool has_definitions(const std::vector<GroupId>& parts) const;
  const std::map<DefinitionId, std::unique_ptr<ActiveDefinition>>& definitions() const {
    return definitions_.all;
  }
  const DefinitionCounts& definition_counts() const { return definitions_.counts; }

  // Runs that continue after their definition was replaced or removed. For overlap they count as
  // runs of the current holder of the task id.
  void keep_outliving(const WaitingJob& run);
  void outliving_ended(const WaitingJob& run);
  const std::set<JobId>& outliving(GroupId group, const std::string& task_id) const;
  // Started runs that have not ended, its own first.
  std::vector<JobId> runs(const ActiveDefinition& definition) const;
  bool is_running(const ActiveDefinition& definition) const {
    return !definition.running.empty() ||
           !outliving(definition.row.group, definition.row.task_id).empty();
  }

  // How to run the job, from its own or its definition's spec. None: its definition was removed.
  std::optional<wire::SpecGlance> glance(const WaitingJob& job) const;
  // The job's spec: its definition's current one, or its own, which is decoded into `own`, without
  // the values of its row. Null if its definition was removed or its own spec cannot be read.
  // `field`: only this field is needed; null if the job's own spec does not have it.
  const JobSpec* spec_of(const WaitingJob& job, std::optional<JobSpec>& own,
                         std::string_view field = {}) const;
  // The job's own spec with the values of its row. Errors: kCorrupt and kInvalidArgument if it
  // cannot be read.
  Result<JobSpec> whole_spec(const WaitingJob& job) const;
  // It was cancelled, its definition was removed, or it is a fire of a suspended definition: it
  // does not start, and is not retried.
  bool is_void(const ExecutingJob& row) const;
  // Whether it counts as a suspect when it is claimed. With `cancel_running` it continues the count
  // of earlier runs.
  bool is_suspect(const WaitingJob& job) const;
  // The submitted priority, also for a triggered run, which precedes all others.
  int own_priority(const WaitingJob& job) const;

  // The highest xxl-job number of a job that was defined in this session.
  std::int32_t xxl_number_high() const { return definitions_.xxl_number_high; }

  DefinitionId next_definition_id();
  // After a restart: ids up to `high` are used. `number`: the session's number if it shares the
  // store; its ids are every 64th.
  void start_definition_ids(DefinitionId high, std::optional<std::int32_t> number) {
    definition_high_ = high.value;
    number_ = number;
  }
  Sizes sizes() const;

 private:
  std::map<GroupId, Group> groups_;
  std::unordered_map<std::string, GroupId> groups_by_name_;  // lower case
  std::map<GroupId, std::vector<GroupId>> splits_;           // split groups, partitions in order
  std::map<GroupId, GroupId> wholes_;                        // of all partitions but the first
  DefinitionTable definitions_;
  std::map<std::pair<GroupId, std::string>, std::set<JobId>> outliving_;
  std::int32_t definition_high_ = 0;
  std::optional<std::int32_t> number_{};
};

}  // namespace carillon::jobtracker
