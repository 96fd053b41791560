#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobtracker/store/sql/group_catalog.h"
#include "jobtracker/store/sql/row_buffer.h"
#include "jobtracker/store/sql/session.h"
#include "jobtracker/store/store.h"
#include "jobtracker/store/store_session.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// Opens a connection to the store's database; called again after a lost connection.
using Connect = std::function<Result<std::unique_ptr<sql::Connection>>()>;

// An opened store and data about it.
struct OpenedStore {
  std::unique_ptr<Store> store{};
  bool newly_made = false;
  std::string place{};  // absolute URL without the password
  SteadyTime proven{};  // when the start of the session was requested
};

struct SqlStoreOptions {
  StoreSession session{};
  std::string name{};       // of the store, for messages: no password
  DescribeSpec describe{};  // fills schedule and tz of the definition tables; empty: they stay ''
  SessionPlan plan{};
  Connect connect_to_migrate{};  // allows statements of hours; empty: the same connection
};

// The store in SQL, with the same statements for both databases. A commit is one transaction: the
// fence, numbered requests, operations by kind, answers, COMMIT.
//
// A lost connection is closed, and the next call opens another. If the connection broke during
// COMMIT, settle() finds out on a new one whether the batch was committed.
//
// Thread: one store thread.
class SqlStore final : public Store {
 public:
  // Migrates the schema and starts the session as planned. Error: kConflict if a session to fence
  // is alive, or if an older schema must be migrated while another job tracker is alive. `clock`
  // and `log` must outlive the store.
  static Result<OpenedStore> open(Connect connect, const SqlStoreOptions& options,
                                  const Clock& clock, const Logger& log);
  // Records the end of the session if possible; otherwise the next one waits for its silence.
  ~SqlStore() override;
  SqlStore(const SqlStore&) = delete;
  SqlStore& operator=(const SqlStore&) = delete;

  CommitResult commit(const Batch& batch) override;
  Result<bool> settle(std::int64_t batch_number) override;
  Result<ReadAnswer> read(const Read& question) override;

 private:
  SqlStore(Connect connect, const SqlStoreOptions& options, const Clock& clock, const Logger& log,
           std::unique_ptr<sql::Connection> connection, const SessionStart& start);

  // The connection, opened if necessary.
  Result<sql::Connection*> connected();
  // Closes a connection after an error that makes it unusable.
  void note(const Error& error);
  Result<Committed> write(sql::Connection& db, const Batch& batch, RolledBack& details);
  Result<ReadAnswer> answer(const Read& question);
  Result<ClockAnswer> read_clock(sql::Connection& db);

  Connect connect_;
  SqlStoreOptions options_;
  const Clock& clock_;
  const Logger& log_;
  std::unique_ptr<sql::Connection> connection_;  // null: lost
  SessionStart start_;
  GroupCatalog groups_{};
  WaitingGroups waiting_groups_;
  RowBuffer rows_{};
  int splits_lost_ = 0;  // consecutive splits with lost connections
};

// A read-only connection for queries; reopened after a loss. Thread: one query thread.
class SqlReader final : public ReadOnlyStore {
 public:
  explicit SqlReader(Connect connect) : connect_(std::move(connect)) {}
  Result<ReadAnswer> read(const Read& question) override;

 private:
  Connect connect_;
  std::unique_ptr<sql::Connection> connection_{};  // null: not opened yet, or lost
  GroupCatalog groups_{};
};

}  // namespace carillon::jobtracker
