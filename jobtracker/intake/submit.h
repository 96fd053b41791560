#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobtracker/audit/auditor.h"
#include "jobtracker/state/alarm_sink.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/child_graph.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/definitions.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/feedback_sink.h"
#include "jobtracker/state/group_maker.h"
#include "jobtracker/state/group_metrics.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/run_stopper.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

struct SubmitConfig {
  std::string zone = "UTC";  // for cron jobs without a time zone
  // Limit for the memory of all definitions (Catalog::definition_bytes()). The process needs up to
  // three times as much for them.
  std::size_t definition_bytes_max = 512 * 1024 * 1024;
};

// Accepts jobs: checks each, creates its rows, and answers when they are on disk, one answer per
// job, in order. A rejected job does not affect the others.
//
// The jobs of a message are one numbered request: a resend gets the first answer again.
//
// A task id is taken in its group while a job with it waits, executes or is defined. Another job
// with it is a duplicate, unless it may replace (replace_on_exist). Then the definition with its
// waiting runs, or the waiting one-shot job, is removed in the transaction that adds the new job.
// Runs of a replaced definition continue without retries. An executing one-shot job is never
// replaced.
//
// The task id of a job determines its partition; a job without one gets a task id of an owned
// partition. If a job belongs to another job tracker's partition, nothing is accepted: the client
// gets a redirect (Redirect) or, for a group in partitions, is asked to send each partition
// separately. A resend of a message that was accepted as a whole gets the first answer.
//
// Thread: the loop.
class SubmitIntake {
 public:
  SubmitIntake(SubmitConfig config, Catalog& catalog, const Workers& workers,
               const Executors& executors, GroupMaker& groups, const Ownership& ownership,
               Definitions& definitions, Batcher& batcher, JobSink& sink, FeedbackSink& feedback,
               const AlarmSink& alarms, ClientLink& clients, RunStopper& stopper, Auditor& auditor,
               GroupMetrics& metrics, IdSource& ids, SchedulingClock& clock);

  // `bytes`: size of its frame.
  void submit(const Asker& asker, wire::Submit message, std::size_t bytes);

  std::int64_t submitted() const { return submitted_; }
  Sizes sizes() const { return children_.sizes(); }

 private:
  struct Pending;
  Status check(const JobSpec& spec) const;
  void prepare(const std::shared_ptr<Pending>& pending);
  void make_groups(const std::shared_ptr<Pending>& pending);
  void choose_dispatch(Pending& pending);
  bool is_redirect(const std::shared_ptr<Pending>& pending);
  void say_in_parts(const std::shared_ptr<Pending>& pending, const wire::Redirect& said);
  GroupId part_of(const std::string& group, const std::string& task_id) const;
  GroupId place_of(const JobSpec& spec) const;
  void find_replaced(const std::shared_ptr<Pending>& pending);
  void read_children(const std::shared_ptr<Pending>& pending);
  bool waits_for_replaced(const std::shared_ptr<Pending>& pending);
  void keep_scripts(Pending& pending);
  void take_out_replaced(Pending& pending);
  void end_replaced(Pending& pending);
  void add(const std::shared_ptr<Pending>& pending);
  std::string why_nobody_takes(const JobSpec& spec, GroupId place) const;
  std::string warning_for(const JobSpec& spec, GroupId place, DefinitionState hold,
                          const ChildGraph::Foreign& foreign_children,
                          const ChildGraph::IsComing& is_coming) const;
  void add_job(Pending& pending, std::size_t index);
  bool add_definition(Pending& pending, std::size_t index);
  Status check_memory(const Pending& pending, const Definition& added) const;
  void take_in(Pending& pending, std::vector<Operation>& operations,
               const std::vector<Outcome>& outcomes);
  void answer(Pending& pending, const RequestOutcome& outcome, const Error* refused);

  const SubmitConfig config_;
  Catalog& catalog_;
  const Workers& workers_;
  const Executors& executors_;
  GroupMaker& groups_;
  const Ownership& ownership_;
  Definitions& definitions_;
  Batcher& batcher_;
  ChildGraph children_{catalog_, ownership_, groups_, batcher_};
  JobSink& sink_;
  FeedbackSink& feedback_;
  const AlarmSink& alarms_;
  ClientLink& clients_;
  RunStopper& stopper_;
  Auditor& auditor_;
  GroupMetrics& metrics_;
  IdSource& ids_;
  SchedulingClock& clock_;
  std::int64_t submitted_ = 0;
};

}  // namespace carillon::jobtracker
