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

// What the loop knows of node groups and definitions: all of them, as the store has them.
namespace carillon::jobtracker {

// A definition with what follows from it and from its runs.
struct ActiveDefinition {
  Definition row{};
  JobSpec spec{};  // decoded from row.spec
  CompiledSchedule schedule;

  // Its runs that have begun and not reached their end, retries included.
  struct Run {
    WallTime trigger_time{};
    bool is_fire = true;  // otherwise it was triggered
  };
  std::map<JobId, Run> running{};
  // Of a definition with one regular occurrence at a time: the one made last; 0: not known.
  JobId regular{};
  // Due, but held until a run ends (overlap `queue`), or until what was missed is known.
  std::map<HandOutKey, WaitingJob> parked{};
  // Until what was missed is known, more were due than may be held: they are in the table only.
  bool has_more_due = false;
  // Overlap `cancel_running`: with this fire, what runs is to stop.
  WallTime watched_fire{};
  // Likewise: so many attempts before were lost in a row, and then made way for the next fire,
  // which has the count in its row.
  int lost_before = 0;
  // Occurrences that end without a run, on their way out of the table.
  std::set<JobId> leaving{};
  // Occurrences that people asked for, on their way into the table.
  int triggers_under_way = 0;
  // What the store has of row.last_fire, which is noted with the next occurrences.
  WallTime stored_last_fire{};
  // A change of it is on its way to the store: the next one waits for the outcome.
  bool is_changing = false;
  // And makes nothing void, it adds occurrences or notes what has become of one; nor does another
  // change wait for it.
  bool only_adds = false;
  // It is about to go: nothing of it begins, so that it is known which runs there are.
  bool is_going = false;
  WallTime going_since{};  // fires of it from then on are not sent meanwhile
  // After a restart: what it missed while no job tracker ran is being looked at.
  bool is_recovering = false;

  // Nothing of it runs, waits for its turn, or is on the way to the store or back.
  bool is_settled() const {
    return running.empty() && parked.empty() && leaving.empty() && !has_more_due &&
           lost_before == 0 && triggers_under_way == 0 && !is_changing && !is_going &&
           !is_recovering;
  }

  void put_run(const WaitingJob& job) {
    running.try_emplace(job.id, Run{.trigger_time = job.trigger_time, .is_fire = is_fire(job)});
  }
  // It was suspended since the fire was made, or is in quarantine since then. A suspension holds
  // the schedule: what was triggered goes on, with its retries.
  bool voids(const WaitingJob& job) const {
    if (job.version == row.version) return false;
    return is_fire(job) || row.state == DefinitionState::kQuarantined;
  }

  // Whether its loss counts: not that of a run which a quarantine left behind.
  bool counts_loss_of(const WaitingJob& job) const {
    return !voids(job) || row.state == DefinitionState::kSuspended;
  }

  // The coming fire as people mean it: of a schedule that is generated ahead, row.next_fire is the
  // first that has no occurrence yet. None (WallTime{}): nothing fires any more.
  WallTime coming_fire(WallTime now);
  // Its last fire has come. A schedule that is generated ahead has no more to make before that.
  bool has_had_last_fire(WallTime now) const {
    return row.state == DefinitionState::kEnded && row.generated_through <= now;
  }
};

struct DefinitionTable {
  std::map<DefinitionId, std::unique_ptr<ActiveDefinition>> all{};
  std::unordered_map<DefinitionId, ActiveDefinition*> by_id{};  // looked up all the time
  std::map<std::pair<GroupId, std::string>, DefinitionId> by_task{};
  DefinitionCounts counts{};
  std::size_t bytes = 0;  // that the specs of all take, and something for each
  std::int32_t xxl_number_high = 0;
};

// What one session leaves to the next one of the same process.
struct KnownDefinitions {
  Partitions partitions{};
  std::vector<DefinitionId> unsettled{};  // of these partitions; the table is without them
  DefinitionTable definitions{};
};

// Thread: the loop.
class Catalog {
 public:
  void put_group(const Group& group);
  const Group* group(GroupId id) const;
  // Groups are the same whatever their case.
  const Group* group(const std::string& name) const;
  const std::map<GroupId, Group>& groups() const { return groups_; }
  void mark_served(GroupId id, bool served = true);

  // The definitions of some partitions, for the next session of the process: the store has them as
  // they are, but for those that were not settled.
  KnownDefinitions take_known(const Partitions& partitions);
  // Before anything else is put there.
  void go_on_from(DefinitionTable known) { definitions_ = std::move(known); }

  // A group that was split is several, each with a row and a table of its own: the first is itself,
  // the others are known to nobody by name. These are the places that know; all else takes a part
  // for a group.
  std::vector<GroupId> parts_of(GroupId whole) const;  // itself, where it is one
  std::int32_t parts(GroupId whole) const;             // how many
  GroupId part(GroupId whole, std::int32_t bucket) const;
  GroupId part(GroupId whole, const std::string& task_id) const {
    return splits_.empty() ? whole : part(whole, bucket_of(task_id));
  }
  // The group that it is a part of, or is.
  const Group* whole_of(GroupId part) const;

  ActiveDefinition& put_definition(Definition row, JobSpec spec, CompiledSchedule schedule);
  void remove_definition(DefinitionId id);
  void spec_changed(const std::string& from, const std::string& to);
  // What the specs of all take, and something for each.
  std::size_t definition_bytes() const { return definitions_.bytes; }
  // About what one takes.
  static std::size_t bytes_of(const Definition& row) { return row.spec.size() + 1024; }
  ActiveDefinition* definition(DefinitionId id);
  ActiveDefinition* definition(GroupId group, const std::string& task_id);
  const std::map<DefinitionId, std::unique_ptr<ActiveDefinition>>& definitions() const {
    return definitions_.all;
  }
  const DefinitionCounts& definition_counts() const { return definitions_.counts; }

  // Runs that go on though their definition was replaced or removed. For overlap they are runs of
  // what has their task id by now.
  void keep_outliving(const WaitingJob& run);
  void outliving_ended(const WaitingJob& run);
  const std::set<JobId>& outliving(GroupId group, const std::string& task_id) const;
  // Those that have begun and not reached their end, its own first.
  std::vector<JobId> runs(const ActiveDefinition& definition) const;
  bool is_running(const ActiveDefinition& definition) const {
    return !definition.running.empty() ||
           !outliving(definition.row.group, definition.row.task_id).empty();
  }

  // How the job is to be run, as its own spec or its definition's says; none: its definition is
  // gone.
  std::optional<wire::SpecGlance> glance(const WaitingJob& job) const;
  // The job's spec: its definition's, as it is by now, or its own, which is decoded into `own`,
  // without what its row says.
  // Null where its definition is gone or its own cannot be read. `field`: only that is wanted, and
  // an own spec that does not name it is not decoded: null, too.
  const JobSpec* spec_of(const WaitingJob& job, std::optional<JobSpec>& own,
                         std::string_view field = {}) const;
  // The job's own spec with what its row says. kCorrupt, kInvalidArgument: it cannot be read.
  Result<JobSpec> whole_spec(const WaitingJob& job) const;
  // It was cancelled, or its definition was removed since, or it is a fire of one that was
  // suspended: it is not begun, nor tried again.
  bool is_void(const ExecutingJob& row) const;
  // Whether it is one when it is claimed: with `cancel_running` it takes over the count of the runs
  // before.
  bool is_suspect(const WaitingJob& job) const;
  // As it was submitted, also of a run that was triggered by hand and so stands before all others.
  int own_priority(const WaitingJob& job) const;

  // No job that was defined in this session had a higher number under xxl-job.
  std::int32_t xxl_number_high() const { return definitions_.xxl_number_high; }

  DefinitionId next_definition_id();
  // After a restart: ids up to here were given, and are not given again. `number`: of the session,
  // where others work on the store too; its ids are every 64th.
  void start_definition_ids(DefinitionId high, std::optional<std::int32_t> number) {
    definition_high_ = high.value;
    number_ = number;
  }
  Sizes sizes() const;

 private:
  std::map<GroupId, Group> groups_;
  std::unordered_map<std::string, GroupId> groups_by_name_;  // lower case
  std::map<GroupId, std::vector<GroupId>> splits_;           // groups of several parts, in order
  std::map<GroupId, GroupId> wholes_;                        // of all parts but the first
  DefinitionTable definitions_;
  std::map<std::pair<GroupId, std::string>, std::set<JobId>> outliving_;
  std::int32_t definition_high_ = 0;
  std::optional<std::int32_t> number_{};
};

}  // namespace carillon::jobtracker
