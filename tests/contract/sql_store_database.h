#pragma once

#include <memory>
#include <string>
#include <utility>

#include "jobtracker/store/sql/session.h"
#include "jobtracker/store/sql/sql_store.h"
#include "tests/contract/store_contract.h"

namespace carillon::jobtracker {

// What is alike in all databases in SQL.
class SqlTestDatabase : public StoreTestDatabase {
 public:
  Result<std::unique_ptr<Store>> begin(const StoreSession& session, const SessionPlan& plan,
                                       const Clock& clock) override {
    const SqlStoreOptions options{.session = session, .name = "test", .plan = plan};
    auto opened = CARILLON_TRY(SqlStore::open([this] { return connect(); }, options, clock, log_));
    return std::move(opened.store);
  }
  Result<bool> raise_heartbeat(SessionId session, bool yields) override {
    return jobtracker::raise_heartbeat(*CARILLON_TRY(beside()), session, yields);
  }
  Result<ClusterView> look(GroupId groups_after) override {
    return read_cluster(*CARILLON_TRY(beside()), groups_after);
  }
  Result<StoredTables> rows(const StoredTables& like) override {
    return rows_in_sql(*CARILLON_TRY(beside()), like);
  }

 protected:
  // One of a store, which can be cut off.
  virtual Result<std::unique_ptr<sql::Connection>> connect() = 0;
  // One that never fails.
  virtual Result<std::unique_ptr<sql::Connection>> connect_beside() = 0;

 private:
  Result<sql::Connection*> beside() {
    if (beside_ == nullptr) beside_ = CARILLON_TRY(connect_beside());
    return beside_.get();
  }

  Logger log_{"store"};
  std::unique_ptr<sql::Connection> beside_{};
};

}  // namespace carillon::jobtracker
