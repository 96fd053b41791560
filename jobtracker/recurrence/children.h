#pragma once

#include <set>
#include <string>
#include <vector>

#include "jobtracker/recurrence/changes.h"
#include "jobtracker/state/child_graph.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/run_completion_handler.h"

namespace carillon::jobtracker {

// Triggers the children of a job after a successful run: one run of each, outside their schedules,
// written with the end of the parent's run.
//
// A child is left out, and the parent's log row says so, if it is not defined, finished, in
// quarantine, or already running with overlap `skip`. If another job tracker owns the child's
// group, or may have created it just now, the child is written to the inbox with the end. The owner
// makes the same decision in the transaction that removes the inbox row; a child that it leaves out
// gets its own log row.
//
// Thread: the loop.
class Children {
 public:
  Children(Plans& plans, Changes& changes, Catalog& catalog, const Ownership& ownership,
           GroupMaker& groups, Batcher& batcher, JobSink& sink, IdSource& ids,
           SchedulingClock& clock);

  // See RunCompletionHandler.
  std::vector<std::string> unknown_groups(const WaitingJob& job) const;
  TriggeredChildren trigger_children(const WaitingJob& job);
  void children_were_stored(std::vector<WaitingJob> runs, bool done);
  // Triggers children of other job trackers' jobs.
  void take_inbox();
  Sizes sizes() const;

 private:
  void take_relayed(const InboxRow& row);
  void pass_on(const InboxRow& row, GroupId part);
  void end_relayed(const InboxRow& row, GroupId part, const std::string& why_not);
  std::string why_not_triggered(const ActiveDefinition* definition,
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
  std::set<std::int64_t> taken_;  // rows of the inbox that are being removed
};

}  // namespace carillon::jobtracker
