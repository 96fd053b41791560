#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/audit/auditor.h"
#include "jobtracker/intake/run_stops.h"
#include "jobtracker/state/attempt_reclaimer.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/definitions.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/feedback_sink.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"

namespace carillon::jobtracker {

// Executes actions on jobs (cancel, suspend, resume, trigger, kill, set script, set priority), and
// answers when the change is on disk.
//
// A task id means the definition of that name where there is one, otherwise the one job that has
// it; a job id means one job. Runs of a definition that wait are acted on by its task id only,
// except that each has its own priority.
//
//           a definition               a waiting job              an executing job
//   cancel  removed with its waiting   ends, with a row in the    is not retried, and its run gets
//           runs; its runs get a stop  log                        a stop request
//           request
//   suspend stops firing; waiting      waits until it is resumed  rejected; if it was claimed ahead
//           fires are removed                                     and not sent, it is requeued as
//                                                                 suspended
//   resume  fires again from now on    is due as before           rejected
//   trigger gets one more run now      runs next, at the best     rejected
//                                      priority
//   kill    its runs get a stop        rejected; if it waits for  as cancel
//           request; waiting retries   a retry: as cancel
//           end
//   set     rejected                   has its new place in the    rejected
//   priority                           order of dispatch, also as
//                                      a run of a definition
//
// A job in quarantine can only be resumed or cancelled.
//
// Each action is one numbered request: a resend gets the first answer, even if it would be rejected
// by now. If the row is claimed or ends between the look-up and the change, the store reports a
// conflict, and nothing has happened. A row that is being claimed is looked up again. The
// dispatcher does not use the row during the action. The stop request is sent after the commit
// (run_stops.h).
//
// Thread: the loop.
class ActIntake {
 public:
  ActIntake(Catalog& catalog, const Ownership& ownership, ExecutingTable& executing,
            Workers& workers, Definitions& definitions, AttemptReclaimer& ends, Batcher& batcher,
            JobSink& sink, FeedbackSink& feedback, ClientLink& clients, RunStops& stops,
            Auditor& auditor, IdSource& ids, SchedulingClock& clock);

  // `bytes`: size of its frame.
  void act(const Asker& asker, wire::Act message, std::size_t bytes);

 private:
  struct Pending {
    Asker asker{};
    wire::Act act{};
    std::size_t bytes = 0;
    GroupId group{};
    int looks = 0;
    AuditedChange change{};

    std::string name() const {
      return act.task_id.empty() ? "job " + std::to_string(act.job_id.value)
                                 : "task '" + act.task_id + "'";
    }
  };
  using PendingPtr = std::shared_ptr<Pending>;

  void act_on_definition(const PendingPtr& pending, ActiveDefinition& definition);
  void kill_definition(const PendingPtr& pending, const ActiveDefinition& definition);
  bool is_moving(const WaitingJob& job);
  void cancel_definition(const PendingPtr& pending, ActiveDefinition& definition);
  void set_script(const PendingPtr& pending, ActiveDefinition& definition);
  void set_tag(const PendingPtr& pending, ActiveDefinition& definition);
  void trigger_definition(const PendingPtr& pending, ActiveDefinition& definition);
  void act_on_job(const PendingPtr& pending, FindAnswer found);
  void act_on_waiting(const PendingPtr& pending, WaitingJob job);
  void stop_job(const PendingPtr& pending, const FindAnswer& found);
  void act_on_executing(const PendingPtr& pending, const ExecutingJob& job);
  void suspend_unsent(const PendingPtr& pending, Executing& entry);
  void look_again(const PendingPtr& pending);

  ForRequest for_request(const PendingPtr& pending, std::string message, JobId made = {});
  LogEntry called_off(const WaitingJob& job, std::string message);
  // Those of them that are at a task tracker.
  std::vector<CancelExecuting> sent_of(const std::vector<JobId>& jobs);
  std::vector<CancelExecuting> outliving_of(const Pending& pending);
  void end_runs(const PendingPtr& pending, const std::vector<CancelExecuting>& runs,
                const std::vector<WaitingJob>& waits, JobId made);
  void was_ended(const Operation& operation, const std::string& how);
  void refuse(const PendingPtr& pending, ErrorCode code, std::string message);
  // Like refuse(), except for a resend of a request that was answered before.
  void decline(const PendingPtr& pending, ErrorCode code, std::string message);
  void decline_run_that_waits(const PendingPtr& pending, const FindAnswer& found);
  void decline_unknown(const PendingPtr& pending);
  void answer_first(const PendingPtr& pending, const RequestOutcome& outcome);

  Catalog& catalog_;
  const Ownership& ownership_;
  ExecutingTable& executing_;
  Workers& workers_;
  Definitions& definitions_;
  AttemptReclaimer& ends_;
  Batcher& batcher_;
  JobSink& sink_;
  FeedbackSink& feedback_;
  ClientLink& clients_;
  RunStops& stops_;
  Auditor& auditor_;
  IdSource& ids_;
  SchedulingClock& clock_;
};

}  // namespace carillon::jobtracker
