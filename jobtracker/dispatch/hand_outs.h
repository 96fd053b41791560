#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "jobtracker/state/attempt_reclaimer.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/group_metrics.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/worker_link.h"
#include "jobtracker/state/workers.h"
#include "shared/runtime/task_runner.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

struct HandOutsConfig {
  std::size_t bytes_max = 0;  // of a message; a single job may be larger
  // A claim is at most this long ahead. A longer wait means that the clock was set.
  Duration wait_max{};
};

// Sends claimed jobs to their task trackers, in as few messages as possible per turn. A job is sent
// when its time has come, and only after its task tracker has sent a pull, which would otherwise
// reject it. When this session gives up node groups, the remaining jobs are sent early, with the
// time to wait.
//
// A job that was cancelled between claim and send ends here. A job that cannot be sent is requeued.
//
// Thread: the loop.
class HandOuts {
 public:
  HandOuts(HandOutsConfig config, SessionId session, Catalog& catalog, ExecutingTable& executing,
           Workers& workers, GroupMetrics& metrics, const SchedulingClock& clock,
           TaskRunner& task_runner, AttemptReclaimer& ends, WorkerLink& link, const Logger& log);

  // The claim is on disk.
  void add(Executing& entry);
  // A task tracker that was away pulls again: sends its held jobs.
  void send_held(SessionId session);
  // Sends all held jobs immediately, except calls of executors: the next session makes those.
  void send_early();
  // At the end of a turn.
  void send();

  std::int64_t sent() const { return sent_; }
  std::size_t ready() const { return ready_.size(); }  // number of task trackers that get a message

 private:
  bool may_go(const WaitingJob& job) const;
  bool may_go_early(const Executing& entry) const;
  Duration wait_of(const WaitingJob& job, WallTime now) const;
  void make_ready(Executing& entry);
  void make_ready_at(SteadyTime time, const Executing& entry);
  void put_in_order(std::vector<JobId>& jobs) const;
  void send_frame(Worker& worker, std::vector<JobId> jobs, WallTime now);
  bool is_made_anew(const WaitingJob& job) const;
  wire::HandedJob handed(const Executing& entry, WallTime now) const;

  const HandOutsConfig config_;
  const SessionId session_;
  Catalog& catalog_;
  ExecutingTable& executing_;
  Workers& workers_;
  GroupMetrics& metrics_;
  const SchedulingClock& clock_;
  TaskRunner& task_runner_;
  AttemptReclaimer& ends_;
  WorkerLink& link_;
  const Logger& log_;
  std::unordered_map<SessionId, std::vector<JobId>> ready_;  // jobs to send in this turn
  std::int64_t sent_ = 0;
};

}  // namespace carillon::jobtracker
