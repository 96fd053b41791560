#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobtracker/job_tracker.h"
#include "jobtracker/store/memory_store.h"
#include "tests/support/fake_client.h"
#include "tests/support/fake_courier.h"
#include "tests/support/fake_executors.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_store_connection.h"
#include "tests/support/fake_worker.h"

namespace carillon::testing {

// A whole job tracker in one thread and in virtual time, with the store, the network, workers and
// clients around it. The tracker may be killed and started again; the database stays. Several share
// time and a database, each with a network, workers and a client of its own; whichever is run, all
// are.
//
// Thread: the test's.
class TrackerBundle {
  struct World;

 public:
  struct Options {
    jobtracker::JobTrackerConfig tracker{};
    std::uint64_t seed = 1;
    bool start = true;
    bool is_shared = false;  // the store, so that the tracker has to prove itself there
    // Works beside others, with these partitions.
    std::optional<jobtracker::Partitions> wanted{};
    TrackerBundle* beside = nullptr;  // shares with that one, which it must not outlive
  };

  explicit TrackerBundle(Options options);
  TrackerBundle() : TrackerBundle(Options{}) {}
  ~TrackerBundle();
  TrackerBundle(const TrackerBundle&) = delete;
  TrackerBundle& operator=(const TrackerBundle&) = delete;

  // ---- time ----
  void run_for(Duration time);
  // False: it was not so for ten minutes.
  bool run_until(const std::function<bool()>& is_so, Duration limit = std::chrono::minutes{10});
  // Runs up to a time of the wall clock.
  void run_to(WallTime when) { run_for(when - clock.wall_now()); }
  WallTime now() const { return clock.wall_now(); }

  // ---- the tracker ----
  void start_tracker();
  // kill -9. `commit_lands`: what its COMMIT has begun is on disk all the same.
  void kill_tracker(bool commit_lands = false);
  void restart_after(Duration down, bool commit_lands = false);
  // From the next start on; of one that works beside others.
  void want(const jobtracker::Partitions& partitions) { options_.wanted = partitions; }
  void give_lease(Duration lease) { options_.tracker.recovery.lease = lease; }  // likewise
  // The next one of the same process, with these partitions.
  void begin_next_session(const jobtracker::Partitions& wanted = jobtracker::all_partitions());
  bool is_up() const { return life_ != nullptr; }
  jobtracker::JobTracker& tracker() { return *life_->tracker; }
  FakeStoreConnection& connection() { return *life_->connection; }
  jobtracker::MemoryStore& store() { return *life_->store; }
  const std::optional<Error>& fatal() const { return fatal_; }
  std::int64_t stat(const std::string& name);

  // ---- those who talk to it ----
  FakeWorker& add_worker(FakeWorkerConfig config = {});
  std::vector<FakeWorker*> workers();
  // All runs of all workers, by start.
  std::vector<RunRecord> runs() const;
  std::vector<RunRecord> runs_of(const std::string& task_id) const;

  // Sends it and waits for the answer.
  wire::Submitted submit(std::vector<JobSpec> jobs);
  wire::SubmitAnswer submit(JobSpec job);
  // An Acted or an ErrorReply.
  wire::Message act(wire::Act act);
  wire::Message act(wire::Verb verb, const std::string& task_id);
  std::vector<wire::Row> query(wire::Query query);
  // Why a task does not run; "none" where nothing is in its way.
  std::string shown_reason(const std::string& group, const std::string& task_id);

  // ---- what is stored ----
  const jobtracker::MemoryTables& tables() const { return database.tables(); }
  std::vector<jobtracker::WaitingJob> waiting(const std::string& task_id = {}) const;
  std::vector<jobtracker::WaitingJob> delayed() const;
  std::vector<jobtracker::LogEntry> log(const std::string& task_id = {}) const;
  const jobtracker::Definition* definition(const std::string& task_id) const;
  // What became of a task, for the message of a failed test: runs and log, by time.
  std::string story(const std::string& task_id) const;
  // Nothing waits, executes or is defined.
  bool is_empty() const;

 private:
  const std::shared_ptr<World> world_;

 public:
  ManualClock& clock;
  ManualTaskRunner& task_runner;
  SeededRandom random;
  jobtracker::MemoryDatabase& database;
  FakeNetwork network{task_runner, clock};
  FakeExecutors executors{task_runner, clock};  // who tell each result once
  FakeCourier courier{task_runner, clock};
  FakeClient client;
  // Called with what the store says to each question that is not the connection's.
  std::function<void(const Result<jobtracker::ReadAnswer>&)> on_read =
      [](const Result<jobtracker::ReadAnswer>&) {};
  // Called with the connection of each life, before its first work.
  std::function<void(FakeStoreConnection&)> on_connection = [](FakeStoreConnection&) {};

 private:
  class FakeQuestions;
  struct Life {
    explicit Life(TaskRunner& outer) : task_runner(outer) {}
    ScopedTaskRunner task_runner;
    std::unique_ptr<jobtracker::MemoryStore> store;
    std::unique_ptr<FakeStoreConnection> connection;
    std::unique_ptr<jobtracker::Questions> questions;
    std::unique_ptr<jobtracker::JobTracker> tracker;
  };

  bool turn(SteadyTime limit);
  void end_turn();
  void look_around();

  const std::int64_t number_;  // of those that share a database, from 0 on
  Options options_;
  std::unique_ptr<Life> life_;
  SessionId session_{};
  jobtracker::JobTracker::Memory memory_{};  // from one session to the next
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::optional<Error> fatal_;
};

// Of each, in their order.
std::vector<WallTime> triggers(const std::vector<RunRecord>& runs);
std::vector<jobtracker::LogState> states(const std::vector<jobtracker::LogEntry>& log);

// Of each fire, which must not have run twice.
std::set<WallTime> triggers_once(const std::vector<RunRecord>& runs);
// Fires that were skipped.
std::int64_t skipped(const TrackerBundle& bundle, const std::string& task_id);

// ---- jobs for tests ----
JobSpec job_now(const std::string& task_id);
JobSpec job_at(const std::string& task_id, WallTime at);
JobSpec job_cron(const std::string& task_id, const std::string& cron);
JobSpec job_every(const std::string& task_id, Duration interval);
JobSpec job_fixed_delay(const std::string& task_id, Duration interval);
JobSpec job_manual(const std::string& task_id);

}  // namespace carillon::testing
