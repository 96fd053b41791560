#pragma once

#include <memory>
#include <string>

#include "jobtracker/store/sql/sql_store.h"

namespace carillon::sql {
class SqliteConnection;
}

namespace carillon::jobtracker {

// Opens the store in an SQLite file, made if it is not there, and locks it against other processes
// (PATH.lock) as long as the store lives.
//
// kConflict: another process has it. kInvalidArgument: no such folder, or a newer schema. kDenied:
// no right to write there. kCorrupt: the file is no database. `clock` and `log` outlive the store.
Result<OpenedStore> open_sqlite_store(const std::string& path, const StoreSession& session,
                                      const DescribeSpec& describe, const Clock& clock,
                                      const Logger& log);

// For a query thread. The file is opened by the first question; it must exist by then.
std::unique_ptr<ReadOnlyStore> open_sqlite_reader(const std::string& path);

// Copies the write-ahead log into the database file, so that no COMMIT has to. Call run_once()
// every kPeriod.
// Thread: one of its own, for it waits for the disk.
class SqliteCheckpointer {
 public:
  // Longer: more is flushed at a time, and commits wait for the disk meanwhile; shorter: pages that
  // change often are written more often.
  static constexpr Duration kPeriod = std::chrono::milliseconds{250};

  static Result<std::unique_ptr<SqliteCheckpointer>> open(const std::string& path);
  ~SqliteCheckpointer();
  SqliteCheckpointer(const SqliteCheckpointer&) = delete;
  SqliteCheckpointer& operator=(const SqliteCheckpointer&) = delete;

  // kUnavailable: try again later; the log grows until then.
  Status run_once();

 private:
  explicit SqliteCheckpointer(std::unique_ptr<sql::SqliteConnection> connection);

  std::unique_ptr<sql::SqliteConnection> connection_;
};

}  // namespace carillon::jobtracker
