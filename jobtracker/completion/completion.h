#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jobtracker/state/alarm_sink.h"
#include "jobtracker/state/attempt_reclaimer.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/feedback_sink.h"
#include "jobtracker/state/group_maker.h"
#include "jobtracker/state/group_metrics.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/run_completion_handler.h"
#include "jobtracker/state/run_stopper.h"
#include "jobtracker/state/run_tally.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/worker_link.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/random.h"
#include "shared/base/sizes.h"
#include "shared/job/job_state.h"

namespace carillon::jobtracker {

// Ends attempts: reported results, returned jobs, and jobs that recovery requeues. One transaction
// writes the end, its log row, the retry and the definition's next occurrence. The worker gets its
// confirmation after the commit.
//
// While a cancellation of a run is being stored, the run is not requeued. The next request to
// requeue it finds the cancellation.
//
// A worker may report results of an earlier session from its disk. They count while that session's
// attempt is the current one.
//
// A lost run runs again, with a limit: after too many losses in a row, a one-shot job goes into
// quarantine in the same transaction, a definition afterwards through
// RunCompletionHandler::runs_again(). Any other end of an attempt resets the count.
//
// A failure without a further retry raises an alarm, and so does a quarantine.
//
// A report for an attempt that is not executing is confirmed, counted and logged, and changes
// nothing. A lost run may still be executing; when its job has ended, it gets a stop request.
//
// Thread: the loop.
class Completion final : public AttemptReclaimer {
 public:
  Completion(Catalog& catalog, GroupMaker& groups, ExecutingTable& executing, Workers& workers,
             Batcher& batcher, RunCompletionHandler& run_end, FeedbackSink& feedback,
             AlarmSink& alarms, RunTally& tally, GroupMetrics& metrics, WorkerLink& link,
             RunStopper& stopper, IdSource& ids, SchedulingClock& clock, Random& random,
             const Logger& log);

  void report(Worker& worker, const wire::Report& message);
  void give_back(Worker& worker, const wire::GiveBack& message);

  void reclaim(JobId id, bool lost) override;
  void cancel_unsent(JobId id) override;

  // At the end of a turn: sends confirmations of committed ends.
  bool flush();

  std::int64_t ended() const { return ended_; }
  std::int64_t late_reports() const { return late_reports_; }
  std::int64_t quarantined() const { return quarantined_; }
  Sizes sizes() const { return {{"confirmed", confirmed_.size()}}; }

 private:
  struct Ending {
    SessionId tell{};  // session to confirm to
    WaitingJob job{};
    bool is_final = true;
    WallTime ended{};        // by the clock of its worker
    bool ran = true;         // this attempt or an earlier one was started
    bool may_go_on = false;  // this attempt or the previous one was lost
  };

  void end(Executing& entry, SessionId tell, JobEvent event, std::optional<LogEntry> log,
           std::optional<WaitingJob> again);
  void on_ended(const Ending& ending, std::vector<Operation>& operations,
                const std::vector<Outcome>& outcomes, const Error* refused);
  LogEntry log_of(const Executing& entry, LogState state) const;
  void find_groups(Executing& entry, SessionId tell, const wire::RunResult& result,
                   std::vector<std::string> names);
  void end_by(Executing& entry, SessionId tell, const wire::RunResult& result);
  void end_lost(Executing& entry);
  bool begins_quarantine(const WaitingJob& job, const LogEntry& log) const;

  Catalog& catalog_;
  GroupMaker& groups_;
  ExecutingTable& executing_;
  Workers& workers_;
  Batcher& batcher_;
  RunCompletionHandler& run_end_;
  FeedbackSink& feedback_;
  AlarmSink& alarms_;
  RunTally& tally_;
  GroupMetrics& metrics_;
  WorkerLink& link_;
  RunStopper& stopper_;
  IdSource& ids_;
  SchedulingClock& clock_;
  Random& random_;
  const Logger& log_;
  std::unordered_map<SessionId, std::vector<wire::AttemptId>> confirmed_;
  std::int64_t ended_ = 0;
  std::int64_t late_reports_ = 0;
  std::int64_t quarantined_ = 0;
};

}  // namespace carillon::jobtracker
