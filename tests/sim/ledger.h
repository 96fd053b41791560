#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/memory_tables.h"
#include "jobtracker/store/partitions.h"
#include "shared/wire/messages.h"
#include "tests/sim/broken.h"
#include "tests/sim/fires.h"
#include "tests/sim/run_book.h"

namespace carillon::sim {

// A task tracker's session, as the ledger must know it.
struct WorkerFacts {
  std::string group{};
  bool handlers_only = false;
};

// No tracker ran from the last commit of an earlier session to the start of this one.
struct DeadTime {
  WallTime from{};
  WallTime until{};
};
using DeadTimes = std::array<DeadTime, jobtracker::kPartitions>;  // of each partition

// A commit, and who made it.
struct Commit {
  const jobtracker::Batch& batch;
  const jobtracker::Committed& done;
  SteadyTime flushed_at{};             // when the loop let go of it
  bool was_disturbed = false;          // anything was, lately
  bool was_tracker_disturbed = false;  // a job tracker stood still, or its clock was set, lately
  bool were_executors_disturbed = false;
  Duration claim_ahead{};
  Duration push_claim_ahead{};
  std::size_t blocked_max = 0;
  const DeadTimes& dead_times;
  bool was_clock_set = false;  // since a while before
  bool was_ever_set = false;   // a clock; another job tracker's may be behind
};

// What is stored, kept beside the store from what was committed, and whether each step of each job
// was one that it may take. Holds what has not ended; a job that has ended is remembered by its id
// for a while.
//
// Thread: the simulation's.
class Ledger {
 public:
  enum class Place { kWaiting, kDelayed, kExecuting };
  struct Job {
    jobtracker::WaitingJob row{};
    RetryPolicy retries{};
    RunKind kind = RunKind::kHandler;
    Duration start_deadline{};
    std::vector<Child> children{};
    bool is_to_be_told = false;  // to a client group
    Place place = Place::kWaiting;
    SessionId session{};
    bool cancelled = false;
    std::optional<SteadyTime> stops_since{};  // it was cancelled, or its definition removed
    bool by_act = false;                      // triggered by a user, not by its schedule
    bool is_pushed = false;
    std::optional<int> own_priority{};  // of its description; none: that is gone
    bool skips_missed = false;          // a job for a time that does not run if it was missed
    bool ran = false;                   // an attempt of it was started
    SteadyTime since{};                 // it is in this place
    SteadyTime left_as_it_was{};        // a change of it came to nothing, and was on its way before
  };
  struct DefinitionFacts {
    jobtracker::Definition row{};
    JobSpec spec{};
    SteadyTime since{};
    bool was_acted_on = false;
    std::int64_t runs = 0;            // that have ended, but for those triggered by users
    SteadyTime ended_at{};            // the last of them all
    JobId last_ended{};               // of its schedule's
    int lost = 0;                     // attempts, since it was released from quarantine last
    bool was_lost_too_often = false;  // one of its runs, likewise
  };

  Ledger(const Timeline& timeline, const jobtracker::MemoryTables& tables, RunBook& runs,
         Broken broken)
      : timeline_(timeline),
        tables_(tables),
        runs_(runs),
        fires_(by("fires", broken)),
        broken_(by("ledger", broken)) {}

  // Judges the end of a pushed attempt in place of the book of runs.
  std::function<void(const Commit&, const Job&, const jobtracker::LogEntry&, bool is_void)>
      on_pushed_end;

  void worker_came(SessionId session, WorkerFacts facts) { workers_[session] = std::move(facts); }
  void committed(const Commit& commit);

  const Job* find(JobId id) const;
  // It is stored, or was lately.
  bool knows(JobId id) const { return jobs_.contains(id) || ended_.contains(id); }
  bool defines(const std::string& group, const std::string& task_id) const;
  // That this was done to the task is to be seen, if the task is still there.
  bool shows(wire::Verb verb, const std::string& group, const std::string& task_id,
             SteadyTime asked_at) const;
  // The first fire of its schedule that was not generated; none if it has no grid.
  std::optional<WallTime> next_fire(DefinitionId id);
  const std::unordered_map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<DefinitionId, DefinitionFacts>& definitions() const { return definitions_; }
  std::int64_t ended() const { return ended_count_; }
  // A run of a child that is to be set off by who looks after its group.
  struct Relayed {
    jobtracker::InboxRow row{};
    SteadyTime since{};
  };
  const std::map<std::int64_t, Relayed>& inbox() const { return inbox_; }

  // That the store has just what was committed, and that every fire has its outcome so far.
  void check();

 private:
  void take(const Commit& commit, const jobtracker::ChangeWaiting& change,
            const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::End& end, const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::ChangeDefinition& change,
            const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::Claim& claim,
            const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::AddDefinition& add,
            const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::AddJob& add,
            const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::AddExecuting& add,
            const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::CancelExecuting& cancel,
            const jobtracker::Outcome& outcome);
  void take(const Commit& commit, const jobtracker::RemoveInbox& remove,
            const jobtracker::Outcome& outcome);
  void check_misfires(const Commit& commit, const jobtracker::ChangeDefinition& change,
                      const DefinitionFacts& facts) const;
  void take_voided(const Commit& commit, const jobtracker::ChangeDefinition& change,
                   const DefinitionFacts& facts);
  static WallTime called_off_at(const DefinitionFacts& facts, const jobtracker::LogEntry& voided);
  template <class Other>
  void take(const Commit&, const Other&, const jobtracker::Outcome&) {}

  void claimed(const Commit& commit, const jobtracker::Claim& claim, bool is_new);
  Job* add(const jobtracker::WaitingJob& row, bool by_act);
  void place(Job& job, const jobtracker::WaitingJob& row);
  void end(JobId id, const jobtracker::LogEntry* log);
  void check_end(const Commit& commit, const Job& job, const jobtracker::End& end);
  void check_children(const Job& job, const jobtracker::End& end);
  void check_told(const Job& job, const jobtracker::LogEntry& log);
  void check_again(const Commit& commit, const Job& job, const jobtracker::WaitingJob& again,
                   const jobtracker::LogEntry& log);
  // What is due and waits goes in order: smaller priority, earlier due time, smaller id.
  using Turn = std::tuple<int, WallTime, JobId>;
  struct Overtaken {
    std::string by{};
    WallTime chosen_at{};  // the other one
    bool was_new = false;  // the other one was claimed as it was stored
    SteadyTime since{};
  };
  static Turn turn_of(const jobtracker::WaitingJob& row);
  void was_left(const jobtracker::WaitingJob& row);
  bool accepts(SessionId session, const Job& job) const;
  void check_priority(const Job& job, int expected) const;
  void check_triggered(const Commit& commit, const Job& job) const;
  void check_turn_again(const Commit& commit, const Job& job, const jobtracker::WaitingJob& again,
                        bool failed, bool may_wait) const;
  static bool moves_with_clock(const Commit& commit, const jobtracker::WaitingJob& from,
                               const jobtracker::WaitingJob& to);
  void check_changed_turn(const Commit& commit, const Job& job,
                          const jobtracker::WaitingJob& to) const;
  void check_order(const Commit& commit, const Job& job, const jobtracker::Claim& claim,
                   bool is_new);
  void check_overtaken(JobId id, WallTime claimed_at);
  void check_all_overtaken(const Commit& commit);
  bool may_start(const Commit& commit, const Job& job, SteadyTime chosen_at,
                 WallTime claimed_at) const;
  bool waits_for_another(const Job& job, const DefinitionFacts& facts, SteadyTime chosen_at,
                         WallTime claimed_at) const;
  void stops_waiting(const Job& job);
  void check_overlap(const Job& job);
  void check_lateness(const Commit& commit, const Job& job, WallTime claimed_at);
  void check_skipped(const Commit& commit, const Job& job);
  void check_requests(const Commit& commit);
  void check_submission(const std::string& task_id, const JobSpec& spec);
  bool key_is_held(GroupId group, const std::string& task_id) const;
  bool is_void(const Job& job) const;
  bool was_voided(const Job& job) const;
  DefinitionFacts* defined_by(GroupId group, const std::string& task_id);
  void broken(const Job& job, const std::string& what) const;

  const Timeline& timeline_;
  const jobtracker::MemoryTables& tables_;
  RunBook& runs_;
  Fires fires_;
  Broken broken_;
  std::map<SessionId, WorkerFacts> workers_;
  std::unordered_map<JobId, Job> jobs_;
  std::map<DefinitionId, DefinitionFacts> definitions_;
  std::map<DefinitionId, std::set<JobId>> of_definition_;
  // Runs that went on when their definition was removed, by its task.
  std::map<std::pair<GroupId, std::string>, std::set<JobId>> outliving_;
  std::map<std::pair<GroupId, std::string>, int> keys_;  // held by so many
  std::map<GroupId, std::map<Turn, JobId>> turns_;       // of what waits
  std::map<JobId, Overtaken> overtaken_;                 // whether wrongly is not known yet
  std::map<std::int64_t, Relayed> inbox_;
  std::unordered_set<JobId> ended_;
  std::deque<std::pair<SteadyTime, JobId>> ended_at_;
  std::int64_t ended_count_ = 0;
  std::map<std::int64_t, std::set<std::int64_t>> requests_;  // that were done, of each client
  std::unordered_set<std::string> submissions_;              // that were done
};

}  // namespace carillon::sim
