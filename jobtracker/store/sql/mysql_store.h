#pragma once

#include <memory>
#include <string>

#include "jobtracker/store/sql/sql_store.h"

namespace carillon::jobtracker {

// Opens the store in a MariaDB or MySQL database, "mysql://user:password@host:port/database"; its
// tables are made if they are not there. Only one job tracker at a time: the beats of sessions that
// did not end cleanly are watched for about two seconds.
//
// kConflict: another job tracker works on it. kUnavailable: the server does not answer. kDenied:
// wrong user or password. kInvalidArgument: a wrong URL, no such database, or a newer schema.
// `clock` and `log` must outlive the store.
Result<OpenedStore> open_mysql_store(const std::string& url, const StoreSession& session,
                                     const DescribeSpec& describe, const Clock& clock,
                                     const Logger& log);

// For a query thread. The connection is opened by the first question.
Result<std::unique_ptr<ReadOnlyStore>> open_mysql_reader(const std::string& url);

}  // namespace carillon::jobtracker
