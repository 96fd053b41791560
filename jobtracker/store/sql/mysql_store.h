#pragma once

#include <memory>
#include <string>
#include <utility>

#include "jobtracker/store/sql/sql_store.h"
#include "shared/sql/mysql/mysql_url.h"

namespace carillon::jobtracker {

// Opens the store in a MariaDB or MySQL database, "mysql://user:password@host:port/database"; its
// tables are made if they are not there. One job tracker works on it at a time: while another one
// does, this one stands by, and it takes over when that one has ended or is silent.
//
// kConflict: `stand_by` ended the wait. kUnavailable: the server does not answer. kDenied: wrong
// user or password. kInvalidArgument: a wrong URL, no such database, or a newer schema.
// `clock` and `log` must outlive the store.
Result<OpenedStore> open_mysql_store(const std::string& url, const StoreSession& session,
                                     const DescribeSpec& describe, const StandBy& stand_by,
                                     const Clock& clock, const Logger& log);

// The beat of a session that has opened the store.
// Thread: one of its own.
class MysqlBeat {
 public:
  // Connects when it is raised first, and again after the connection was lost.
  static Result<std::unique_ptr<MysqlBeat>> open(const std::string& url, SessionId session);

  // Each kBeat. kDenied: the session was fenced, or has ended.
  Status run_once();

 private:
  MysqlBeat(sql::MysqlUrl url, SessionId session) : url_(std::move(url)), session_(session) {}

  const sql::MysqlUrl url_;
  const SessionId session_;
  std::unique_ptr<sql::Connection> connection_{};
};

// For a query thread. The connection is opened by the first question.
Result<std::unique_ptr<ReadOnlyStore>> open_mysql_reader(const std::string& url);

}  // namespace carillon::jobtracker
