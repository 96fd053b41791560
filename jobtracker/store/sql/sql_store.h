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

// Opens a new connection to the store's database; called again after one was lost.
using Connect = std::function<Result<std::unique_ptr<sql::Connection>>()>;

// A store that was opened, and what there is to say about it.
struct OpenedStore {
  std::unique_ptr<Store> store{};
  bool newly_made = false;
  std::string place{};  // its URL, absolute and without password
  SteadyTime proven{};  // when it was asked to begin the session
};

struct SqlStoreOptions {
  StoreSession session{};
  std::string name{};       // of the store, for messages: no password
  DescribeSpec describe{};  // fills schedule and tz of the definition tables; empty: they stay ''
  SessionPlan plan{};
  Connect connect_to_migrate{};  // a statement may take hours there; empty: the same connection
};

// The store in SQL, the same statements for both databases. Every commit is one transaction: the
// fence, numbered requests, operations kind by kind, answers, COMMIT.
//
// Failures: a lost connection is dropped, and the next call opens another; whether a batch was
// committed that broke inside COMMIT, settle() asks on a new one.
//
// Thread: one store thread.
class SqlStore final : public Store {
 public:
  // Migrates the schema and begins the session as planned.
  // kConflict: one that is to be fenced works after all; or an older schema is to be migrated, and
  // somebody lives. `clock` and `log` must outlive the store.
  static Result<OpenedStore> open(Connect connect, const SqlStoreOptions& options,
                                  const Clock& clock, const Logger& log);
  // Says that the session ended, if that is possible now; if not, the next one watches it.
  ~SqlStore() override;
  SqlStore(const SqlStore&) = delete;
  SqlStore& operator=(const SqlStore&) = delete;

  CommitResult commit(const Batch& batch) override;
  Result<bool> settle(std::int64_t batch_number) override;
  Result<ReadAnswer> read(const Read& question) override;

 private:
  SqlStore(Connect connect, const SqlStoreOptions& options, const Clock& clock, const Logger& log,
           std::unique_ptr<sql::Connection> connection, const SessionStart& start);

  // A connection, opened if there is none.
  Result<sql::Connection*> connected();
  // Drops a connection that can no longer be used.
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
  int splits_lost_ = 0;  // with their connections
};

// A read-only connection and its questions; opened again when it is lost.
// Thread: one query thread.
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
