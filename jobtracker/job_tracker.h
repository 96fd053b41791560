#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobtracker/access/access_desk.h"
#include "jobtracker/alarm/alarm_desk.h"
#include "jobtracker/bulk_submit_queue.h"
#include "jobtracker/completion/completion.h"
#include "jobtracker/dispatch/dispatcher.h"
#include "jobtracker/feedback/feedback_desk.h"
#include "jobtracker/figures/figures_desk.h"
#include "jobtracker/intake/act.h"
#include "jobtracker/intake/submit.h"
#include "jobtracker/log_indexer.h"
#include "jobtracker/management.h"
#include "jobtracker/push/executor_registry.h"
#include "jobtracker/push/new_group_limit.h"
#include "jobtracker/push/pusher.h"
#include "jobtracker/push/run_logs.h"
#include "jobtracker/query/query.h"
#include "jobtracker/recovery/recovery.h"
#include "jobtracker/recurrence/recurrence.h"
#include "jobtracker/retention.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/executor_silence.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/group_maker.h"
#include "jobtracker/state/group_metrics.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/run_tally.h"
#include "jobtracker/store/batcher.h"
#include "jobtracker/store/group_split.h"
#include "jobtracker/store/heartbeat_watch.h"
#include "jobtracker/tracker_metrics.h"
#include "shared/base/random.h"
#include "shared/base/sizes.h"
#include "shared/net/address_guard.h"
#include "shared/net/courier.h"
#include "shared/net/poster.h"
#include "shared/net/transport.h"

namespace carillon::jobtracker {

struct JobTrackerConfig {
  SubmitConfig submit{};
  BatcherConfig batcher{};
  DispatcherConfig dispatcher{};
  RecurrenceConfig recurrence{};
  RecoveryConfig recovery{};
  FeedbackConfig feedback{};
  AlarmConfig alarms{};
  ExecutorRegistryConfig executors{};
  net::AddressGuard executor_guard{};  // of the addresses that may be called
  PusherConfig pusher{};
  // Longest interval between a task tracker's pulls.
  Duration pull_interval = std::chrono::seconds{1};
  // Longest interval between two commits; without other work, a heartbeat is committed.
  Duration heartbeat = kHeartbeat;
  RetentionConfig retention{};
  LogIndexerConfig log_index{};

  Status validate() const;
};

// One session of a job tracker: it owns the deciders and routes messages and store results between
// them. It makes no decision itself.
//
// Thread: the loop.
class JobTracker final : public net::ServerReceiver,
                         private net::PostReceiver,
                         private JobSink,
                         private WorkerLink,
                         private ClientLink,
                         private GroupMaker,
                         private RunStopper,
                         private RunTally {
 public:
  // `on_ready` is called when the store was read, `on_fatal` when this session cannot continue.
  JobTracker(JobTrackerConfig config, SessionId session, const Clock& clock, Random& random,
             TaskRunner& task_runner, StoreConnection& connection, Questions& questions,
             std::function<void()> on_ready, std::function<void(const Error&)> on_fatal);

  ~JobTracker() override;

  // Called to split a group: the next session does it, and gets the request again. Not set: groups
  // cannot be split. Call before start().
  using BeginSplit =
      std::function<void(const GroupSplit& split, const net::Sender& sender, std::string frame)>;
  void set_splitting(BeginSplit begin) { begin_split_ = std::move(begin); }
  // This session starts with this split. Call before start().
  void split_first(GroupSplit split) { split_first_ = std::move(split); }
  // Not set: no executor is called. Call before start().
  void set_poster(net::Poster& poster);
  // Not set: no alarms are sent. Call before start().
  void set_courier(net::Courier& courier) { alarms_.set_courier(courier); }
  // Not set: the session knows no stored principals before it has read them. Call before start().
  void use(AccessRegistry& registry) { access_.use(registry); }
  // The URL of the console, for clients. Call before start().
  void set_console(std::string url) { access_.set_console(std::move(url)); }
  // The server of connections within this process. Call before start().
  void set_internal(net::ServerTransport& internal) {
    internal_ = &internal;
    internal.set_receiver(this);
  }
  // From now on, the next session of the process uses the poster and the courier.
  void leave_doors();
  // State for the next session that is not in the store. Call go_on_from() before start().
  struct Memory {
    AlarmDesk::Memory alarms{};
    Recovery::Silences silences{};
    CalledOff called_off{};
    ExecutorSilence executor_silence{};
    KnownDefinitions definitions{};
    GroupMetrics metrics{};
  };
  // `kept`: the partitions that the next session also owns.
  Memory take_memory(const Partitions& kept);
  void go_on_from(Memory memory);
  // Reads the store. Until then, frames are answered with "not ready".
  void start(net::ServerTransport& transport);
  // Accepts nothing new, and hands out only claimed jobs. Accepted requests are still stored and
  // answered. Task trackers are informed, so that they immediately use another job tracker.
  void stop();
  // The session owned its partitions at this time. Another job tracker may fence it kSilence later.
  // While that is possible, no task tracker gets a lease or a job. Never called: the session does
  // not share its store.
  void proven(SteadyTime at);
  // Like stop(), but the next session of the same process takes over: task trackers register again,
  // and `next` queues new requests.
  void hand_over(net::ServerReceiver& next);
  // A rebalance is expected, or no longer expected: hand_over() or stop() may follow.
  void expect_pause(bool expects) { dispatcher_.expect_pause(expects); }
  bool awaits_silent() const { return recovery_.awaits_silent(); }
  // No accepted request waits for the store. A session that has given up its partitions also waits
  // for the answers of executors that it has just called, because the next session would not know
  // of these runs.
  bool is_idle() const { return !ready_ || (batcher_.is_idle() && !awaits_answers()); }

  void on_frame(const net::Sender& sender, std::string_view frame) override;
  // The executor group's own token; empty: none.
  std::string executor_token(const std::string& app_name) const;
  // The group whose run has this log id. If another job tracker owns the run: the groups that are
  // possible.
  std::vector<std::string> apps_of_run(std::int64_t log_id) const;
  // A request of an xxl-job executor.
  void on_executor(ExecutorRequest request, OnStored done);
  void manage(const ManageJob& call, OnManaged done);
  void on_batch_done(BatchDone done);
  void on_read_done(ReadDone done) { batcher_.on_read_done(std::move(done)); }
  void on_cluster(const ClusterView& view);
  void on_store_health(bool away) { store_is_away_ = away; }

  // At the end of each turn of the loop: hands out, confirms, commits.
  bool end_turn();

  bool is_ready() const {
    return ready_ && !stopping_ && !store_is_away_ && !batcher_.lacks_room();
  }
  // A stalled session can still be replaced.
  bool is_stalled() const { return batcher_.is_stalled(); }
  std::vector<Stat> stats() const;
  TrackerMetrics metrics() const;
  // The current work of a node group, also of one that another job tracker owns.
  void ask_levels(const std::string& group, FiguresDesk::OnLevels done) {
    if (const Status may = may_take(); !may.ok()) return done(may.error());
    figures_.ask_levels(group, std::move(done));
  }
  const Partitions& owned() const { return ownership_.owned(); }
  const DefinitionCounts& definition_counts() const { return catalog_.definition_counts(); }
  // The highest number of a known node group.
  GroupId last_group() const;
  // The sizes of everything that grows with the load.
  Sizes sizes() const;

 private:
  // JobSink, WorkerLink, ClientLink, GroupMaker, RunStopper, RunTally: calls from one decider to
  // another.
  void offer(WaitingJob job) override {
    if (job.delayed) return recurrence_.was_delayed(job);
    dispatcher_.offer(std::move(job));
  }
  std::optional<ExecutingJob> claim_new(const WaitingJob& job) override {
    return may_be_fenced() ? std::nullopt : dispatcher_.claim_new(job);
  }
  void claimed_new(JobId id, bool was_stored) override { dispatcher_.claimed_new(id, was_stored); }
  void forget(GroupId group, JobId id) override { dispatcher_.forget(group, id); }
  void hold(GroupId group, JobId id) override { dispatcher_.hold(group, id); }
  void release(JobId id) override { dispatcher_.release(id); }
  void reload(GroupId group) override { dispatcher_.reload(group); }
  void forget_definition(GroupId group, DefinitionId id) override {
    dispatcher_.forget_definition(group, id);
  }
  void forget_fires(GroupId of, DefinitionId id) override { dispatcher_.forget_fires(of, id); }
  void stop_runs_of(DefinitionId id, const std::string& reason) override {
    stops_.stop_runs_of(id, reason);
  }
  void stop_void(DefinitionId id) override {
    stops_.stop_void(id);
    pusher_.reclaim_void(id);
  }
  void call_off(JobId id, const std::string& reason) override { stops_.call_off(id, reason); }
  void ran(const ExecutingJob& run, bool has_failed) override {
    alarms_.ran(run.job.group, has_failed);
    dispatcher_.ran(run, has_failed);
  }
  bool send(const Worker& worker, const wire::Message& message) override;
  bool deliver(const Asker& asker, wire::Message message) override;
  void on_outcome(net::PostOutcome outcome) override;
  void on_hang_up(const std::string& server) override { pusher_.on_hang_up(server); }
  void find_groups(std::vector<std::string> names, std::function<void(Status)> then) override;
  void with_group(const std::string& name, std::function<void(Result<const Group*>)> then) override;

  BatchHead batch_head() const;
  bool hands_out() const { return !stopping_ && !may_be_fenced(); }
  void send_due();
  bool may_be_fenced() const { return proven_at_ && clock_.steady_now() >= *proven_at_ + kSilence; }
  void on_started(Result<ReadAnswer> answer);
  void take(const net::Sender& sender, std::string_view frame);
  bool take_bulk();
  void slow_down(const std::vector<BulkSubmitQueue::Sender>& senders);
  void route(const Asker& asker, wire::Message message, std::size_t bytes);
  bool may_be_new(const std::string& group) const;
  static Error stopping_error() { return {ErrorCode::kUnavailable, "the job tracker is stopping"}; }
  Status may_take() const;
  static net::Sender sender_of(const Asker& asker);
  std::vector<std::string> apps_with_token() const;
  void route_known(const Asker& asker, wire::Message message, std::size_t bytes);
  void know(const Group& group);
  void search(const std::string& name);
  Status may_have_executors(const Group& group) const;
  OnStored once_others_know(OnStored done);
  SteadyTime others_know_at() const;
  void on_registration(ExecutorRegistration registration, OnStored done);
  void register_new_group(ExecutorRegistration registration, OnStored done);
  void refuse(const Asker& asker, const wire::Act& message, const Error& why);
  void on_add_executors(const Asker& asker, wire::Act message);
  void on_split(const Asker& asker, wire::Act message);
  void on_remove_group(const Asker& asker, const wire::Act& message);
  void on_node(const Asker& asker, const wire::Act& message);
  void on_silence(const Asker& asker, const wire::Act& message);
  void on_test_alarm(const Asker& asker, const wire::Act& message);
  void remove_group(const Asker& asker, const wire::Act& message, GroupId id,
                    const CountAnswer& counted);
  void on_clean_history(const Asker& asker, const wire::Act& message);
  void on_register(const Asker& asker, wire::Register message);
  void register_worker(const Asker& asker, const wire::Register& message, const Group& group);
  void on_pull(const Asker& asker, const wire::Pull& message);
  void on_output(const Asker& asker, wire::Output message);
  struct OutputSource {
    Asker asker{};
    SessionId session{};
    std::string node{};
    GroupId group{};
    std::int64_t chunks = 0;  // of the message
  };
  void check_late_output(const OutputSource& source, std::vector<wire::OutputChunk> chunks,
                         std::vector<wire::AttemptId> late);
  void store_output(const OutputSource& source, std::vector<wire::OutputChunk> chunks);
  void watch_output(GroupId group, const std::vector<Operation>& stored);
  void on_bye(const Asker& asker, const wire::Bye& message);
  void answer_leaving();
  void leave_others(const Worker& worker, wire::Report& report) const;
  Worker* worker_of(const Asker& asker, SessionId session);
  bool is_foreign(const Asker& asker, const Worker& worker);
  void count_foreign(const std::string& node);
  bool is_of_other(const wire::AttemptId& id, SessionId session);
  void put_node(const Worker& worker, bool alive);
  void put_node(NodeRow row);
  void mark_gone();
  void every(Duration period, std::function<void()> work);
  void follow_store_clock();
  void let_go(Error word);
  bool awaits_answers() const;

  JobTrackerConfig config_;
  SessionId session_;
  Logger log_{"jobtracker"};
  TaskRunner& task_runner_;
  Questions& questions_;
  net::ServerTransport* transport_ = nullptr;
  net::ServerTransport* internal_ = nullptr;
  net::Poster* poster_ = nullptr;
  std::function<void()> on_ready_;
  std::function<void(const Error&)> on_fatal_;
  bool ready_ = false;
  bool stopping_ = false;
  SteadyTime began_at_{};
  bool has_marked_gone_ = false;
  std::optional<SteadyTime> let_go_at_{};  // and accepted no message from then on
  bool store_is_away_ = false;
  std::optional<SteadyTime> proven_at_{};
  BeginSplit begin_split_{};
  std::optional<GroupSplit> split_first_{};
  ReadStart first_question_{};
  std::optional<Error> split_error_{};
  bool is_asking_clock_ = false;
  std::int64_t bad_frames_ = 0;
  std::int64_t foreign_frames_ = 0;       // about sessions and runs of others
  std::set<SessionId> output_under_way_;  // output of these is being stored
  std::map<SessionId, Asker> leaving_;    // jobs of these are being requeued

  SchedulingClock clock_;
  IdSource ids_{0};
  Ownership ownership_;
  Catalog catalog_;
  ExecutingTable executing_;
  Executors executors_;
  ExecutorHealth executor_health_{executors_};
  ExecutorSilence executor_silence_;
  Workers workers_;
  GroupMetrics metrics_{};
  Batcher batcher_;
  FeedbackDesk feedback_;
  AlarmDesk alarms_;
  Recurrence recurrence_;
  Completion completion_;
  Dispatcher dispatcher_;
  Recovery recovery_;
  FiguresDesk figures_;
  Auditor auditor_;
  AccessDesk access_;
  Retention retention_;
  LogIndexer log_indexer_;
  Management management_;
  RunLogs run_logs_;
  Pusher pusher_;
  ExecutorRegistry registry_;
  NewGroupLimit new_groups_{log_};
  BulkSubmitQueue bulk_;
  SubmitIntake submit_;
  RunStops stops_;
  ActIntake act_;
  QueryDesk query_;
  std::map<std::string, std::vector<std::function<void(Result<const Group*>)>>> groups_to_come_;
  // One look-up at a time per name; requests that arrive during it wait for the next.
  struct GroupSearch {
    std::vector<std::function<void(const Status&)>> asking{};
    std::vector<std::function<void(const Status&)>> next{};
  };
  std::map<std::string, GroupSearch> searches_;
};

}  // namespace carillon::jobtracker
