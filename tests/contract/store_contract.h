#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/session_plan.h"
#include "jobtracker/store/store.h"
#include "jobtracker/store/store_session.h"
#include "tests/contract/stored_rows.h"
#include "tests/support/manual_clock.h"

// What every store must do, whatever it is made of. A test program instantiates the suite with its
// own way to make a database.
namespace carillon::jobtracker {

// An empty database, and ways to open it and to trouble it.
class StoreTestDatabase {
 public:
  virtual ~StoreTestDatabase() = default;

  // Another session, beside those before it or in their place. A store that is destroyed ends its
  // session, unless its connection was lost and not opened again.
  virtual Result<std::unique_ptr<Store>> begin(const StoreSession& session, const SessionPlan& plan,
                                               const Clock& clock) = 0;
  // Fences those before it, which stay open.
  Result<std::unique_ptr<Store>> open(const StoreSession& session, const Clock& clock) {
    return begin(session, {}, clock);
  }
  virtual Result<std::unique_ptr<ReadOnlyStore>> open_reader() = 0;

  // As one who shares the database does beside its store.
  virtual Result<bool> raise_heartbeat(SessionId session, bool yields) = 0;
  virtual Result<ClusterView> look(GroupId groups_after) = 0;

  // The next COMMIT, of a batch or of the beginning of a session, is cut off, with its answer or
  // before it is done.
  virtual void cut_next_commit(bool committed) = 0;
  // The connection on which these bytes are sent next, in a transaction, is cut off before they
  // arrive.
  virtual void cut_when_sent(const std::string& bytes) = 0;

  // Whatever it keeps, in the columns of `like`.
  virtual Result<StoredTables> rows(const StoredTables& like) = 0;
};

struct MakeStoreDatabase {
  std::function<Result<std::unique_ptr<StoreTestDatabase>>()> make{};
};
inline void PrintTo(const MakeStoreDatabase&, std::ostream* out) { *out << "database"; }

inline constexpr WallTime kNow{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21}};
inline constexpr Duration kSecond = std::chrono::seconds{1};
inline constexpr auto kDone = OutcomeKind::kDone;
inline constexpr auto kTaken = OutcomeKind::kTaken;

// The job as a row of the delayed table.
inline WaitingJob delayed_one(WaitingJob job) {
  job.delayed = true;
  return job;
}

class StoreContract : public ::testing::TestWithParam<MakeStoreDatabase> {
 protected:
  void SetUp() override;

  // Opens the store with a new session.
  void open_session();

  // The next batch of the session; its number is used up when it was committed.
  CommitResult commit(std::vector<Operation> operations,
                      std::vector<NumberedRequest> requests = {});
  // The same, which must succeed.
  Committed committed(std::vector<Operation> operations,
                      std::vector<NumberedRequest> requests = {});
  std::vector<OutcomeKind> outcomes(std::vector<Operation> operations);
  OutcomeKind outcome(Operation operation) { return outcomes({std::move(operation)}).front(); }

  template <class Answer>
  Answer ask(const Read& question) {
    return ask_of<Answer>(*store_, question);
  }
  template <class Answer, class AnyStore>
  Answer ask_of(AnyStore& store, const Read& question) {
    auto answer = store.read(question);
    if (!answer.ok()) {
      ADD_FAILURE() << answer.error().message;
      return {};
    }
    return std::get<Answer>(std::move(answer).value());
  }

  GroupId make_group(const std::string& name);
  std::vector<WaitingJob> waiting(GroupId group, bool delayed = false);
  std::vector<WaitingJob> delayed() { return waiting({}, true); }
  std::vector<ExecutingJob> executing();
  std::vector<Definition> definitions();
  std::vector<LogEntry> history();
  FindAnswer find(const std::string& task_id);

  // Things of group_ with the next id. Change what a test is about.
  WaitingJob new_job();
  WaitingJob new_keyed_job(const std::string& task_id);
  Definition new_definition(const std::string& task_id);
  WaitingJob new_occurrence(const Definition& definition);
  LogEntry new_log(const WaitingJob& job);
  // Writes log rows, with a change of a definition that means nothing else.
  void write_log(std::vector<LogEntry> entries);
  static ExecutingJob claimed(WaitingJob job);
  // Adds and claims a job.
  ExecutingJob running(const WaitingJob& job);
  // Its end, with which it goes back to wait.
  End end_to_run_again(const ExecutingJob& executing);

  std::unique_ptr<StoreTestDatabase> database_{};
  ManualClock clock_{};
  std::unique_ptr<Store> store_{};
  StoreSession session_{.session = SessionId{100}, .name = "tracker"};
  std::int64_t number_ = 0;  // of the last batch committed
  // As the batches say.
  WallTime now_ = kNow;
  bool recovered_ = true;
  std::int64_t log_settled_ = 0;
  std::int64_t last_id_ = 1000;
  GroupId group_{};
};

// The questions.
class StoreReads : public StoreContract {
 protected:
  // Jobs of group_ with many priorities and equal due times around kNow, some held back, in an
  // order that is none.
  std::vector<WaitingJob> add_many(int count);
  static void sort_by_order(std::vector<WaitingJob>& jobs);
};

}  // namespace carillon::jobtracker
