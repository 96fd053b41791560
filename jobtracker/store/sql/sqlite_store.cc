#include "jobtracker/store/sql/sqlite_store.h"

#include <filesystem>
#include <utility>

#include "shared/base/file_lock.h"
#include "shared/sql/sqlite/sqlite_connection.h"

namespace carillon::jobtracker {
namespace {

// Pages of 4 KiB. COMMIT checkpoints only if the checkpointer has failed for long.
constexpr int kCheckpointPages = 65'536;
// Commits without pauses prevent the log from restarting; then they must wait once.
constexpr std::int64_t kRestartPages = 16'384;

std::string absolute_path(const std::string& path) {
  std::error_code failure;
  const auto absolute = std::filesystem::absolute(path, failure);
  return failure ? path : absolute.lexically_normal().string();
}

// A store with the lock against other processes, which is released after it is closed.
class LockedStore final : public Store {
 public:
  LockedStore(FileLock lock, std::unique_ptr<Store> store)
      : lock_(std::move(lock)), store_(std::move(store)) {}

  CommitResult commit(const Batch& batch) override { return store_->commit(batch); }
  Result<bool> settle(std::int64_t number) override { return store_->settle(number); }
  Result<ReadAnswer> read(const Read& question) override { return store_->read(question); }

 private:
  FileLock lock_;
  std::unique_ptr<Store> store_;
};

Result<FileLock> lock_store(const std::string& path) {
  Result<FileLock> lock = FileLock::take(path + ".lock");
  if (lock.ok() || lock.error().code != ErrorCode::kConflict) return lock;
  return Error{ErrorCode::kConflict,
               lock.error().message + " (stop it first, or use another store)"};
}

Result<std::unique_ptr<sql::Connection>> connect(const std::string& path,
                                                 const sql::SqliteOptions& options) {
  std::unique_ptr<sql::Connection> connection =
      CARILLON_TRY(sql::SqliteConnection::open(path, options));
  return connection;
}

}  // namespace

Result<OpenedStore> open_sqlite_store(const std::string& path, const StoreSession& session,
                                      const DescribeSpec& describe, const Clock& clock,
                                      const Logger& log) {
  const auto absolute = absolute_path(path);
  auto lock = CARILLON_TRY(lock_store(absolute));
  const SqlStoreOptions options{
      .session = session, .name = "sqlite:" + absolute, .describe = describe};
  const auto connect_again = [absolute] {
    return connect(absolute, {.checkpoint_pages = kCheckpointPages});
  };
  auto opened = CARILLON_TRY(SqlStore::open(connect_again, options, clock, log));
  opened.store = std::make_unique<LockedStore>(std::move(lock), std::move(opened.store));
  return opened;
}

std::unique_ptr<ReadOnlyStore> open_sqlite_reader(const std::string& path) {
  return std::make_unique<SqlReader>([absolute = absolute_path(path)] {
    return connect(absolute, {.create = false, .read_only = true});
  });
}

Result<std::unique_ptr<SqliteCheckpointer>> SqliteCheckpointer::open(const std::string& path) {
  auto connection = CARILLON_TRY(sql::SqliteConnection::open(
      absolute_path(path), {.create = false, .checkpoint_pages = 0, .cache_mib = 1}));
  return std::unique_ptr<SqliteCheckpointer>{new SqliteCheckpointer{std::move(connection)}};
}

SqliteCheckpointer::SqliteCheckpointer(std::unique_ptr<sql::SqliteConnection> connection)
    : connection_(std::move(connection)) {}

SqliteCheckpointer::~SqliteCheckpointer() = default;

Status SqliteCheckpointer::run_once() {
  const auto done = CARILLON_TRY(connection_->checkpoint(sql::CheckpointKind::kPassive));
  if (done.log_pages < kRestartPages) return {};
  // While commits wait, little is left to copy and flush.
  CARILLON_TRY(connection_->sync_database());
  CARILLON_TRY(connection_->checkpoint(sql::CheckpointKind::kPassive));
  CARILLON_TRY(connection_->sync_database());
  CARILLON_TRY(connection_->checkpoint(sql::CheckpointKind::kRestart));
  return {};
}

}  // namespace carillon::jobtracker
