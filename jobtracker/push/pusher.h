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
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/executor_health.h"
#include "jobtracker/state/executor_requests.h"
#include "jobtracker/state/executor_silence.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/take_back.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/random.h"
#include "shared/base/sizes.h"
#include "shared/net/poster.h"

namespace carillon::jobtracker {

struct PusherConfig {
  // Sent to the executors of groups that have no token of their own; empty: none.
  std::string token{};
  // Jobs of a group that are claimed and not answered for, so that the others wait in their table
  // and not in memory; and calls of one executor that may be under way, or wait for a connection.
  std::int32_t claims_max = 10'000;
  std::size_t calls_max = 1'000;
  // Runs of a group without a stored end, likewise: executors may take more than they can run.
  std::int32_t runs_max = 100'000;
  Duration call_timeout = std::chrono::seconds{3};  // for the answer, from when a call is sent
  // A result may still be on its way so long after its executor was found idle.
  Duration result_grace = std::chrono::seconds{5};
  // Where it may have been told to nobody, and will be told again: see docs/decisions/0017-push.md.
  Duration resend_grace = std::chrono::seconds{90};
  // An executor has so long to end what was killed, or has run out of time.
  Duration stop_grace = std::chrono::seconds{5};
  // The runs of an executor are lost when it has been silent for so long.
  Duration silence = std::chrono::minutes{5};
  // How often those with runs, and those that were not there, are asked whether they are, and
  // doubtful ones for a run.
  Duration beat = std::chrono::seconds{2};
};

// Runs the jobs that are pushed: is handed them as a task tracker is, calls executors over HTTP,
// and reports what became of them. Its rules (docs/decisions/0017-push.md says why):
//
// - To the dispatcher an executor group is one task tracker, whose credit is the calls that may be
//   under way. So order, fences, retries, overlap and children are those of every job.
// - A call is on disk before it is made, under a log id of its own; each shard of a broadcast has
//   one. The first result of a log id counts, also after a restart; others change nothing.
// - Nothing written, or a refusal that can be read: the next executor is called, under a new log
//   id. Any other answer, or none: the job may run there, and is not called elsewhere.
// - Where nobody listens at any port of a group, its jobs wait in their table: all are asked.
// - Lost is a run when there is a reason to doubt it, its executor is idle of the job or gone, and
//   the grace for its result has passed; or its executor has been silent for a configured time.
//   Otherwise only its time-out ends it.
// - What is killed, or out of time, has ended after the executor's grace, whatever it says.
// - Nobody is called while another job tracker may have taken over, nor with what has ended, is
//   void or too late: what waits for a connection by then is not sent.
// - What nobody was called for goes back: when it is void, too late, or has nobody left to call.
//
// Thread: the loop.
class Pusher {
 public:
  // What it asks of others, who answer to nobody else about it.
  struct Outside {
    std::function<void(Worker&, const wire::Report&)> report;
    std::function<void(GroupId)> touch;  // a group's credit has changed
    // Claimed by an earlier session, which did not call it. It may not be due yet, or void by now.
    std::function<void(Executing&)> go_on;
    // As of Dispatcher.
    std::function<std::optional<WallTime>(const Executing&)> may_begin_until;
    // What was seen of an executor.
    std::function<void(GroupId, const std::string& address, bool ExecutorRow::*fact, bool is_so)>
        learn;
  };

  Pusher(PusherConfig config, Catalog& catalog, const Ownership& ownership,
         ExecutingTable& executing, const Executors& executors, ExecutorHealth& health,
         ExecutorSilence& silence, Workers& workers, Batcher& batcher, TakeBack& ends,
         RunLogs& logs, IdSource& ids, SchedulingClock& clock, Random& random, const Logger& log,
         Outside outside);
  // What waits for a connection then is not sent.
  ~Pusher();

  void set_poster(net::Poster* poster) { poster_ = poster; }
  // An executor has not answered yet whether it takes a run.
  bool is_calling() const {
    return std::any_of(calls_.begin(), calls_.end(),
                       [](const auto& call) { return call.second.kind == Call::Kind::kRun; });
  }
  // After a restart; what executes and was defined is known by then.
  void start(const StartAnswer& found);
  // The session is proven until then; whenever, if this is never said.
  void may_call_until(SteadyTime time) { lease_->hold_until(time); }
  // Nobody is called any more; what was not is given to the next session to call.
  void stop();

  // A message for the session of an executor group.
  void take(const Worker& worker, const wire::Message& message);
  // What an executor told this job tracker.
  void results(ExecutorResults results, OnStored done);
  // Of which group the run is; where another job tracker knows that, each of which it may be.
  std::vector<GroupId> groups_of_run(std::int64_t log_id) const;
  void on_outcome(net::PostOutcome outcome);
  void on_hang_up(const std::string& server);

  // Of a definition whose fires, or all of whose runs, are void now: nobody is called for them.
  void take_back_void(DefinitionId id);

  // The executors of a group are others now. Where it names one, that has registered, and may be
  // well again.
  void seat(GroupId group, const std::string& address = {});
  void doubt(GroupId group, const std::string& address);

  // At the end of a turn: begins what was handed out.
  void flush();
  // Called about each half second.
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
  // To one executor.
  struct Line {
    std::size_t calls = 0;                 // under way
    std::deque<std::int64_t> waiting{};    // runs that are stored, by log id
    std::deque<wire::AttemptId> asking{};  // attempts for which it is to be asked
  };
  // A post under way.
  struct Call {
    enum class Kind : std::uint8_t { kRun, kChoose, kIdle, kThere, kKill };
    Kind kind = Kind::kRun;
    GroupId group{};
    JobId job{};
    std::int32_t attempt = 0;
    std::int64_t log_id = 0;
    std::string address{};
    bool is_trigger = false;  // kRun: at /trigger

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
  // False: not now.
  bool ask(Job& job);
  void on_asked(const Call& call, const net::PostOutcome& outcome);
  void add_run(Job& job, std::int32_t shard, std::int32_t shards, std::vector<std::string> order,
               std::vector<Operation>& operations);
  void store_runs(const Job& job, std::vector<Operation> operations);
  bool is_elsewhere_better(GroupId group, const std::string& address,
                           const std::vector<std::string>& others) const;
  // False: not now.
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
  bool is_honest(const Place& place) const;
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
  bool went_back(const Job& job);
  bool went_with(const std::string& address, const Job& job);
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
  TakeBack& ends_;
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
  std::map<Place, Line> lines_;              // that are not empty
  std::map<GroupId, std::int32_t> busy_of_;  // calls and all that waits in the lines of a group
  std::map<GroupId, std::int32_t> runs_of_;  // those of runs_
  std::set<GroupId> full_;                   // said to have as many as may be
  std::set<Place> suspects_;  // called themselves idle of a run that was taken, and never busy
  std::map<Place, SteadyTime> tried_at_;  // whether they do, of others
  std::map<GroupId, std::vector<wire::AttemptId>> handed_;
  std::set<Place> asked_;          // executors in service that were sent a beat once
  std::set<std::string> hung_up_;  // servers whose connection was closed since the last look
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
