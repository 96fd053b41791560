#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "shared/sql/sql_connection.h"
#include "shared/sql/statement_cache.h"

struct sqlite3;

namespace carillon::sql {

struct SqliteOptions {
  bool create = true;      // make the file if there is none
  bool read_only = false;  // for queries: every write is refused; the file must exist

  // How long a statement waits for another connection's write. Longer: fewer conflicts; shorter:
  // the thread is free sooner.
  std::chrono::milliseconds busy_timeout{5000};

  // The log's length, in pages of 4 KiB, after which a COMMIT also checkpoints. 0: only
  // checkpoint() does, which keeps COMMIT from stalling but lets the log grow until it is called.
  int checkpoint_pages = 1000;

  int cache_mib = 32;  // pages kept by this connection; more: fewer reads
  int mmap_mib = 128;  // part of the file read without copying, and then in memory; 0: none
};

enum class CheckpointKind {
  kPassive,  // copies what it can while others read and write, and waits for nobody
  kRestart,  // holds up writers until all is copied, and has the next one begin the log anew
};

// What a checkpoint found. The log is reused from its start once all of it was copied.
struct Checkpoint {
  std::int64_t log_pages = 0;
  std::int64_t copied_pages = 0;
  bool busy = false;  // another connection was in the way: some pages are left
};

// A connection to an SQLite file: write-ahead log, synchronous=FULL (a commit survives a power
// failure), one writer and any number of readers at a time. begin() takes the write lock at once,
// so a transaction meets its conflict there; on a read-only connection it takes none.
//
// Failures: as Connection says. An input/output error inside COMMIT is kTimeout, because its pages
// may be found in the log after a crash; a full disk is kLimit and nothing was committed.
//
// Thread: one at a time. Checkpoints are best called on a connection and a thread of their own.
class SqliteConnection final : public Connection {
 public:
  // kInvalidArgument without folder or file, kDenied without the right, kCorrupt for a file that is
  // no database, kUnavailable while another process holds it.
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path,
                                                        const SqliteOptions& options);
  ~SqliteConnection() override;
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  Dialect dialect() const override { return Dialect::kSqlite; }
  Status begin() override;
  Status commit() override;
  Status rollback() override;
  Result<std::int64_t> execute(std::string_view sql, std::span<const Value> parameters) override;
  Status query(std::string_view sql, std::span<const Value> parameters,
               const std::function<void(const Row&)>& on_row) override;
  Status insert_rows(std::string_view head, int columns, std::span<const Value> values) override;
  Result<std::vector<bool>> delete_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const Value> keys) override;
  Result<std::vector<bool>> update_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const std::string_view> set_columns,
                                        std::span<const Value> values) override;
  Status run_script(std::string_view script) override;

  // Copies pages from the log into the file. Requires: no transaction.
  Result<Checkpoint> checkpoint(CheckpointKind kind);
  // Has what checkpoints copied written to the disk now. A checkpoint does so itself only when it
  // has copied everything, and then for all that was copied since.
  Status sync_database();

 private:
  class Statement;

  SqliteConnection(sqlite3* database, std::string path, const SqliteOptions& options);

  Status configure();
  Status check_usable() const;
  Result<Statement*> prepare(std::string_view sql, std::size_t parameters);
  // Runs a statement to its end, whatever rows it yields; the number of rows it changed.
  Result<std::int64_t> run(Statement& statement, std::span<const Value> parameters);
  Result<std::int64_t> run_text(std::string_view sql, std::span<const Value> parameters);
  Status run_plain(const char* sql);
  Result<std::vector<bool>> run_for_each(const std::string& sql, std::size_t width,
                                         std::span<const Value> values);
  // Inside the caller's transaction, or inside one of its own.
  template <class Work>
  Status atomically(const Work& work);
  // Both end the transaction: what SQLite said, and what it did not notice.
  Error failure(int code, std::string_view sql);
  Error refusal(const std::string& reason, std::string_view sql);
  void give_up_transaction();

  sqlite3* database_;
  std::string path_;
  SqliteOptions options_;
  StatementCache<Statement> statements_;
  bool in_transaction_ = false;
  bool commits_ = false;  // the statement under way ends a transaction, or is one by itself
  bool broken_ = false;   // an input/output error: only a new connection may go on
};

}  // namespace carillon::sql
