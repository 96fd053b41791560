#pragma once

#include <memory>
#include <string>
#include <utility>

#include "jobtracker/store/sql/sql_store.h"
#include "shared/sql/mysql/mysql_url.h"

namespace carillon::jobtracker {

// How a job tracker opens a shared store.
struct Joining {
  std::string address{};        // address for other job trackers
  Duration silence = kSilence;  // after which other job trackers count as dead
  SessionId before{};  // the previous session of the process; 0: the process has just started
  // Only with a previous session. A new process takes free partitions.
  Partitions wanted = all_partitions();
  std::vector<SessionHeartbeat> silent{};  // to fence
};

// Connections for opening a store, made in advance because that is slow.
struct MysqlConnections {
  std::unique_ptr<sql::Connection> watcher{};
  std::unique_ptr<sql::Connection> connection{};
};

// See open_mysql_store().
Result<MysqlConnections> connect_mysql_store(const std::string& url, const StoreSession& session);

// Opens the store in a MariaDB or MySQL database, "mysql://user:password@host:port/database";
// creates missing tables. Other job trackers may use it and keep their partitions. While the tables
// have an older version, this one stands by until all others have ended or are silent.
//
// Errors: kConflict if `stand_by` ended the wait. kUnavailable if the server does not answer.
// kDenied for a wrong user or password. kInvalidArgument for a wrong URL, a missing database, or a
// newer schema. `connections`: of that session, or none. `clock` and `log` must outlive the store.
Result<OpenedStore> open_mysql_store(MysqlConnections connections, const std::string& url,
                                     const StoreSession& session, const DescribeSpec& describe,
                                     const Joining& joining, const StandBy& stand_by,
                                     const Clock& clock, const Logger& log);

// The heartbeat of a session, and its look at the others. Thread: its own.
class MysqlHeartbeat {
 public:
  // Connects at the first heartbeat, and again after a lost connection.
  static Result<std::unique_ptr<MysqlHeartbeat>> open(const std::string& url, SessionId session);

  // Call every kHeartbeat. `yields`: it is about to give up partitions. Error: kDenied if the
  // session was fenced or has ended.
  Status run_once(bool yields);
  // State of the others, and groups with higher numbers.
  Result<ClusterView> look(const Clock& clock, GroupId groups_after);

 private:
  MysqlHeartbeat(sql::MysqlUrl url, SessionId session) : url_(std::move(url)), session_(session) {}

  Result<sql::Connection*> connected();

  const sql::MysqlUrl url_;
  const SessionId session_;
  std::unique_ptr<sql::Connection> connection_{};
};

// For a query thread. Connects at the first query.
Result<std::unique_ptr<ReadOnlyStore>> open_mysql_reader(const std::string& url);

}  // namespace carillon::jobtracker
