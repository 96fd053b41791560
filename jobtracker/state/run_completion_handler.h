#pragma once

#include <string>
#include <vector>

#include "jobtracker/store/batch.h"

namespace carillon::jobtracker {

// Runs that a successful run triggers.
struct TriggeredChildren {
  std::vector<WaitingJob> runs{};   // written with its end
  std::vector<InboxRow> relayed{};  // written with its end, for other job trackers to trigger
  std::string note{};               // children that do not run, and why; empty: none
};

// The consequences of a run's end for its definition. Thread: the loop.
class RunCompletionHandler {
 public:
  virtual ~RunCompletionHandler() = default;
  // The operations for the transaction of the end. Not `ran`: it was cancelled before any attempt
  // started, and does not count.
  virtual std::vector<Operation> with_end(const WaitingJob& job, WallTime ended, bool ran) = 0;
  // After that transaction, with its operations and their outcomes. Called for each run that has
  // finally ended, even if there were no operations. job.lost includes this attempt.
  virtual void run_ended(const WaitingJob& job, WallTime ended, bool ran,
                         const std::vector<Operation>& with,
                         const std::vector<Outcome>& outcomes) = 0;
  // The node groups of its children that this job tracker does not know: another one may have
  // created them just now. Look them up before trigger_children().
  virtual std::vector<std::string> unknown_groups(const WaitingJob& job) const = 0;
  // The children of a successful job, occurrence or one-shot. Each call needs a
  // children_were_stored().
  virtual TriggeredChildren trigger_children(const WaitingJob& job) = 0;
  // After the transaction of the end. Not `done`: the runs were not written.
  virtual void children_were_stored(std::vector<WaitingJob> runs, bool done) = 0;
  // A retry that is due later than this waits in the delayed table.
  virtual WallTime horizon_end() const = 0;
  // A job will run again: if the clock moved back, its time does not move any more.
  virtual void keep_time(JobId id) = 0;
  // After a transaction that requeued it: a retry, or a returned job.
  virtual void runs_again(WaitingJob job) = 0;
  // The store rejected that transaction: the run continues as if it had not ended.
  virtual void not_ended(const WaitingJob& job) = 0;
};

}  // namespace carillon::jobtracker
