#include "tests/bench/bench_store.h"

#include <array>
#include <filesystem>
#include <utility>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "shared/sql/mysql/mysql_connection.h"
#include "shared/sql/sqlite/sqlite_connection.h"

namespace carillon::bench {
namespace {

// What a commit on that server survives, and what the server has to make it quick.
Result<std::string> durability_of(const std::string& url) {
  const auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  const auto connection = CARILLON_TRY(sql::MysqlConnection::open(parsed, {}));
  std::string version;
  std::int64_t flush = 0;
  std::int64_t pool_bytes = 0;
  CARILLON_TRY(connection->query(
      "SELECT @@version, @@innodb_flush_log_at_trx_commit, @@innodb_buffer_pool_size", {},
      [&](const sql::Row& row) {
        version = row.bytes(0);
        flush = row.integer(1);
        pool_bytes = row.integer(2);
      }));
  return version + ", innodb_flush_log_at_trx_commit=" + std::to_string(flush) +
         ", buffer pool of " + std::to_string(pool_bytes >> 20) + " MiB";
}

// What a commit survives in a file that the job tracker's own code has opened.
Result<std::string> durability_of_file(const std::string& path) {
  const auto connection = CARILLON_TRY(sql::SqliteConnection::open(path, {}));
  std::string text;
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (!text.empty()) text += ", ";
    text.append(name).append(value);
  };
  CARILLON_TRY(connection->query("SELECT sqlite_version()", {},
                                 [&](const sql::Row& row) { add("SQLite ", row.bytes(0)); }));
  CARILLON_TRY(connection->query("PRAGMA journal_mode", {},
                                 [&](const sql::Row& row) { add("journal_mode=", row.bytes(0)); }));
  CARILLON_TRY(connection->query("PRAGMA synchronous", {}, [&](const sql::Row& row) {
    static constexpr std::array<std::string_view, 4> kNames{"OFF", "NORMAL", "FULL", "EXTRA"};
    add("synchronous=", kNames.at(static_cast<std::size_t>(row.integer(0))));
  }));
  return text;
}

// What lies in memory survives nothing.
Status check_disk(const std::string& path) {
  struct statfs found {};
  const std::string folder = std::filesystem::is_directory(path)
                                 ? path
                                 : std::filesystem::absolute(path).parent_path().string();
  if (::statfs(folder.c_str(), &found) != 0 || found.f_type != TMPFS_MAGIC) return {};
  return Error{ErrorCode::kInvalidArgument,
               folder +
                   " is in memory (tmpfs): nothing measured there is durable, name a folder "
                   "on a disk with TMPDIR or --store sqlite:PATH"};
}

}  // namespace

Result<std::unique_ptr<BenchStore>> BenchStore::open(const std::string& store,
                                                     const testing::TempFolder& folder) {
  std::unique_ptr<BenchStore> opened{new BenchStore{store, folder}};
  CARILLON_TRY(opened->prepare());
  return opened;
}

Status BenchStore::prepare() {
  if (store_ == "sqlite" || store_.rfind("sqlite:", 0) == 0) {
    CARILLON_TRY(check_disk(store_ == "sqlite" ? folder_.file("") : store_.substr(7)));
    durability_ = CARILLON_TRY(durability_of_file(folder_.file("durability.db")));
    return {};
  }
  kind_ = "mysql";
  if (store_.rfind("mysql://", 0) == 0) {
    durability_ = CARILLON_TRY(durability_of(store_));
    return {};
  }
  const bool is_stock = store_ == "mysql-stock";
  if (store_ != "mysql" && !is_stock) {
    return Error{ErrorCode::kInvalidArgument,
                 "--store '" + store_ +
                     "': not a store (write sqlite, sqlite:PATH, mysql, mysql-stock or "
                     "mysql://...)"};
  }
  kind_ = store_;
  std::vector<std::string> settings;
  if (!is_stock) {
    settings = {"--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=1G",
                "--innodb-log-file-size=512M"};
  }
  CARILLON_TRY(check_disk(folder_.file("")));  // The server's folder lies beside it.
  server_ = CARILLON_TRY(testing::MariadbServer::start(std::move(settings)));
  CARILLON_TRY(server_->create_database("bench"));
  durability_ = CARILLON_TRY(durability_of(server_->url("bench")));
  return {};
}

Result<std::string> BenchStore::next_url() {
  ++round_;
  if (store_ == "sqlite") {
    return "sqlite:" + folder_.file("round-" + std::to_string(round_) + ".db");
  }
  if (server_ == nullptr) return store_;
  CARILLON_TRY(server_->create_database("bench"));
  return server_->url("bench");
}

}  // namespace carillon::bench
