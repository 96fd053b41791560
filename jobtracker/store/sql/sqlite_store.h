#pragma once

#include <memory>
#include <string>

#include "jobtracker/store/sql/sql_store.h"

namespace carillon::sql {
class SqliteConnection;
}

namespace carillon::jobtracker {

// Opens the store in an SQLite file, which is created if necessary, and locks it against other
// processes (PATH.lock) while the store exists.
//
// Errors: kConflict if another process uses it. kInvalidArgument for a missing folder or a newer
// schema. kDenied without write permission. kCorrupt if the file is not a database. `clock` and
// `log` must outlive the store.
Result<OpenedStore> open_sqlite_store(const std::string& path, const StoreSession& session,
                                      const DescribeSpec& describe, const Clock& clock,
                                      const Logger& log);

// For a query thread. Opens the file at the first query; it must exist by then.
std::unique_ptr<ReadOnlyStore> open_sqlite_reader(const std::string& path);

// Copies the write-ahead log into the database file, so that no COMMIT has to do it. Call
// run_once() every kPeriod. Thread: its own, because it waits for the disk.
class SqliteCheckpointer {
 public:
  // Longer: more is flushed at once while commits wait for the disk. Shorter: frequently changed
  // pages are written more often.
  static constexpr Duration kPeriod = std::chrono::milliseconds{250};

  static Result<std::unique_ptr<SqliteCheckpointer>> open(const std::string& path);
  ~SqliteCheckpointer();
  SqliteCheckpointer(const SqliteCheckpointer&) = delete;
  SqliteCheckpointer& operator=(const SqliteCheckpointer&) = delete;

  // Error: kUnavailable, try again later; the log grows until then.
  Status run_once();

 private:
  explicit SqliteCheckpointer(std::unique_ptr<sql::SqliteConnection> connection);

  std::unique_ptr<sql::SqliteConnection> connection_;
};

}  // namespace carillon::jobtracker
