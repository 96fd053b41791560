#include "jobtracker/state/catalog.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/xxl_number.h"
#include "jobtracker/store/names.h"
#include "jobtracker/store/partitions.h"
#include "shared/base/assert.h"
#include "shared/base/utf8.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {

WallTime ActiveDefinition::coming_fire(WallTime now) {
  if (has_had_last_fire(now)) return WallTime{};
  const bool is_generated_ahead = !is_held(row.state) && spec.overlap != Overlap::kSkip &&
                                  row.kind != ScheduleKind::kFixedDelay;
  return is_generated_ahead ? schedule.next_fire(now).value_or(WallTime{}) : row.next_fire;
}

void Catalog::put_group(const Group& group) {
  groups_[group.id] = group;
  const auto part = part_named(group.name);
  if (!part) {
    groups_by_name_[lower_ascii(group.name)] = group.id;
    return;
  }
  const Group* whole = this->group(part->whole);
  CARILLON_ASSERT(whole != nullptr, "a group has a lower number than its parts");
  std::vector<GroupId>& parts = splits_[whole->id];
  const auto at = static_cast<std::size_t>(part->number);
  if (parts.size() <= at) parts.resize(at + 1, whole->id);
  parts[at] = group.id;
  wholes_[group.id] = whole->id;
}

std::vector<GroupId> Catalog::parts_of(GroupId whole) const {
  const auto found = splits_.find(whole);
  return found == splits_.end() ? std::vector{whole} : found->second;
}

std::int32_t Catalog::parts(GroupId whole) const {
  const auto found = splits_.find(whole);
  return found == splits_.end() ? 1 : static_cast<std::int32_t>(found->second.size());
}

GroupId Catalog::part(GroupId whole, std::int32_t bucket) const {
  const auto found = splits_.find(whole);
  if (found == splits_.end()) return whole;
  const auto& parts = found->second;
  return parts[static_cast<std::size_t>(
      part_of_bucket(bucket, static_cast<std::int32_t>(parts.size())))];
}

const Group* Catalog::whole_of(GroupId part) const {
  const auto found = wholes_.find(part);
  return group(found == wholes_.end() ? part : found->second);
}

const Group* Catalog::group(GroupId id) const {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : &found->second;
}

const Group* Catalog::group(const std::string& name) const {
  const auto found = groups_by_name_.find(lower_ascii(name));
  return found == groups_by_name_.end() ? nullptr : group(found->second);
}

void Catalog::mark_served(GroupId id, bool served) {
  const auto found = groups_.find(id);
  if (found != groups_.end()) found->second.served = served;
}

ActiveDefinition& Catalog::put_definition(Definition row, JobSpec spec, CompiledSchedule schedule) {
  const DefinitionId id = row.id;
  definitions_.bytes += bytes_of(row);
  ++definitions_.counts.at(static_cast<std::size_t>(partition_of(row.group)));
  definitions_.xxl_number_high = std::max(definitions_.xxl_number_high, xxl_number(row.task_id));
  definitions_.by_task[{row.group, row.task_id}] = id;
  auto& place = definitions_.all[id];
  place = std::make_unique<ActiveDefinition>(ActiveDefinition{
      .row = std::move(row), .spec = std::move(spec), .schedule = std::move(schedule)});
  place->stored_last_fire = place->row.last_fire;
  definitions_.by_id[id] = place.get();
  return *place;
}

bool Catalog::has_definitions(const std::vector<GroupId>& parts) const {
  return std::any_of(parts.begin(), parts.end(), [this](GroupId part) {
    const auto first = definitions_.by_task.lower_bound({part, std::string{}});
    return first != definitions_.by_task.end() && first->first.first == part;
  });
}

void Catalog::remove_definition(DefinitionId id) {
  const auto found = definitions_.all.find(id);
  if (found == definitions_.all.end()) return;
  const Definition& row = found->second->row;
  // Its task id may belong to a job that was submitted in the same transaction.
  const auto named = definitions_.by_task.find({row.group, row.task_id});
  if (named != definitions_.by_task.end() && named->second == id) definitions_.by_task.erase(named);
  definitions_.bytes -= bytes_of(row);
  --definitions_.counts.at(static_cast<std::size_t>(partition_of(row.group)));
  definitions_.by_id.erase(id);
  definitions_.all.erase(found);
}

KnownDefinitions Catalog::take_known(const Partitions& partitions) {
  KnownDefinitions known{.partitions = partitions};
  std::vector<DefinitionId> gone;
  for (const auto& [id, group] : groups_) {
    if (has_group(partitions, id)) continue;
    const auto end = definitions_.by_task.lower_bound({GroupId{id.value + 1}, {}});
    for (auto at = definitions_.by_task.lower_bound({id, {}}); at != end; ++at)
      gone.push_back(at->second);
  }
  for (const DefinitionId id : gone) remove_definition(id);
  for (const auto& [id, definition] : definitions_.all) {
    if (!definition->is_settled()) known.unsettled.push_back(id);
    // Like a definition that was read.
    definition->regular = {};
    definition->watched_fire = {};
  }
  for (const DefinitionId id : known.unsettled) remove_definition(id);
  known.definitions = std::exchange(definitions_, {});
  return known;
}

void Catalog::spec_changed(const std::string& from, const std::string& to) {
  definitions_.bytes += to.size();
  definitions_.bytes -= from.size();
}

ActiveDefinition* Catalog::definition(DefinitionId id) {
  const auto found = definitions_.by_id.find(id);
  return found == definitions_.by_id.end() ? nullptr : found->second;
}

ActiveDefinition* Catalog::definition(GroupId group, const std::string& task_id) {
  const auto found = definitions_.by_task.find({group, task_id});
  return found == definitions_.by_task.end() ? nullptr : definition(found->second);
}

void Catalog::keep_outliving(const WaitingJob& run) {
  outliving_[{run.group, run.task_id}].insert(run.id);
}

void Catalog::outliving_ended(const WaitingJob& run) {
  const auto found = outliving_.find({run.group, run.task_id});
  if (found == outliving_.end()) return;
  found->second.erase(run.id);
  if (found->second.empty()) outliving_.erase(found);
}

std::vector<JobId> Catalog::runs(const ActiveDefinition& definition) const {
  std::vector<JobId> all;
  for (const auto& [id, run] : definition.running) all.push_back(id);
  const std::set<JobId>& others = outliving(definition.row.group, definition.row.task_id);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

const std::set<JobId>& Catalog::outliving(GroupId group, const std::string& task_id) const {
  static const std::set<JobId> kNone;
  if (outliving_.empty()) return kNone;
  const auto found = outliving_.find({group, task_id});
  return found == outliving_.end() ? kNone : found->second;
}

std::optional<wire::SpecGlance> Catalog::glance(const WaitingJob& job) const {
  if (!job.spec.empty()) return wire::glance_at_spec(job.spec);
  const auto found = definitions_.by_id.find(job.definition);
  if (found == definitions_.by_id.end()) return std::nullopt;
  return wire::glance_of(found->second->spec);
}

bool Catalog::is_void(const ExecutingJob& row) const {
  if (row.cancelled) return true;
  if (!row.job.definition) return false;
  const auto found = definitions_.by_id.find(row.job.definition);
  return found == definitions_.by_id.end() || found->second->supersedes(row.job);
}

bool Catalog::is_suspect(const WaitingJob& job) const {
  if (jobtracker::is_suspect(job)) return true;
  const auto found = definitions_.by_id.find(job.definition);
  return found != definitions_.by_id.end() && found->second->lost_before > 0;
}

int Catalog::own_priority(const WaitingJob& job) const {
  if (job.priority != kPriorityTriggered) return job.priority;
  std::optional<JobSpec> own;
  const JobSpec* spec = spec_of(job, own);
  return spec == nullptr ? kPriorityDefault : spec->priority;
}

const JobSpec* Catalog::spec_of(const WaitingJob& job, std::optional<JobSpec>& own,
                                std::string_view field) const {
  if (job.spec.empty()) {
    const auto found = definitions_.by_id.find(job.definition);
    return found == definitions_.by_id.end() ? nullptr : &found->second->spec;
  }
  if (job.spec.find(field) == std::string::npos) return nullptr;
  auto spec = wire::decode_spec(job.spec);
  return spec.ok() ? &own.emplace(std::move(spec).value()) : nullptr;
}

Result<JobSpec> Catalog::whole_spec(const WaitingJob& job) const {
  JobSpec spec = CARILLON_TRY(wire::decode_spec(job.spec));
  spec.task_id = job.task_id;
  if (const Group* group = whole_of(job.group)) spec.group = group->name;
  return spec;
}

DefinitionId Catalog::next_definition_id() {
  ++definition_high_;
  if (number_) definition_high_ += (*number_ - definition_high_) & (kPartitions - 1);
  return DefinitionId{definition_high_};
}

Sizes Catalog::sizes() const {
  std::size_t running = 0;
  std::size_t blocked = 0;
  std::size_t removing = 0;
  std::size_t triggers = 0;
  for (const auto& [id, definition] : definitions_.all) {
    running += definition->running.size();
    blocked += definition->blocked.size();
    removing += definition->removing.size();
    triggers += static_cast<std::size_t>(definition->triggers_under_way);
  }
  return {{"groups_by_name", groups_by_name_.size()},
          {"splits", splits_.size()},
          {"wholes", wholes_.size()},
          {"definitions_by_id", definitions_.by_id.size()},
          {"definitions_by_task", definitions_.by_task.size()},
          {"definition_bytes", definitions_.bytes},
          {"outliving", outliving_.size()},
          {"running", running},
          {"parked", blocked},
          {"leaving", removing},
          {"triggers_under_way", triggers}};
}

}  // namespace carillon::jobtracker
