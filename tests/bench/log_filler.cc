#include "tests/bench/log_filler.h"

#include <algorithm>
#include <vector>

#include "shared/sql/mysql/mysql_connection.h"
#include "shared/sql/sqlite/sqlite_connection.h"

namespace carillon::bench {
namespace {

using sql::Value;

constexpr std::int64_t kRowsAtOnce = 100'000;
constexpr std::string_view kFromSqlite =
    "FROM (WITH RECURSIVE s(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM s WHERE n < ?) "
    "SELECT n FROM s)";
constexpr std::string_view kFromMysql =
    "FROM (SELECT seq + ? - 1 AS n FROM seq_1_to_100000) AS s WHERE n <= ?";
constexpr std::string_view kRaiseIds = "UPDATE lts_tracker SET id_high = ?";

}  // namespace

Result<std::unique_ptr<sql::Connection>> connect_to_store(const std::string& url) {
  std::unique_ptr<sql::Connection> db;
  if (url.starts_with("sqlite:")) {
    db = CARILLON_TRY(sql::SqliteConnection::open(url.substr(7), {}));
    return db;
  }
  const auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  db = CARILLON_TRY(sql::MysqlConnection::open(parsed, {.read_timeout = std::chrono::minutes{10}}));
  return db;
}

Status insert_numbered(sql::Connection& db, std::string_view insert, std::int64_t rows) {
  const bool is_mysql = db.dialect() == sql::Dialect::kMysql;
  const std::string statement = std::string{insert}.append(is_mysql ? kFromMysql : kFromSqlite);
  for (std::int64_t first = 1; first <= rows; first += kRowsAtOnce) {
    const std::int64_t last = std::min(first + kRowsAtOnce - 1, rows);
    CARILLON_TRY(db.execute(statement, std::vector{Value::of(first), Value::of(last)}));
  }
  return {};
}

Status raise_ids(sql::Connection& db, std::int64_t id) {
  CARILLON_TRY(db.execute(kRaiseIds, std::vector{Value::of(id)}));
  return {};
}

Result<std::int64_t> index_log(DirectStore& store) {
  using namespace jobtracker;
  std::int64_t rows = 0;
  std::int64_t added = 1;
  while (added > 0) {
    store.batcher().post(
        Urgency::kHousekeeping, IndexLog{},
        [&added](Operation&, const Outcome& outcome, const Error*) { added = outcome.count; });
    CARILLON_TRY(store.commit_one());
    rows += added;
  }
  return rows;
}

}  // namespace carillon::bench
