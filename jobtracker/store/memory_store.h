#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/memory_tables.h"
#include "jobtracker/store/store.h"
#include "jobtracker/store/store_session.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

// A fault for the next operation of a memory store.
enum class MemoryFault {
  kUnavailable,       // nothing is done
  kUnknownCommitted,  // the commit succeeds, but the caller gets no answer
  kUnknownLost,       // the commit fails, and the caller gets no answer
};

// The data; it outlives any number of sessions. Thread: one at a time.
class MemoryDatabase {
 public:
  const MemoryTables& tables() const { return tables_; }

  // Like begin_session() of the SQL stores: registers a session, fences others, takes partitions.
  // Errors: kConflict if a silent session has changed. kDenied if the previous session was fenced.
  Result<SessionStart> begin_session(const StoreSession& session, WallTime now,
                                     const SessionPlan& plan);
  // The session has ended: no watching is needed.
  void end_session(SessionId session);
  // `yields`: it is about to give up partitions. False: it was fenced, or has ended.
  bool raise_heartbeat(SessionId session, bool yields);
  // Everything that a job tracker sees of the others; the caller sets the times.
  ClusterView look(GroupId groups_after) const;

  // Applies all operations of a batch or, after an error, none. The caller checks the fence.
  struct Failure {
    Error error{};
    std::optional<std::size_t> culprit{};
  };
  std::variant<Committed, Failure> apply(const Batch& batch);
  // Undoes the last apply(). Once.
  void undo();

  // Numbers and heartbeats of a store connection; null: it was fenced.
  TrackerRow* tracker(const StoreSession& session);

  // `owned`: reads for the loop cover the groups of these partitions.
  Result<ReadAnswer> read(const Read& question, Partitions owned = all_partitions()) const;
  Result<Group> make_group(const std::string& name, WallTime now);
  // Requires: no apply() may be undone.
  Result<Group> split_group(const GroupSplit& split, const Partitions& owned, WallTime now);

  // Gives the database its own clock, ahead of its callers by this time.
  void set_clock_ahead(Duration by) { clock_ahead_ = by; }
  std::optional<Duration> clock_ahead() const { return clock_ahead_; }

 private:
  friend class MemoryBatch;

  MemoryTables tables_{};
  std::optional<Duration> clock_ahead_{};
  std::vector<std::function<void()>> undo_{};  // of the last batch, to be run in reverse order
};

// The store on ordinary containers: for tests of the deciders, for the simulator, and as a readable
// definition of what the SQL stores do. It has the same invariants and outcomes. If an id is used
// twice in any table, it names the operation.
//
// Thread: the owner's. Several may share a database on one thread.
class MemoryStore final : public Store {
 public:
  // Fences all other sessions of the database. Both must outlive the store.
  MemoryStore(MemoryDatabase& database, const StoreSession& session, const Clock& clock);
  // For a session that started beside others.
  MemoryStore(MemoryDatabase& database, const StoreSession& session, const Clock& clock,
              SessionStart start);

  // The next matching call fails like this; several faults queue in order.
  void fail_next(MemoryFault fault) { faults_.push_back(fault); }

  CommitResult commit(const Batch& batch) override;
  Result<bool> settle(std::int64_t batch_number) override;
  Result<ReadAnswer> read(const Read& question) override;

 private:
  bool takes_fault(MemoryFault fault);
  ClockAnswer read_clock() const;

  MemoryDatabase& database_;
  StoreSession session_;
  const Clock& clock_;
  const bool is_shared_;
  const SessionStart start_;
  std::deque<MemoryFault> faults_{};
};

// Thread: as MemoryStore.
class MemoryReader final : public ReadOnlyStore {
 public:
  explicit MemoryReader(const MemoryDatabase& database) : database_(database) {}
  Result<ReadAnswer> read(const Read& question) override;

 private:
  const MemoryDatabase& database_;
};

}  // namespace carillon::jobtracker
