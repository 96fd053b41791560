#pragma once

#include <memory>
#include <string>
#include <utility>

#include "jobtracker/store/sql/sql_store.h"
#include "shared/sql/mysql/mysql_url.h"

namespace carillon::jobtracker {

// As which job tracker the store is opened, among others that work on it.
struct Joining {
  std::string address{};        // where others reach it
  Duration silence = kSilence;  // of others, after which it takes them for dead
  SessionId before{};           // its own session before; 0: the process has just started
  // Only with a session before. A new process takes what nobody owns.
  Partitions wanted = all_partitions();
  std::vector<SessionBeat> silent{};  // to be fenced
};

// To open the store with, made ahead: that takes longer than the rest.
struct MysqlConnections {
  std::unique_ptr<sql::Connection> watcher{};
  std::unique_ptr<sql::Connection> lane{};
};

// As open_mysql_store().
Result<MysqlConnections> connect_mysql_store(const std::string& url, const StoreSession& session);

// Opens the store in a MariaDB or MySQL database, "mysql://user:password@host:port/database"; its
// tables are made if they are not there. Other job trackers may work on it; their partitions are
// theirs. But while the tables are of an older version, this one stands by until all of them have
// ended or are silent.
//
// kConflict: `stand_by` ended the wait. kUnavailable: the server does not answer. kDenied: wrong
// user or password. kInvalidArgument: a wrong URL, no such database, or a newer schema.
// `connections`: of that session, or none. `clock` and `log` must outlive the store.
Result<OpenedStore> open_mysql_store(MysqlConnections connections, const std::string& url,
                                     const StoreSession& session, const DescribeSpec& describe,
                                     const Joining& joining, const StandBy& stand_by,
                                     const Clock& clock, const Logger& log);

// The beat of a session that has opened the store, and its look at the others.
// Thread: one of its own.
class MysqlBeat {
 public:
  // Connects when it is raised first, and again after the connection was lost.
  static Result<std::unique_ptr<MysqlBeat>> open(const std::string& url, SessionId session);

  // Each kBeat; `yields`: it is about to let go of partitions. kDenied: the session was fenced, or
  // has ended.
  Status run_once(bool yields);
  // At the others, with the groups of higher numbers.
  Result<ClusterView> look(const Clock& clock, GroupId groups_after);

 private:
  MysqlBeat(sql::MysqlUrl url, SessionId session) : url_(std::move(url)), session_(session) {}

  Result<sql::Connection*> connected();

  const sql::MysqlUrl url_;
  const SessionId session_;
  std::unique_ptr<sql::Connection> connection_{};
};

// For a query thread. The connection is opened by the first question.
Result<std::unique_ptr<ReadOnlyStore>> open_mysql_reader(const std::string& url);

}  // namespace carillon::jobtracker
