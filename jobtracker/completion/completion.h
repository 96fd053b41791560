#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jobtracker/state/alarm_sink.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/feedback_sink.h"
#include "jobtracker/state/group_maker.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/run_end.h"
#include "jobtracker/state/run_stopper.h"
#include "jobtracker/state/run_tally.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/take_back.h"
#include "jobtracker/state/worker_link.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/random.h"
#include "shared/base/sizes.h"
#include "shared/job/job_state.h"

namespace carillon::jobtracker {

// Ends attempts: what a worker reports, what it gives back, and what recovery takes back. The end,
// its log row, the retry and the definition's next occurrence go in one transaction; the worker is
// told only after it.
//
// While a cancel of it is on its way to the store, a run is not put back into its table: when that
// is asked for again, the cancel is there.
//
// A worker may report for an earlier session, whose results lay on its disk: they count while that
// session's attempt is the current one.
//
// A run that is lost runs again, but not for ever: a one-shot job that was lost too often in a row
// goes into quarantine with that transaction, a definition by RunEnd::runs_again() after it. Any
// other end of an attempt begins the count again.
//
// A failure after which nothing is tried again raises an alarm, and so does a quarantine.
//
// A report of an attempt that is not executing (any more) is confirmed, counted and logged, and
// changes nothing. Where a run was lost, it may go on; once its job has ended, it is told to stop.
//
// Thread: the loop.
class Completion final : public TakeBack {
 public:
  Completion(Catalog& catalog, GroupMaker& groups, ExecutingTable& executing, Workers& workers,
             Batcher& batcher, RunEnd& run_end, FeedbackSink& feedback, AlarmSink& alarms,
             RunTally& tally, WorkerLink& link, RunStopper& stopper, IdSource& ids,
             SchedulingClock& clock, Random& random, const Logger& log);

  void report(Worker& worker, const wire::Report& message);
  void give_back(Worker& worker, const wire::GiveBack& message);

  void take_back(JobId id, bool lost) override;
  void cancel_unsent(JobId id) override;

  // At the end of a turn: confirms what was committed.
  bool flush();

  std::int64_t ended() const { return ended_; }
  std::int64_t late_reports() const { return late_reports_; }
  std::int64_t quarantined() const { return quarantined_; }
  Sizes sizes() const { return {{"confirmed", confirmed_.size()}}; }

 private:
  struct Ending {
    SessionId tell{};  // whom to confirm it to
    WaitingJob job{};
    bool is_final = true;
    WallTime ended{};        // by its worker's clock
    bool ran = true;         // this attempt or one before it was started
    bool may_go_on = false;  // this attempt or the one before was lost
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
  RunEnd& run_end_;
  FeedbackSink& feedback_;
  AlarmSink& alarms_;
  RunTally& tally_;
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
