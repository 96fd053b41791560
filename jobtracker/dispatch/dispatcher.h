#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "jobtracker/dispatch/deadlines.h"
#include "jobtracker/dispatch/hand_outs.h"
#include "jobtracker/dispatch/isolation.h"
#include "jobtracker/dispatch/preload.h"
#include "jobtracker/state/admission_policy.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/group_metrics.h"
#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"
#include "shared/runtime/task_runner.h"

namespace carillon::jobtracker {

struct DispatcherConfig {
  PreloadConfig preload{};
  DeadlinesConfig deadlines{};
  IsolationConfig isolation{};
  // Claim a job this long before its time, so that it need not wait for the disk when it is due.
  // Longer hides a slower store, but the claimed job blocks one of its worker's free threads.
  Duration claim_ahead = std::chrono::milliseconds{50};
  // The same for pushed jobs, which block no thread. Larger: their calls are stored when they are
  // due, and many claims at that time would delay them.
  Duration push_claim_ahead = std::chrono::milliseconds{300};
  // The same before node groups are rebalanced: jobs that become due during it are already at their
  // task trackers. Several times the duration of a rebalance.
  Duration pause_claim_ahead = std::chrono::milliseconds{250};
  // Size of one read: most rows, and about as many bytes of specs.
  std::int64_t refill = 5'000;
  std::int64_t refill_bytes = 8 * 1024 * 1024;
  // Wait after a read or claim that the store rejected.
  Duration retry_after = std::chrono::seconds{1};
  std::size_t handout_bytes_max = 2 * 1024 * 1024;
  // Limit for the specs of executing jobs that have their own spec. Beyond it, no job is queued at
  // a task tracker and none is claimed for a push.
  std::size_t executing_bytes_max = 128 * 1024 * 1024;
};

// Hands due jobs to the task trackers of their group, strictly by (priority, due time, creation)
// among the jobs that a task tracker accepts. It takes the best job of a preload, claims it, and
// sends it when the claim is on disk. A job that is not due yet is held, or sent with the time to
// wait.
//
// Task trackers that accept the same kinds of jobs share one dispatch queue, which holds the jobs
// of these kinds. Most groups have one. A group without task trackers has none, and its jobs stay
// in the table.
//
// A job that was lost is never queued at a task tracker, and nothing is queued behind it: if the
// job kills its task tracker, only concurrent runs are lost, not a queue.
//
// Fails safe: a claim with a conflict drops the job from memory, because its row was changed. A
// hand-out that cannot be sent stays claimed until recovery requeues it.
//
// Thread: the loop.
class Dispatcher final : public JobSink {
 public:
  Dispatcher(DispatcherConfig config, SessionId session, Catalog& catalog,
             ExecutingTable& executing, Workers& workers, GroupMetrics& metrics, Batcher& batcher,
             Questions& questions, SchedulingClock& clock, TaskRunner& task_runner,
             AdmissionPolicy& admission, AttemptReclaimer& ends, WorkerLink& link,
             const Logger& log);

  // Starts to serve a group's table.
  void open_group(GroupId group);

  // A rebalance is expected, or no longer expected.
  void expect_pause(bool expects);
  // A rebalance starts: sends jobs that were claimed ahead, with the time to wait.
  void hand_out_early() { hand_outs_.send_early(); }
  // An entry that an earlier session claimed for a push and did not call: continues it, or requeues
  // it.
  void go_on(Executing& entry);
  // A task tracker has sent its first pull, or pulls again.
  void send_held(SessionId session) { hand_outs_.send_held(session); }

  // A row that is in its group's table now, new or changed.
  void offer(WaitingJob job) override;
  std::optional<ExecutingJob> claim_new(const WaitingJob& job) override;
  void claimed_new(JobId id, bool was_stored) override;
  void forget(GroupId group, JobId id) override;
  void hold(GroupId group, JobId id) override;
  void release(JobId id) override;
  void reload(GroupId group) override;
  void forget_definition(GroupId group, DefinitionId id) override;
  void forget_fires(GroupId group, DefinitionId id) override;

  void ran(const ExecutingJob& run, bool has_failed) { isolation_.ran(run, has_failed); }
  // Its start deadline, or the latest time without one. None: it is void or its deadline has
  // passed.
  std::optional<WallTime> may_begin_until(const Executing& entry) const;
  bool is_isolated(SessionId session) const { return isolation_.is_isolated(session); }
  // By an operator.
  void isolate(Worker& worker) { isolation_.isolate(worker); }
  void end_isolation(Worker& worker) { isolation_.end(worker); }
  // A worker's credit changed, or jobs may have become due.
  void touch(GroupId group) { touched_.insert(group); }
  // The clock was set: reads everything in memory again.
  void reload_all();

  // At the end of a turn: sends claimed and due jobs; then refills and claims.
  void send() { hand_outs_.send(); }
  void pump();
  // Whether run() found more to do.
  bool has_work() const { return !touched_.empty(); }

  std::int64_t claims() const { return claims_; }
  std::int64_t handed_out() const { return hand_outs_.sent(); }
  std::size_t jobs_in_memory() const;
  Sizes sizes() const;

 private:
  struct DispatchQueue {
    Preload preload;
    // Unique per dispatch queue; answers for an older one are ignored.
    std::uint64_t generation = 0;
    std::int64_t rows_at_once = 64;  // rows per read; adapts to their size
    TimerId timer = 0;
    WallTime timer_at{};
  };
  using DispatchQueues =
      std::map<RunKinds, DispatchQueue>;  // of a group, by the kinds that its task trackers accept
  // Which dispatch queue a read is for, and why.
  struct Asked {
    GroupId group{};
    RunKinds kinds{};
    std::uint64_t generation = 0;
    bool due = false;
    bool is_ahead = false;  // its answer is not urgent
    std::int64_t limit = 0;
  };

  DispatchQueue new_queue(WallTime now);
  DispatchQueue* queue_of(const Asked& asked);
  void match_queues(GroupId group, DispatchQueues& queues, WallTime now);
  void pump_group(GroupId group, WallTime now);
  void touch_later(GroupId group);
  Worker* taker_of(const WaitingJob& job, GroupId group, RunKinds kinds, std::int32_t credit_min);
  static bool is_for(RunKinds kinds, const std::optional<wire::SpecGlance>& glance);
  void say_if_nobody_accepts(const WaitingJob& job);
  void drop_from_others(DispatchQueues& queues, const DispatchQueue& taker, JobId id);
  void refill(GroupId group, RunKinds kinds, DispatchQueue& queue, WallTime now);
  bool may_read_ahead(GroupId group, Asked& asked);
  void take_rows(const Asked& asked, Result<ReadAnswer> answer);
  void read_failed(const Asked& asked, const Error& error);
  void claim(WaitingJob job, Worker& worker, WallTime now);
  ExecutingJob reserve(WaitingJob job, Worker& worker, WallTime now);
  void on_claimed(Claim& claim, const Outcome& outcome, const Error* refused);
  void give_up(Executing& entry);
  Duration claim_ahead(RunKinds kinds) const;
  void set_timer(GroupId group, RunKinds kinds, DispatchQueue& queue);
  void drop_timer(DispatchQueue& queue);

  DispatcherConfig config_;
  Catalog& catalog_;
  ExecutingTable& executing_;
  Workers& workers_;
  Batcher& batcher_;
  SchedulingClock& clock_;
  TaskRunner& task_runner_;
  AdmissionPolicy& admission_;
  AttemptReclaimer& ends_;
  const Logger& log_;
  Deadlines deadlines_;
  Isolation isolation_;
  HandOuts hand_outs_;
  std::map<GroupId, DispatchQueues> queues_;
  std::uint64_t last_generation_ = 0;
  std::multiset<JobId> held_;  // once for each pending change of the row
  std::set<GroupId> touched_;
  std::set<GroupId> to_touch_;  // after retry_after
  bool expects_pause_ = false;
  GroupId began_with_{};             // the group that the last turn started with
  bool reads_ahead_ = false;         // a group reads ahead
  GroupId read_ahead_last_{};        // that group, or the last one
  std::set<GroupId> to_read_ahead_;  // when no other group reads ahead
  // Dispatch queues whose best job was lost before.
  std::set<std::pair<GroupId, RunKinds>> suspect_waits_;
  // Since the dispatch queues of the group changed.
  std::set<std::pair<GroupId, RunKind>> said_nobody_accepts_;
  std::int64_t claims_ = 0;
};

}  // namespace carillon::jobtracker
