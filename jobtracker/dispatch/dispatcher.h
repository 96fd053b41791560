#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "jobtracker/dispatch/deadlines.h"
#include "jobtracker/dispatch/hand_outs.h"
#include "jobtracker/dispatch/isolation.h"
#include "jobtracker/dispatch/preload.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/gate.h"
#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"
#include "shared/runtime/executor.h"

namespace carillon::jobtracker {

struct DispatcherConfig {
  PreloadConfig preload{};
  DeadlinesConfig deadlines{};
  IsolationConfig isolation{};
  // How long before its time a job is claimed, so that nothing waits for the disk when it is due.
  // Longer hides a slower store; a claimed job keeps one of its worker's free threads meanwhile.
  Duration claim_ahead = std::chrono::milliseconds{50};
  // Likewise of those that are pushed, where nobody's thread is kept: the calls themselves are
  // stored when they are due, and many claims at the same time would delay them.
  Duration push_claim_ahead = std::chrono::milliseconds{300};
  // Likewise before node groups change hands: what comes due meanwhile is with the task trackers by
  // then. Several times what that takes.
  Duration pause_claim_ahead = std::chrono::milliseconds{250};
  // What is asked of the store at a time: rows at most, and about as many bytes of their specs.
  std::int64_t refill = 5'000;
  std::int64_t refill_bytes = 8 * 1024 * 1024;
  // A read or claim that the store refused is tried again after this.
  Duration retry_after = std::chrono::seconds{1};
  std::size_t handout_bytes_max = 2 * 1024 * 1024;
  // Specs of what executes, of jobs that have one of their own; where they take more, nothing is
  // queued at a task tracker, and nothing is claimed to be pushed.
  std::size_t executing_bytes_max = 128 * 1024 * 1024;
};

// Hands due jobs to the task trackers of their group, strictly by (priority, due time,
// creation) among the jobs that a task tracker accepts: takes the best of a preload, claims it, and
// sends it once the claim is on disk and its time has come, or before that with the time to wait.
//
// Task trackers that accept the same kinds of run are served from one preload, which holds jobs of
// these kinds. Most groups have one; a group without task trackers has none, and its jobs stay in
// the table.
//
// A job that was lost is not queued at a task tracker, nor is anything else where one is: what such
// a job kills its task tracker with is what runs beside it, and not a queue.
//
// Fails safe: a claim that meets a conflict drops the job from memory, because somebody changed its
// row; a hand-out that can't be sent stays claimed and is taken back by recovery.
//
// Thread: the loop.
class Dispatcher final : public JobSink {
 public:
  Dispatcher(DispatcherConfig config, SessionId session, Catalog& catalog,
             ExecutingTable& executing, Workers& workers, Batcher& batcher, Questions& questions,
             SchedulingClock& clock, Executor& executor, Gate& gate, TakeBack& ends,
             WorkerLink& link, const Logger& log);

  // Starts to look after a group's table.
  void open_group(GroupId group);

  // Node groups are about to change hands, or not any more.
  void expect_pause(bool expects);
  // They do: task trackers wait for the time of what was claimed ahead.
  void hand_out_early() { hand_outs_.send_early(); }
  // Claimed by an earlier session to be pushed, and not called: it goes on from there, or back.
  void go_on(Executing& entry);
  // A task tracker has asked for jobs for the first time, or again.
  void send_held(SessionId session) { hand_outs_.send_held(session); }

  // A row that is in its group's table by now, new or changed.
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
  // Its start deadline, or never. Nothing: it is void, or beyond it.
  std::optional<WallTime> may_begin_until(const Executing& entry) const;
  bool is_isolated(SessionId session) const { return isolation_.is_isolated(session); }
  // A worker's credit has changed, or jobs may have come due.
  void touch(GroupId group) { touched_.insert(group); }
  // The time was set: everything in memory is looked at again.
  void reload_all();

  // At the end of a turn: sends what is claimed and due; then fills and claims.
  void send() { hand_outs_.send(); }
  void pump();
  // Something came up while it did that.
  bool has_work() const { return !touched_.empty(); }

  std::int64_t claims() const { return claims_; }
  std::int64_t handed_out() const { return hand_outs_.sent(); }
  std::size_t jobs_in_memory() const;
  Sizes sizes() const;

 private:
  struct Lane {
    Preload preload;
    std::uint64_t generation = 0;    // no two lanes have the same: others' answers are void
    std::int64_t rows_at_once = 64;  // to ask for; follows how large they turn out to be
    TimerId timer = 0;
    WallTime timer_at{};
  };
  using Lanes = std::map<RunKinds, Lane>;  // of a group, by what their task trackers accept
  // Which lane asked the table, and what for.
  struct Asked {
    GroupId group{};
    RunKinds kinds{};
    std::uint64_t generation = 0;
    bool due = false;
    bool is_ahead = false;  // nothing of it is needed soon
    std::int64_t limit = 0;
  };

  Lane new_lane(WallTime now);
  Lane* lane_of(const Asked& asked);
  void match_lanes(GroupId group, Lanes& lanes, WallTime now);
  void pump_group(GroupId group, WallTime now);
  void touch_later(GroupId group);
  Worker* taker_of(const WaitingJob& job, GroupId group, RunKinds kinds, std::int32_t credit_min);
  static bool is_for(RunKinds kinds, const std::optional<wire::SpecGlance>& glance);
  void say_if_nobody_accepts(const WaitingJob& job);
  void drop_from_others(Lanes& lanes, const Lane& taker, JobId id);
  void refill(GroupId group, RunKinds kinds, Lane& lane, WallTime now);
  bool may_read_ahead(GroupId group, Asked& asked);
  void take_rows(const Asked& asked, Result<ReadAnswer> answer);
  void read_failed(const Asked& asked, const Error& error);
  void claim(WaitingJob job, Worker& worker, WallTime now);
  ExecutingJob reserve(WaitingJob job, Worker& worker, WallTime now);
  void on_claimed(Claim& claim, const Outcome& outcome, const Error* refused);
  void give_up(Executing& entry);
  Duration claim_ahead(RunKinds kinds) const;
  void set_timer(GroupId group, RunKinds kinds, Lane& lane);
  void drop_timer(Lane& lane);

  DispatcherConfig config_;
  Catalog& catalog_;
  ExecutingTable& executing_;
  Workers& workers_;
  Batcher& batcher_;
  SchedulingClock& clock_;
  Executor& executor_;
  Gate& gate_;
  TakeBack& ends_;
  const Logger& log_;
  Deadlines deadlines_;
  Isolation isolation_;
  HandOuts hand_outs_;
  std::map<GroupId, Lanes> lanes_;
  std::uint64_t last_generation_ = 0;
  std::multiset<JobId> held_;  // once for each that changes their row
  std::set<GroupId> touched_;
  std::set<GroupId> to_touch_;  // in a while
  bool expects_pause_ = false;
  GroupId began_with_{};                                       // of those that were touched last
  bool reads_ahead_ = false;                                   // one of the groups does
  GroupId read_ahead_last_{};                                  // that one, or the last
  std::set<GroupId> to_read_ahead_;                            // as soon as no other one does
  std::set<std::pair<GroupId, RunKinds>> suspect_waits_;       // lanes whose best is one
  std::set<std::pair<GroupId, RunKind>> said_nobody_accepts_;  // since the group's lanes changed
  std::int64_t claims_ = 0;
};

}  // namespace carillon::jobtracker
