#pragma once

#include <set>
#include <string>
#include <vector>

#include "jobtracker/recurrence/changes.h"
#include "jobtracker/state/child_graph.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/run_end.h"

namespace carillon::jobtracker {

// What a run sets off when it has succeeded: one run of each of its job's children, off their
// grids, written with its end.
//
// A child is left out, and the parent's row of the log says so, where it is not defined, over, in
// quarantine, or running already with overlap `skip`. One whose group another job tracker looks
// after, and may have made a moment ago, is written to the inbox with the end, and that one decides
// the same, in the transaction that takes the row out; what it leaves out has a row of its own.
//
// Thread: the loop.
class Children {
 public:
  Children(Plans& plans, Changes& changes, Catalog& catalog, const Ownership& ownership,
           GroupMaker& groups, Batcher& batcher, JobSink& sink, IdSource& ids,
           SchedulingClock& clock);

  // As RunEnd says.
  std::vector<std::string> unknown_groups(const WaitingJob& job) const;
  SetOff set_off(const WaitingJob& job);
  void was_set_off(std::vector<WaitingJob> runs, bool done);
  // Triggers what other job trackers' jobs have set off.
  void take_inbox();
  Sizes sizes() const;

 private:
  void take_relayed(const InboxRow& row);
  void pass_on(const InboxRow& row, GroupId part);
  void end_relayed(const InboxRow& row, GroupId part, const std::string& why_not);
  std::string why_not_set_off(const ActiveDefinition* definition,
                              const ChildGraph::Foreign& foreign) const;

  Plans& plans_;
  Changes& changes_;
  Catalog& catalog_;
  const Ownership& ownership_;
  Batcher& batcher_;
  JobSink& sink_;
  IdSource& ids_;
  SchedulingClock& clock_;
  ChildGraph graph_;
  bool is_reading_ = false;
  std::set<std::int64_t> taken_;  // of the inbox, on their way out of the store
};

}  // namespace carillon::jobtracker
