#include "jobtracker/store/sql/mysql_store.h"

#include <utility>

#include "shared/sql/mysql/mysql_connection.h"

namespace carillon::jobtracker {
namespace {

// Five beats of a job tracker that is alive.
constexpr Duration kWatch = std::chrono::seconds{2};

// One job tracker at a time looks who else is there. The server lets go of it with the connection,
// however that ends.
constexpr std::string_view kTakeTurn =
    "SELECT GET_LOCK(CONCAT('carillon.', MD5(DATABASE())), 10) AS taken";
constexpr std::string_view kGiveTurn =
    "SELECT RELEASE_LOCK(CONCAT('carillon.', MD5(DATABASE()))) AS given";

Result<std::unique_ptr<sql::Connection>> connect(const sql::MysqlUrl& url) {
  std::unique_ptr<sql::Connection> connection =
      CARILLON_TRY(sql::MysqlConnection::open(url, sql::MysqlOptions{}));
  return connection;
}

Result<bool> ask_flag(sql::Connection& db, std::string_view sql) {
  bool flag = false;
  CARILLON_TRY(db.query(sql, {}, [&](const sql::Row& row) { flag = row.integer(0) == 1; }));
  return flag;
}

}  // namespace

Result<OpenedStore> open_mysql_store(const std::string& url, const StoreSession& session,
                                     const DescribeSpec& describe, const Clock& clock,
                                     const Logger& log) {
  const auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  const SqlStoreOptions options{
      .session = session, .name = parsed.masked(), .describe = describe, .watch = kWatch};
  const auto turn = CARILLON_TRY(connect(parsed));
  if (!CARILLON_TRY(ask_flag(*turn, kTakeTurn))) {
    return Error{ErrorCode::kConflict,
                 "store " + options.name + " is being opened by another job tracker: try again"};
  }
  auto opened = SqlStore::open([parsed] { return connect(parsed); }, options, clock, log);
  // If this fails, closing the connection gives the turn away.
  (void)ask_flag(*turn, kGiveTurn);
  return opened;
}

Result<std::unique_ptr<ReadOnlyStore>> open_mysql_reader(const std::string& url) {
  const auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  return std::unique_ptr<ReadOnlyStore>{
      std::make_unique<SqlReader>([parsed] { return connect(parsed); })};
}

}  // namespace carillon::jobtracker
