#include "shared/sql/sqlite/sqlite_connection.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <sqlite3.h>

#include "shared/base/assert.h"
#include "shared/sql/sql_text.h"
#include "shared/sql/sqlite/sqlite_error.h"

namespace carillon::sql {
namespace {

constexpr std::size_t kStatementsMax = 500;
constexpr std::size_t kStatementBytesMax = 1 << 20;
constexpr std::int64_t kLogBytesKept = 64 << 20;  // a longer log is truncated when it is reused

// Sleep between two tries for a lock that another connection holds. SQLite's own delays grow up to
// 100 ms. That is too long for a commit that waits for a checkpoint's last pages, and for a
// checkpoint that waits for a moment between two commits.
constexpr std::chrono::microseconds kLockedPause{250};

int wait_for_lock(void* longest, int pauses) {
  const auto waited = pauses * kLockedPause;
  if (waited >= *static_cast<const std::chrono::milliseconds*>(longest)) return 0;
  sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  system->xSleep(system, static_cast<int>(kLockedPause.count()));
  return 1;
}

class SqliteRow final : public Row {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  bool is_null(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  std::int64_t integer(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  std::string_view bytes(int column) const override {
    // The pointer first: reading it may convert the value, which changes its length.
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return data == nullptr ? std::string_view{} : std::string_view{data, length};
  }

 private:
  sqlite3_stmt* statement_;
};

int bind_one(sqlite3_stmt* statement, int index, const Value& value) {
  // A null pointer would bind NULL, but an empty text is not null.
  const char* data = value.text.empty() ? "" : value.text.data();
  switch (value.kind) {
    case Value::Kind::kNull:
      return sqlite3_bind_null(statement, index);
    case Value::Kind::kInteger:
      return sqlite3_bind_int64(statement, index, value.integer);
    case Value::Kind::kReal:
      return sqlite3_bind_double(statement, index, value.real);
    case Value::Kind::kText:
      return sqlite3_bind_text64(statement, index, data, value.text.size(), SQLITE_STATIC,
                                 SQLITE_UTF8);
    case Value::Kind::kBytes:
      return sqlite3_bind_blob64(statement, index, data, value.text.size(), SQLITE_STATIC);
  }
  return SQLITE_MISUSE;
}

// "a = ?1 AND b = ?2", numbered from `before` + 1.
std::string equals(std::span<const std::string_view> columns, std::string_view between,
                   std::size_t before = 0) {
  std::string text;
  for (const std::string_view column : columns) {
    if (!text.empty()) text += between;
    text += std::string{column} + " = ?" + std::to_string(++before);
  }
  return text;
}

}  // namespace

// A prepared statement; finalized with its owner.
class SqliteConnection::Statement {
 public:
  Statement(sqlite3_stmt* prepared, std::string_view text) : handle(prepared), sql(text) {}
  ~Statement() { sqlite3_finalize(handle); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Prepares for the next run; also releases the caller's texts.
  void reset() const {
    sqlite3_reset(handle);
    sqlite3_clear_bindings(handle);
  }

  int bind(std::span<const Value> parameters) const {
    int index = 0;
    for (const auto& value : parameters) {
      if (const int code = bind_one(handle, ++index, value); code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
  }

  sqlite3_stmt* handle;
  std::string sql;
};

SqliteConnection::SqliteConnection(sqlite3* database, std::string path,
                                   const SqliteOptions& options)
    : database_(database),
      path_(std::move(path)),
      options_(options),
      statements_(kStatementsMax, kStatementBytesMax) {}

SqliteConnection::~SqliteConnection() {
  statements_.clear();
  sqlite3_close_v2(database_);
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path,
                                                                 const SqliteOptions& options) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (options.create && !options.read_only) flags |= SQLITE_OPEN_CREATE;
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  if (database == nullptr) {
    return Error{ErrorCode::kLimit, "sqlite " + path + ": out of memory"};
  }
  std::unique_ptr<SqliteConnection> connection{new SqliteConnection{database, path, options}};
  if (code != SQLITE_OK) return connection->failure(code, "");
  if (auto status = connection->configure(); !status.ok()) {
    auto error = std::move(status).error();
    // Nothing is in progress that could be repeated: while opening, a lock means unavailable.
    if (error.code == ErrorCode::kConflict) error.code = ErrorCode::kUnavailable;
    return error;
  }
  return connection;
}

Status SqliteConnection::configure() {
  sqlite3_busy_handler(database_, wait_for_lock, &options_.busy_timeout);
  // "..." is always a name and never a text, as in MySQL.
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);

  const auto set = [&](std::string_view pragma, std::int64_t value) {
    return run_plain(("PRAGMA " + std::string{pragma} + " = " + std::to_string(value)).c_str());
  };
  CARILLON_TRY(set("cache_size", std::int64_t{-1024} * options_.cache_mib));
  CARILLON_TRY(set("mmap_size", std::int64_t{1} * options_.mmap_mib << 20));
  CARILLON_TRY(run_plain("PRAGMA temp_store = MEMORY"));
  if (options_.read_only) {
    // The first page shows whether the file is a database.
    CARILLON_TRY(run_plain("SELECT COUNT(*) FROM sqlite_master"));
    return set("query_only", 1);
  }
  std::string mode;
  CARILLON_TRY(query("PRAGMA journal_mode = WAL", {},
                     [&](const Row& row) { mode = std::string{row.bytes(0)}; }));
  if (mode != "wal" && mode != "memory") {
    return Error{ErrorCode::kInvalidArgument,
                 "sqlite " + path_ +
                     ": the file system does not support a write-ahead log (mode is " + mode +
                     "), use a local disk"};
  }
  CARILLON_TRY(run_plain("PRAGMA synchronous = FULL"));
  CARILLON_TRY(set("wal_autocheckpoint", options_.checkpoint_pages));
  return set("journal_size_limit", kLogBytesKept);
}

Error SqliteConnection::failure(int code, std::string_view sql) {
  // SQLite does not keep the errno of a failed COMMIT, so it is read before anything else runs.
  const int last_errno = errno;
  const int base_code = code & 0xff;
  int system_error = 0;
  if (base_code == SQLITE_IOERR) system_error = last_errno;
  if (base_code == SQLITE_CANTOPEN) system_error = sqlite3_system_errno(database_);
  const auto found = sqlite_failure(code, system_error);
  std::string text = "sqlite " + path_ + ": " + sqlite3_errmsg(database_);
  if (system_error != 0) text += std::string{" ("} + std::strerror(system_error) + ")";
  if (options_.read_only && base_code == SQLITE_READONLY) {
    text += ": this connection is for queries only";
  } else if (*found.advice != '\0') {
    text += std::string{": "} + found.advice;
  }
  if (!sql.empty()) text += " [" + statement_excerpt(sql) + "]";

  if (found.code == ErrorCode::kUnavailable) broken_ = true;
  give_up_transaction();
  const bool outcome_unknown = found.code == ErrorCode::kUnavailable && commits_;
  return {outcome_unknown ? ErrorCode::kTimeout : found.code, std::move(text)};
}

Error SqliteConnection::refusal(const std::string& reason, std::string_view sql) {
  give_up_transaction();
  return {ErrorCode::kInvalidArgument,
          "sqlite " + path_ + ": " + reason + " [" + statement_excerpt(sql) + "]"};
}

void SqliteConnection::give_up_transaction() {
  if (sqlite3_get_autocommit(database_) == 0) {
    // If ROLLBACK fails, closing the broken connection rolls back.
    if (sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr) != SQLITE_OK) broken_ = true;
  }
  in_transaction_ = false;
}

Status SqliteConnection::check_usable() const {
  if (!broken_) return {};
  return Error{ErrorCode::kUnavailable, "sqlite " + path_ +
                                            ": this connection met an input/output error, open "
                                            "a new one"};
}

Result<SqliteConnection::Statement*> SqliteConnection::prepare(std::string_view sql,
                                                               std::size_t parameters) {
  CARILLON_TRY(check_usable());
  Statement* statement = statements_.find(sql);
  if (statement == nullptr) {
    sqlite3_stmt* handle = nullptr;
    const char* rest = nullptr;
    const int code = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &handle, &rest);
    if (code != SQLITE_OK) return failure(code, sql);
    auto made = std::make_unique<Statement>(handle, sql);
    const std::string_view left{rest, sql.size() - static_cast<std::size_t>(rest - sql.data())};
    if (handle == nullptr || left.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
      return refusal("expected one statement", sql);
    }
    statement = statements_.insert(sql, std::move(made));
  }
  // SQLite would treat a missing parameter as NULL.
  const auto wanted = static_cast<std::size_t>(sqlite3_bind_parameter_count(statement->handle));
  if (wanted != parameters) {
    return refusal(std::to_string(parameters) + " parameters for a statement that takes " +
                       std::to_string(wanted),
                   sql);
  }
  return statement;
}

Result<std::int64_t> SqliteConnection::run(Statement& statement,
                                           std::span<const Value> parameters) {
  int code = statement.bind(parameters);
  // sqlite3_changes() keeps the number of an earlier statement if this one changes no rows.
  const auto total_before = sqlite3_total_changes64(database_);
  errno = 0;
  if (code == SQLITE_OK) {
    do {
      code = sqlite3_step(statement.handle);
    } while (code == SQLITE_ROW);
  }
  if (code != SQLITE_DONE) {
    auto error = failure(code, statement.sql);
    statement.reset();
    return error;
  }
  const bool changed = sqlite3_total_changes64(database_) != total_before;
  const std::int64_t changes = changed ? sqlite3_changes64(database_) : 0;
  statement.reset();
  return changes;
}

Status SqliteConnection::run_plain(const char* sql) {
  CARILLON_TRY(check_usable());
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(code, sql);
  return {};
}

Result<std::int64_t> SqliteConnection::run_text(std::string_view sql,
                                                std::span<const Value> parameters) {
  auto* statement = CARILLON_TRY(prepare(sql, parameters.size()));
  return run(*statement, parameters);
}

Status SqliteConnection::begin() {
  CARILLON_ASSERT(!in_transaction_, "transactions do not nest");
  CARILLON_TRY(run_text(options_.read_only ? "BEGIN" : "BEGIN IMMEDIATE", {}));
  in_transaction_ = true;
  return {};
}

Status SqliteConnection::commit() {
  CARILLON_ASSERT(in_transaction_, "commit() follows begin() without a failure in between");
  commits_ = true;
  const auto result = run_text("COMMIT", {});
  commits_ = false;
  if (!result.ok()) return result.error();
  in_transaction_ = false;
  return {};
}

Status SqliteConnection::rollback() {
  if (!in_transaction_) return {};
  CARILLON_TRY(run_text("ROLLBACK", {}));
  in_transaction_ = false;
  return {};
}

Result<std::int64_t> SqliteConnection::execute(std::string_view sql,
                                               std::span<const Value> parameters) {
  commits_ = !in_transaction_;
  auto result = run_text(sql, parameters);
  commits_ = false;
  return result;
}

Status SqliteConnection::query(std::string_view sql, std::span<const Value> parameters,
                               const std::function<void(const Row&)>& on_row) {
  auto* statement = CARILLON_TRY(prepare(sql, parameters.size()));
  int code = statement->bind(parameters);
  if (code == SQLITE_OK) {
    errno = 0;
    const SqliteRow row{statement->handle};
    while ((code = sqlite3_step(statement->handle)) == SQLITE_ROW) on_row(row);
  }
  if (code != SQLITE_DONE) {
    auto error = failure(code, sql);
    statement->reset();
    return error;
  }
  statement->reset();
  return {};
}

template <class Work>
Status SqliteConnection::atomically(const Work& work) {
  if (in_transaction_) return work();
  CARILLON_TRY(begin());
  CARILLON_TRY(work());
  return commit();
}

Status SqliteConnection::insert_rows(std::string_view head, int columns,
                                     std::span<const Value> values) {
  const auto width = static_cast<std::size_t>(columns);
  CARILLON_ASSERT(columns > 0 && values.size() % width == 0, "the values form whole rows");
  if (values.empty()) return {};
  const auto sql = std::string{head} + " " + placeholder_rows(1, columns);
  return atomically([&]() -> Status {
    auto* statement = CARILLON_TRY(prepare(sql, width));
    for (; !values.empty(); values = values.subspan(width)) {
      CARILLON_TRY(run(*statement, values.first(width)));
    }
    return {};
  });
}

Result<std::vector<bool>> SqliteConnection::delete_rows(
    std::string_view table, std::span<const std::string_view> key_columns,
    std::span<const Value> keys) {
  return run_for_each(
      "DELETE FROM " + std::string{table} + " WHERE " + equals(key_columns, " AND "),
      key_columns.size(), keys);
}

Result<std::vector<bool>> SqliteConnection::update_rows(
    std::string_view table, std::span<const std::string_view> key_columns,
    std::span<const std::string_view> set_columns, std::span<const Value> values) {
  const std::size_t keys = key_columns.size();
  return run_for_each("UPDATE " + std::string{table} + " SET " + equals(set_columns, ", ", keys) +
                          " WHERE " + equals(key_columns, " AND "),
                      keys + set_columns.size(), values);
}

// Runs the statement once per row of `values`; returns whether each found a row.
Result<std::vector<bool>> SqliteConnection::run_for_each(const std::string& sql, std::size_t width,
                                                         std::span<const Value> values) {
  CARILLON_ASSERT(width > 0 && values.size() % width == 0, "the values form whole rows");
  std::vector<bool> was_there;
  if (values.empty()) return was_there;
  was_there.reserve(values.size() / width);
  const auto work = [&]() -> Status {
    auto* statement = CARILLON_TRY(prepare(sql, width));
    for (; !values.empty(); values = values.subspan(width)) {
      was_there.push_back(CARILLON_TRY(run(*statement, values.first(width))) > 0);
    }
    return {};
  };
  CARILLON_TRY(atomically(work));
  return was_there;
}

Status SqliteConnection::run_script(std::string_view script) {
  for (const auto& statement : split_script(script)) CARILLON_TRY(run_plain(statement.c_str()));
  return {};
}

Result<Checkpoint> SqliteConnection::checkpoint(CheckpointKind kind) {
  CARILLON_ASSERT(!in_transaction_, "a checkpoint runs outside transactions");
  CARILLON_TRY(check_usable());
  int log_pages = 0;
  int copied_pages = 0;
  const int mode =
      kind == CheckpointKind::kPassive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_RESTART;
  const int code = sqlite3_wal_checkpoint_v2(database_, nullptr, mode, &log_pages, &copied_pages);
  if (code != SQLITE_OK && code != SQLITE_BUSY) return failure(code, "checkpoint");
  return Checkpoint{
      .log_pages = log_pages, .copied_pages = copied_pages, .busy = code == SQLITE_BUSY};
}

// Through SQLite's own file: closing another descriptor would release its locks.
Status SqliteConnection::sync_database() {
  CARILLON_TRY(check_usable());
  sqlite3_file* file = nullptr;
  const int found = sqlite3_file_control(database_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (found != SQLITE_OK) return failure(found, "sync");
  if (file->pMethods == nullptr) return {};  // in memory
  const int code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
  if (code != SQLITE_OK) return failure(code, "sync");
  return {};
}

}  // namespace carillon::sql
