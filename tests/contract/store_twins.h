#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/contract/distribution.h"
#include "tests/contract/memory_store_database.h"

namespace carillon::jobtracker {

// What becomes of a commit.
enum class Cut { kNone, kAnswerLost, kNeverArrived, kConnectionLost };

// A database in memory and one in SQL, to which the same is done: whatever comes out must be the
// same, and what they keep.
class Twins {
 public:
  // A session on both.
  struct Session {
    StoreSession as{};
    std::int64_t number = 0;  // of the last batch committed
    Partitions owned{};
    std::unique_ptr<Store> memory{};
    std::unique_ptr<Store> sql{};
  };

  // All must outlive it.
  Twins(MemoryTestDatabase& memory, StoreTestDatabase& sql, Distribution& distribution)
      : memory_(memory), sql_(sql), distribution_(distribution) {}

  void set_time(WallTime now) { clock_.set_wall(now); }
  WallTime now() const { return clock_.wall_now(); }
  const MemoryTables& tables() const { return memory_.tables(); }

  // Null: it was refused.
  Session* begin(const StoreSession& as, const SessionPlan& plan);
  // The answer is lost, it may have been done. Requires: it would not be refused.
  void begin_in_vain(const StoreSession& as, const SessionPlan& plan, bool committed);
  // That are open: those who work, and those that were fenced and do not know it.
  const std::vector<std::unique_ptr<Session>>& sessions() const { return sessions_; }
  bool is_fenced(const Session& session) const;
  // As a process that stops does.
  void end(const Session& session);

  // Whatever is lost is settled, and committed again if it was not; `dies`: or the process is dead
  // before that, and so is the session. Says what was committed by one that lives; none: nothing.
  std::optional<Committed> commit(Session& session, Batch batch, Cut cut, bool dies);
  // They must refuse it, and go on as if it had never been: because of what is in it, of its number
  // or because the session was fenced.
  void refuse_invalid(Session& session, Batch batch);
  void refuse_number(Session& session, Batch batch, std::int64_t off);
  void refuse_fenced(Session& session, Batch batch);
  std::optional<bool> settle(Session& session, std::int64_t number);

  void raise_heartbeat(SessionId session, bool yields);
  ClusterView look(GroupId groups_after);

  // What both say to that, that of the memory first; null: to one who only reads.
  std::pair<Result<ReadAnswer>, Result<ReadAnswer>> read(Session* who, const Read& question);
  template <class Answer>
  std::pair<Answer, Answer> ask(Session* who, const Read& question) {
    auto [answer, other] = read(who, question);
    if (!answer.ok() || !other.ok()) {
      report_error(answer.ok() ? other.error() : answer.error());
      return {};
    }
    return {std::get<Answer>(std::move(answer).value()),
            std::get<Answer>(std::move(other).value())};
  }
  // The rows of both answers must be the same; if not, only `what` is said.
  template <class Answer, class... Rows>
  void compare(Session* who, const Read& question, const std::string& what,
               Rows Answer::*... rows) {
    const auto [answer, other] = ask<Answer>(who, question);
    expect(((answer.*rows == other.*rows) && ...), what);
  }
  // What a job tracker reads when it begins.
  StartAnswer compare_start(Session* who);
  void compare_rows();

 private:
  CommitResult commit_both(Session& session, const Batch& batch);
  static void expect(bool holds, const std::string& what);
  static void report_error(const Error& error);
  void forget(const Session& session);

  MemoryTestDatabase& memory_;
  StoreTestDatabase& sql_;
  Distribution& distribution_;
  ManualClock clock_{};
  std::vector<std::unique_ptr<Session>> sessions_{};
  std::unique_ptr<ReadOnlyStore> memory_reader_{};
  std::unique_ptr<ReadOnlyStore> sql_reader_{};
  int cuts_ = 0;
};

}  // namespace carillon::jobtracker
