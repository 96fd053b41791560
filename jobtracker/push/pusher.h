#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "jobtracker/push/executor_calls.h"
#include "jobtracker/push/executor_choice.h"
#include "jobtracker/push/pushed_job.h"
#include "jobtracker/push/result_inbox.h"
#include "jobtracker/push/run_logs.h"
#include "jobtracker/state/attempt_reclaimer.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/executor_health.h"
#include "jobtracker/state/executor_requests.h"
#include "jobtracker/state/executor_silence.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/random.h"
#include "shared/base/sizes.h"
#include "shared/net/poster.h"

namespace carillon::jobtracker {

struct PusherConfig {
  // Sent to executors of groups without their own token; empty: none.
  std::string token{};
  // Most claimed and unanswered jobs of a group; the others wait in the table, not in memory. Also
  // the most calls to one executor that may be in progress or waiting for a connection.
  std::int32_t claims_max = 10'000;
  std::size_t calls_max = 1'000;
  // Most runs of a group without a stored end: executors may accept more than they can run.
  std::int32_t runs_max = 100'000;
  Duration call_timeout = std::chrono::seconds{3};  // for the answer, after a call was sent
  // A result may arrive this long after its executor was found idle.
  Duration result_grace = std::chrono::seconds{5};
  // The same if no job tracker received the result and it will be sent again: see
  // docs/decisions/0017-push.md.
  Duration resend_grace = std::chrono::seconds{90};
  // Time for an executor to end a killed or timed-out run.
  Duration stop_grace = std::chrono::seconds{5};
  // The runs of an executor are lost when it has been silent for this time.
  Duration silence = std::chrono::minutes{5};
  // Interval of heartbeats to executors with runs and to unreachable ones, and of idle checks for
  // doubtful runs.
  Duration beat = std::chrono::seconds{2};
};

// Runs pushed jobs: it gets jobs like a task tracker, calls executors over HTTP, and reports the
// results. Rules (docs/decisions/0017-push.md has the reasons):
//
// - For the dispatcher an executor group is one task tracker, whose credit is the number of calls
//   that may be in progress. So order, fencing, retries, overlap and children work as for all jobs.
// - A call is on disk before it is made, with its own log id; each shard of a broadcast has one.
//   The first result for a log id counts, also after a restart. Later ones change nothing.
// - If nothing was written, or the answer is a readable rejection, the next executor is called with
//   a new log id. After any other answer, or none, the job may run there and is not called
//   elsewhere.
// - If no port of a group is open, its jobs wait in their table until an executor answers.
// - A run is lost if there is a reason to doubt it, its executor is idle or gone, and the grace
//   time for its result has passed; or if its executor has been silent for the configured time.
//   Otherwise only its time-out ends it.
// - A killed or timed-out run ends after the executor's grace time, whatever the executor reports.
// - No executor is called while another job tracker may have taken over, nor for ended, void or
//   late jobs. Calls that wait for a connection at that time are not sent.
// - A job without a call is requeued if it is void, late, or no executor is left to call.
//
// Thread: the loop.
class Pusher {
 public:
  // What it needs from other parts.
  struct Outside {
    std::function<void(Worker&, const wire::Report&)> report;
    std::function<void(GroupId)> touch;  // a group's credit has changed
    // An entry that an earlier session claimed and did not call. It may be void, or not due yet.
    std::function<void(Executing&)> go_on;
    // See Dispatcher.
    std::function<std::optional<WallTime>(const Executing&)> may_begin_until;
    // An observation of an executor.
    std::function<void(GroupId, const std::string& address, bool ExecutorRow::*fact, bool is_so)>
        learn;
  };

  Pusher(PusherConfig config, Catalog& catalog, const Ownership& ownership,
         ExecutingTable& executing, const Executors& executors, ExecutorHealth& health,
         ExecutorSilence& silence, Workers& workers, Batcher& batcher, AttemptReclaimer& ends,
         RunLogs& logs, IdSource& ids, SchedulingClock& clock, Random& random, const Logger& log,
         Outside outside);
  // Calls that wait for a connection are not sent.
  ~Pusher();

  void set_poster(net::Poster* poster) { poster_ = poster; }
  // Whether an executor has not answered yet whether it accepts a run.
  bool is_calling() const {
    return std::any_of(calls_.begin(), calls_.end(),
                       [](const auto& call) { return call.second.kind == Call::Kind::kRun; });
  }
  // After a restart. Requires: executing jobs and definitions are known.
  void start(const StartAnswer& found);
  // The session's ownership is proven until then. Never called: always.
  void may_call_until(SteadyTime time) { lease_->hold_until(time); }
  // Makes no more calls. The next session makes those that are left.
  void stop();

  // A message for the session of an executor group.
  void take(const Worker& worker, const wire::Message& message);
  // Results that an executor reported to this job tracker.
  void results(ExecutorResults results, OnStored done);
  // The group of the run. If another job tracker owns the run: the groups that are possible.
  std::vector<GroupId> groups_of_run(std::int64_t log_id) const;
  void on_outcome(net::PostOutcome outcome);
  void on_hang_up(const std::string& server);

  // The fires or all runs of this definition are void: makes no call for them.
  void reclaim_void(DefinitionId id);

  // The executors of a group have changed. The address is set if one registered; it may be healthy
  // again.
  void register_worker(GroupId group, const std::string& address = {});
  void doubt(GroupId group, const std::string& address);

  // At the end of a turn: starts the jobs that were handed out.
  void flush();
  // Called every half second.
  void run_once();

  std::int64_t calls() const { return calls_made_; }
  std::int64_t runs_lost() const { return runs_lost_; }
  std::int64_t late_results() const { return late_results_; }
  Sizes sizes() const;

 private:
  using Phase = RunPhase;
  using Run = PushedRun;
  using Job = PushedJob;
  using Place = std::pair<GroupId, std::string>;  // an executor's, by its address
  // The queue of one executor.
  struct Line {
    std::size_t calls = 0;                 // in progress
    std::deque<std::int64_t> waiting{};    // stored runs, by log id
    std::deque<wire::AttemptId> asking{};  // attempts for which it is to be asked
  };
  // A request in progress.
  struct Call {
    enum class Kind : std::uint8_t { kRun, kChoose, kIdle, kThere, kKill };
    Kind kind = Kind::kRun;
    GroupId group{};
    JobId job{};
    std::int32_t attempt = 0;
    std::int64_t log_id = 0;
    std::string address{};
    bool is_trigger = false;  // kRun: sent to /trigger

    Place place() const { return {group, address}; }
  };

  Job* find(JobId id, std::int32_t attempt);
  Run* find_run(std::int64_t log_id);
  std::int64_t new_log_id(GroupId group);

  void begin(const wire::AttemptId& id);
  void restore(const Executing& entry, std::vector<PushRun> rows);
  Job& add_job(const Executing& entry);
  void plan(Job& job);
  void ask_next(Job& job);
  // Returns false if it is not possible now.
  bool ask(Job& job);
  void on_asked(const Call& call, const net::PostOutcome& outcome);
  void add_run(Job& job, std::int32_t shard, std::int32_t shards, std::vector<std::string> order,
               std::vector<Operation>& operations);
  void store_runs(const Job& job, std::vector<Operation> operations);
  bool is_elsewhere_better(GroupId group, const std::string& address,
                           const std::vector<std::string>& others) const;
  // Returns false if it is not possible now.
  bool call(Job& job, Run& run);
  void get_in_line(Run& run);
  void call_waiting(const Place& place);
  void note_log(const Job& job, const Run& run);
  void name_run(const Job& job, const Run& run);
  void on_run_answer(const Call& call, const net::PostOutcome& outcome);
  void call_next(Job& job, Run& run, const std::string& why);

  void replace_run(Job& job, Run& run, std::vector<std::string> order);
  void take_results(ExecutorResults results, OnStored done);
  void note_late(const wire::xxl::RunResult& result, std::int32_t code);
  void confirm_late(OnStored told);
  void end_run(Job& job, Run& run, std::int32_t code, std::string message, OnStored done = {});
  void end_uncalled(Job& job, Run& run);
  void end_shard(Job& job, Run& run, LogState state, OnStored done);
  LogEntry log_of_shard(const Job& job, const Run& run, LogState state) const;
  void retry_shard(Job& job, Run& run);
  void again(Job& job, Run& run);
  void end_if_all_have(Job& job);
  void end_job(Job& job, wire::RunOutcome outcome, std::string message);
  void report(Job& job);
  void forget(const wire::AttemptId& id);
  void kill(const wire::Kill& message);
  void send_kill(const Job& job);
  void lose(Job& job, Run& run, const char* why);

  void look_at(Job& job, SteadyTime now);
  void look_at_run(Job& job, Run& run, SteadyTime now);
  bool reports_busy_state(const Place& place) const;
  bool is_time_to_ask(const Run& run, SteadyTime now);
  void keep(const Run& run);
  void on_idle_answer(const Call& call, const net::PostOutcome& outcome);
  void beat(SteadyTime now);
  void ask_who_may_be_gone();
  bool ask_whether_there(const Place& place);
  static WallTime began_at(const Run& run);
  void note_unwell(const Call& call, const net::PostOutcome& outcome);
  void note_silence(const Call& call, const net::PostOutcome& outcome);
  void hear(const Place& place);
  bool is_given_up(const Run& run, SteadyTime now) const;
  bool waits_for_any(const Job& job, Run& run);
  static bool call_back(Run& run);
  bool call_back_all(const Job& job);
  void give_away(Job& job);
  bool has_begun(const Job& job) const;
  bool is_void(const Job& job) const;
  bool requeue_if_superseded(const Job& job);
  bool requeue_if_executor_gone(const std::string& address, const Job& job);
  SteadyTime call_until(const Job& job) const;
  bool go_back(const Job& job);
  void go_back_again();
  // False: not now.
  bool post(Call call, std::string_view path, std::string body,
            std::shared_ptr<net::Sending> sending = {});
  void set_credit(GroupId group);
  void put_run(Run run);
  void forget_run(std::int64_t log_id);

  PusherConfig config_;
  Catalog& catalog_;
  const Ownership& ownership_;
  ExecutingTable& executing_;
  const Executors& executors_;
  ExecutorHealth& health_;
  ExecutorSilence& silence_;
  Workers& workers_;
  Batcher& batcher_;
  AttemptReclaimer& ends_;
  RunLogs& logs_;
  IdSource& ids_;
  SchedulingClock& clock_;
  Random& random_;
  const Logger& log_;
  Outside outside_;
  net::Poster* poster_ = nullptr;
  const std::shared_ptr<net::SendLease> lease_ = std::make_shared<net::SendLease>();

  ExecutorChoice choice_;
  ResultInbox inbox_;
  std::unordered_map<JobId, Job> jobs_;
  std::unordered_map<std::int64_t, Run> runs_;  // by log id
  std::set<wire::AttemptId> going_back_;        // and not stored yet
  std::unordered_map<std::uint64_t, Call> calls_;
  std::uint64_t last_call_ = 0;
  std::map<Place, Line> lines_;              // not empty
  std::map<GroupId, std::int32_t> busy_of_;  // calls and queued calls of a group
  std::map<GroupId, std::int32_t> runs_of_;  // size of runs_ per group
  std::set<GroupId> full_;                   // logged that they have the most runs
  // Reported themselves idle although they accepted a run, and never busy.
  std::set<Place> suspects_;
  std::map<Place, SteadyTime> tried_at_;  // last check of others for that
  std::map<GroupId, std::vector<wire::AttemptId>> handed_;
  std::set<Place> asked_;          // executors in service that got a heartbeat once
  std::set<std::string> hung_up_;  // servers that closed a connection since the last look
  SteadyTime beaten_at_{};
  SteadyTime tidied_at_{};
  std::int64_t calls_made_ = 0;
  std::int64_t runs_lost_ = 0;
  std::int64_t late_results_ = 0;
  SteadyTime late_until_{};
  std::int32_t late_lines_ = 0;  // until then
  std::int64_t last_log_ = 0;    // id of a call
};

}  // namespace carillon::jobtracker
