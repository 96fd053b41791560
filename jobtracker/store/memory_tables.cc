#include "jobtracker/store/memory_tables.h"

#include <limits>

#include "shared/base/assert.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {
namespace {

constexpr JobId kLastJob{std::numeric_limits<std::int64_t>::max()};

std::int64_t size_of(const std::vector<WaitingJob>& jobs) {
  return static_cast<std::int64_t>(jobs.size());
}

}  // namespace

const Group* MemoryTables::group(const std::string& name) const {
  const auto lower = lower_ascii(name);
  for (const auto& [id, group] : groups) {
    if (lower_ascii(group.name) == lower) return &group;
  }
  return nullptr;
}

const WaitingJob* WaitingTable::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

void WaitingTable::insert(const WaitingJob& job) {
  const bool inserted = jobs_.emplace(job.id, job).second;
  CARILLON_ASSERT(inserted, "the caller checked that the id is free");
  order_.insert(hand_out_key(job));
  times_.insert(due_key(job));
  if (job.definition) definitions_.insert({job.definition, job.attempt, job.id});
}

void WaitingTable::erase(JobId id) {
  const auto found = jobs_.find(id);
  CARILLON_ASSERT(found != jobs_.end(), "the caller found the job here");
  const WaitingJob& job = found->second;
  order_.erase(hand_out_key(job));
  times_.erase(due_key(job));
  definitions_.erase({job.definition, job.attempt, job.id});
  jobs_.erase(found);
}

std::vector<WaitingJob> WaitingTable::due(WallTime now, const std::optional<HandOutKey>& after,
                                          std::int64_t limit) const {
  std::vector<WaitingJob> jobs;
  auto next = after ? order_.upper_bound(*after) : order_.begin();
  while (next != order_.end() && size_of(jobs) < limit) {
    const auto& [priority, due, id] = *next;
    if (due > now) {
      // The rest of this priority is due later.
      next = order_.upper_bound({priority, WallTime::max(), kLastJob});
      continue;
    }
    jobs.push_back(jobs_.at(id));
    ++next;
  }
  return jobs;
}

std::vector<WaitingJob> WaitingTable::upcoming(WallTime after_time, JobId after_id,
                                               WallTime through, std::int64_t limit) const {
  std::vector<WaitingJob> jobs;
  for (auto next = times_.upper_bound({after_time, after_id});
       next != times_.end() && next->first <= through && size_of(jobs) < limit; ++next) {
    jobs.push_back(jobs_.at(next->second));
  }
  return jobs;
}

std::vector<WaitingJob> WaitingTable::of_definition(DefinitionId definition,
                                                    std::int64_t limit) const {
  std::vector<WaitingJob> jobs;
  auto next = definitions_.lower_bound({DefinitionId{definition.value + 1}, 0, JobId{}});
  while (next != definitions_.begin() && size_of(jobs) < limit) {
    --next;
    if (std::get<0>(*next) != definition) break;
    jobs.push_back(jobs_.at(std::get<2>(*next)));
  }
  return jobs;
}

std::vector<WaitingJob> WaitingTable::untried_of_definition(DefinitionId definition, JobId before,
                                                            std::int64_t limit) const {
  std::vector<WaitingJob> jobs;
  auto next = definitions_.lower_bound({definition, 0, before});
  while (next != definitions_.begin() && size_of(jobs) < limit) {
    --next;
    if (std::get<0>(*next) != definition || std::get<1>(*next) != 0) break;
    jobs.push_back(jobs_.at(std::get<2>(*next)));
  }
  return jobs;
}

std::int64_t WaitingTable::count_due(WallTime now) const {
  std::int64_t count = 0;
  for (auto next = times_.begin(); next != times_.end() && next->first <= now; ++next) ++count;
  return count;
}

}  // namespace carillon::jobtracker
