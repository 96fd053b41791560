#pragma once

#include <string>
#include <vector>

#include "jobtracker/store/batch.h"

namespace carillon::jobtracker {

// What a run that has succeeded sets off.
struct SetOff {
  std::vector<WaitingJob> runs{};   // to be written with its end
  std::vector<InboxRow> relayed{};  // likewise, for other job trackers to trigger
  std::string note{};               // children that are not run, and why; empty: none
};

// What the end of an occurrence's run means for its definition.
// Thread: the loop.
class RunEnd {
 public:
  virtual ~RunEnd() = default;
  // What is to be written in the same transaction as the end. Not `ran`: it was called off before
  // any attempt was started, and does not count.
  virtual std::vector<Operation> with_end(const WaitingJob& job, WallTime ended, bool ran) = 0;
  // After that transaction, with those operations and what became of them; called for every run
  // that has ended for good, also when there was nothing to write with it. job.lost counts this
  // attempt, too.
  virtual void run_ended(const WaitingJob& job, WallTime ended, bool ran,
                         const std::vector<Operation>& with,
                         const std::vector<Outcome>& outcomes) = 0;
  // The node groups of its children that this job tracker does not know: another one may have made
  // them a moment ago. To be looked for before set_off().
  virtual std::vector<std::string> unknown_groups(const WaitingJob& job) const = 0;
  // Of a job, occurrence or one-shot, that has succeeded. Each is answered by was_set_off().
  virtual SetOff set_off(const WaitingJob& job) = 0;
  // After the transaction of the end. Not `done`: the runs were not written.
  virtual void was_set_off(std::vector<WaitingJob> runs, bool done) = 0;
  // What is to run again later than this waits in the delayed table.
  virtual WallTime horizon_end() const = 0;
  // One is to run again: where the clock was set back, its time is not moved with it any more.
  virtual void keep_time(JobId id) = 0;
  // After a transaction that put it back into its table: a retry, or a job given back.
  virtual void runs_again(WaitingJob job) = 0;
  // The store refused that transaction: the run goes on as if it had not ended.
  virtual void not_ended(const WaitingJob& job) = 0;
};

}  // namespace carillon::jobtracker
