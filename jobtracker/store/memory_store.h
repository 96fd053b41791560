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

// What a memory store does instead of the next thing asked of it.
enum class MemoryFault {
  kUnavailable,       // nothing is done
  kUnknownCommitted,  // a commit is done, but its caller gets no answer
  kUnknownLost,       // a commit is not done, and its caller gets no answer
};

// What is stored: lives as long as the "database" shall, over any number of sessions.
// Thread: one at a time.
class MemoryDatabase {
 public:
  const MemoryTables& tables() const { return tables_; }

  // As begin_session() of the SQL stores: registers a session, fences, takes partitions.
  // kConflict: one of the silent is not as it was watched. kDenied: the session before was fenced.
  Result<SessionStart> begin_session(const StoreSession& session, WallTime now,
                                     const SessionPlan& plan);
  // It says that it has ended: nobody need watch it.
  void end_session(SessionId session);
  // `yields`: it is about to let go of partitions. False: it was fenced, or has ended.
  bool raise_beat(SessionId session, bool yields);
  // All that one who shares the database sees of the others; the times are his to note.
  ClusterView look(GroupId groups_after) const;

  // All operations of a batch or, with an error, none. The fence is the caller's.
  struct Failure {
    Error error{};
    std::optional<std::size_t> culprit{};
  };
  std::variant<Committed, Failure> apply(const Batch& batch);
  // Takes back the apply() before. Once.
  void undo();

  // Numbers and beats of a lane; null when it was fenced.
  TrackerRow* tracker(const StoreSession& session);

  // `owned`: what is read for the loop is of the groups of these partitions.
  Result<ReadAnswer> read(const Read& question, Partitions owned = all_partitions()) const;
  Result<Group> make_group(const std::string& name, WallTime now);
  // Not while an apply() may be taken back.
  Result<Group> split_group(const GroupSplit& split, const Partitions& owned, WallTime now);

  // It has a clock of its own from now on, by so much ahead of those who ask.
  void set_clock_ahead(Duration by) { clock_ahead_ = by; }
  std::optional<Duration> clock_ahead() const { return clock_ahead_; }

 private:
  friend class MemoryBatch;

  MemoryTables tables_{};
  std::optional<Duration> clock_ahead_{};
  std::vector<std::function<void()>> undo_{};  // of the last batch, to be run from the back
};

// The store over ordinary containers: for tests of the deciders, for the simulator, and as the
// plain statement of what the SQL stores do. It keeps the same invariants and gives the same
// outcomes; where an id is used twice in any table, it names the operation.
//
// Thread: the owner's; several may share a database on one thread.
class MemoryStore final : public Store {
 public:
  // Fences all other sessions of the database. Both must outlive the store.
  MemoryStore(MemoryDatabase& database, const StoreSession& session, const Clock& clock);
  // Of a session that has begun beside others.
  MemoryStore(MemoryDatabase& database, const StoreSession& session, const Clock& clock,
              SessionStart start);

  // The next call that it fits does this instead; several wait in order.
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
