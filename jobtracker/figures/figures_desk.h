#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/group_levels.h"
#include "jobtracker/state/group_metrics.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// The figures of the node groups: stores those of each minute, and knows the current work.
//
// A minute's row is written by the owner of the partition when the minute is over; a group without
// any events, due jobs and task trackers has none. After a restart a minute may be incomplete.
// While the store does not take the rows of a minute, later ones are left out.
//
// Due jobs are counted in the store, so they are some seconds old.
//
// Thread: the loop.
class FiguresDesk {
 public:
  // Shortest time between two counts of the due jobs. Slow counts make it longer.
  static constexpr Duration kCountPeriod = std::chrono::seconds{10};
  // Levels of another job tracker's group are read from the store, at most this often.
  static constexpr Duration kOthersAge = std::chrono::seconds{5};

  FiguresDesk(GroupMetrics& metrics, const Catalog& catalog, const Ownership& ownership,
              const ExecutingTable& executing, const Workers& workers, const Executors& executors,
              Questions& questions, Batcher& batcher, const SchedulingClock& clock);

  // Called each second: counts due jobs, and writes the figures of a minute that is over.
  void run_once();

  // This job tracker's part of each whole group; those of all job trackers add up to the group.
  std::map<GroupId, GroupLevels> levels() const;
  // Of one group, also of another job tracker. Errors: kNotFound, kUnavailable before the first
  // count, and those of the store.
  using OnLevels = std::function<void(Result<GroupLevels>)>;
  void ask_levels(const std::string& group, OnLevels done);

  Sizes sizes() const { return {{"others", others_.size()}, {"due", due_.size()}}; }

 private:
  // Levels of a group with partitions of other job trackers.
  struct Others {
    std::optional<SteadyTime> at{};  // of `levels`
    GroupLevels levels{};
    std::vector<OnLevels> waiting{};
  };

  void count_due();
  void write(WallTime minute);
  FiguresRow row_of(WallTime minute, GroupId part, const GroupMinute& counts,
                    const std::map<GroupId, GroupLevels>& members) const;
  // Workers and threads, by whole group.
  std::map<GroupId, GroupLevels> members() const;
  std::int64_t due_of(const std::vector<GroupId>& parts) const;
  void read_others(GroupId group);
  void read_nodes(GroupId group, GroupLevels levels);
  void answer(GroupId group, const Result<GroupLevels>& levels);

  GroupMetrics& metrics_;
  const Catalog& catalog_;
  const Ownership& ownership_;
  const ExecutingTable& executing_;
  const Workers& workers_;
  const Executors& executors_;
  Questions& questions_;
  Batcher& batcher_;
  const SchedulingClock& clock_;
  bool is_counting_ = false;
  bool has_counted_ = false;
  SteadyTime next_count_{};
  std::map<GroupId, std::int64_t> due_{};  // at the last count, by partition; not 0
  std::optional<WallTime> minute_{};       // the current one
  std::int64_t unstored_ = 0;              // rows
  std::map<GroupId, Others> others_{};
};

}  // namespace carillon::jobtracker
