#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "shared/sql/sql_connection.h"
#include "shared/sql/statement_cache.h"

struct sqlite3;

namespace carillon::sql {

struct SqliteOptions {
  bool create = true;      // creates a missing file
  bool read_only = false;  // for queries: writes fail; the file must exist

  // Longest wait of a statement for another connection's write. Longer: fewer conflicts; shorter:
  // the thread is free sooner.
  std::chrono::milliseconds busy_timeout{5000};

  // Length of the log, in pages of 4 KiB, after which a COMMIT also checkpoints. 0: only
  // checkpoint() does; COMMIT then never stalls for it, but the log grows until the call.
  int checkpoint_pages = 1000;

  int cache_mib = 32;  // page cache of this connection; more: fewer reads
  int mmap_mib = 128;  // memory-mapped part of the file; 0: none
};

enum class CheckpointKind {
  kPassive,  // copies what is possible during other reads and writes, and never waits
  kRestart,  // blocks writers until all pages are copied, and restarts the log
};

// The result of a checkpoint. The log is reused from its start after all of it was copied.
struct Checkpoint {
  std::int64_t log_pages = 0;
  std::int64_t copied_pages = 0;
  bool busy = false;  // another connection was in the way: some pages are left
};

// A connection to an SQLite file: write-ahead log, synchronous=FULL (a commit survives a power
// failure), one writer and any number of readers at a time. begin() takes the write lock, so a
// transaction meets conflicts there; on a read-only connection it takes none.
//
// Errors: see Connection. An input/output error during COMMIT is kTimeout, because its pages may be
// in the log after a crash. A full disk is kLimit, and nothing was committed.
//
// Thread: one at a time. Call checkpoints on a separate connection and thread.
class SqliteConnection final : public Connection {
 public:
  // Errors: kInvalidArgument for a missing folder or file, kDenied for missing rights, kCorrupt for
  // a file that is not a database, kUnavailable while another process locks it.
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
  // Flushes checkpointed pages to disk now. A checkpoint flushes only when it has copied
  // everything, and then everything since the last flush.
  Status sync_database();

 private:
  class Statement;

  SqliteConnection(sqlite3* database, std::string path, const SqliteOptions& options);

  Status configure();
  Status check_usable() const;
  Result<Statement*> prepare(std::string_view sql, std::size_t parameters);
  // Runs a statement to its end, ignoring its rows. Returns the number of changed rows.
  Result<std::int64_t> run(Statement& statement, std::span<const Value> parameters);
  Result<std::int64_t> run_text(std::string_view sql, std::span<const Value> parameters);
  Status run_plain(const char* sql);
  Result<std::vector<bool>> run_for_each(const std::string& sql, std::size_t width,
                                         std::span<const Value> values);
  // Runs within the caller's transaction, or in its own.
  template <class Work>
  Status atomically(const Work& work);
  // Both end the transaction: an error of SQLite, and an error that SQLite did not detect.
  Error failure(int code, std::string_view sql);
  Error refusal(const std::string& reason, std::string_view sql);
  void give_up_transaction();

  sqlite3* database_;
  std::string path_;
  SqliteOptions options_;
  StatementCache<Statement> statements_;
  bool in_transaction_ = false;
  bool commits_ = false;  // the current statement ends a transaction, or commits by itself
  bool broken_ = false;   // an input/output error: open a new connection
};

}  // namespace carillon::sql
