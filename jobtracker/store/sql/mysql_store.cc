#include "jobtracker/store/sql/mysql_store.h"

#include <optional>
#include <utility>

#include "jobtracker/store/sql/schema_migration.h"
#include "shared/base/time_text.h"
#include "shared/runtime/chore.h"
#include "shared/sql/mysql/mysql_connection.h"

namespace carillon::jobtracker {
namespace {

// One job tracker at a time creates tables and takes over. The server releases the lock with the
// connection.
constexpr std::string_view kTakeTurn =
    "SELECT GET_LOCK(CONCAT('carillon.', MD5(DATABASE())), 1) AS taken";
constexpr std::string_view kGiveTurn =
    "SELECT RELEASE_LOCK(CONCAT('carillon.', MD5(DATABASE()))) AS given";

// The same for a job tracker that does not respond any more.
constexpr std::string_view kBoundSilence = "SET SESSION wait_timeout = 30";
constexpr std::string_view kSaySomething = "SELECT 1";
constexpr Duration kSayPeriod = std::chrono::seconds{10};

// A row is never larger than a message, and is sent to the server in one piece.
constexpr std::string_view kAskPacket = "SELECT @@max_allowed_packet";
constexpr std::int64_t kPacketMin = 4 * 1024 * 1024;

// After this wait for the lock, an error names it.
constexpr Duration kTurnMax = std::chrono::seconds{5};

// A slow heartbeat is useless.
const sql::MysqlOptions kQuick{.connect_timeout = std::chrono::seconds{2},
                               .read_timeout = std::chrono::seconds{3},
                               .write_timeout = std::chrono::seconds{3},
                               .lock_wait = std::chrono::seconds{1}};

// Building an index of a large store takes minutes.
const sql::MysqlOptions kPatient{.read_timeout = std::chrono::hours{24}};

// With another host available. A Galera cluster takes up to 7 s to expel a dead node, and commits
// on the other nodes wait for that.
constexpr std::chrono::seconds kStallMax{10};

Result<std::unique_ptr<sql::Connection>> connect(const sql::MysqlUrl& url,
                                                 const sql::MysqlOptions& options) {
  std::unique_ptr<sql::Connection> connection =
      CARILLON_TRY(sql::MysqlConnection::open(url, options));
  return connection;
}

Result<std::unique_ptr<sql::Connection>> connect(const sql::MysqlUrl& url) {
  sql::MysqlOptions options;
  if (url.has_several()) options.read_timeout = options.write_timeout = kStallMax;
  return connect(url, options);
}

// A job tracker that stalls while it migrates, and so loses the lock, loses this connection too.
Result<std::unique_ptr<sql::Connection>> connect_to_migrate(const sql::MysqlUrl& url) {
  auto connection = CARILLON_TRY(connect(url, kPatient));
  CARILLON_TRY(connection->run_script(std::string{kBoundSilence}));
  return connection;
}

// Clusters without named locks cannot find the connection; the error is ignored.
Result<std::unique_ptr<sql::Connection>> connect_store(const sql::MysqlUrl& url,
                                                       const StoreSession& session) {
  auto connection = CARILLON_TRY(connect(url));
  (void)mark_connection(*connection, session);
  return connection;
}

// The previous session used this database, so any failure to connect counts as unreachable.
Error for_joining(const Joining& joining, Error error) {
  if (joining.before) error.code = ErrorCode::kUnavailable;
  return error;
}

// Keeps the lock while this process is alive: building an index of a large store takes minutes.
Result<std::unique_ptr<Chore>> keep_turn(sql::Connection& watcher) {
  return Chore::start("turn", [&watcher] {
    (void)watcher.query(kSaySomething, {}, [](const sql::Row&) {});
    return kSayPeriod;
  });
}

Result<bool> ask_flag(sql::Connection& db, std::string_view sql) {
  bool flag = false;
  CARILLON_TRY(db.query(sql, {}, [&](const sql::Row& row) { flag = row.integer(0) == 1; }));
  return flag;
}

Status check_packet(sql::Connection& db, const std::string& name) {
  std::int64_t packet = 0;
  CARILLON_TRY(
      db.query(kAskPacket, {}, [&packet](const sql::Row& row) { packet = row.integer(0); }));
  if (packet >= kPacketMin) return {};
  return Error{ErrorCode::kInvalidArgument,
               "store " + name + ": the server's max_allowed_packet is " + std::to_string(packet) +
                   ", must be at least " + std::to_string(kPacketMin) +
                   " for large jobs (SET GLOBAL max_allowed_packet = 16777216, and in its "
                   "configuration)"};
}

}  // namespace

Result<MysqlConnections> connect_mysql_store(const std::string& url, const StoreSession& session) {
  const auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  MysqlConnections made;
  made.watcher = CARILLON_TRY(connect(parsed));
  made.connection = CARILLON_TRY(connect_store(parsed, session));
  return made;
}

Result<OpenedStore> open_mysql_store(MysqlConnections connections, const std::string& url,
                                     const StoreSession& session, const DescribeSpec& describe,
                                     const Joining& joining, const StandBy& stand_by,
                                     const Clock& clock, const Logger& log) {
  const auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  if (!connections.connection) {
    auto made = connect_mysql_store(url, session);
    if (!made.ok()) return for_joining(joining, std::move(made).error());
    connections = std::move(made).value();
  }
  SqlStoreOptions options{.session = session,
                          .name = parsed.masked(),
                          .describe = describe,
                          .plan = {.silent = joining.silent,
                                   .before = joining.before,
                                   .wanted = joining.wanted,
                                   .address = joining.address},
                          .connect_to_migrate = [parsed] { return connect_to_migrate(parsed); }};
  const auto connection =
      std::make_shared<std::unique_ptr<sql::Connection>>(std::move(connections.connection));
  const auto connect_again = [parsed, session, joining,
                              connection]() -> Result<std::unique_ptr<sql::Connection>> {
    if (*connection) return std::move(*connection);
    auto made = connect_store(parsed, session);
    if (!made.ok()) return for_joining(joining, std::move(made).error());
    return made;
  };
  const auto& watcher = connections.watcher;
  CARILLON_TRY(watcher->run_script(std::string{kBoundSilence}));
  if (!joining.before) CARILLON_TRY(check_packet(*watcher, options.name));
  std::optional<SteadyTime> outrun_since;
  while (true) {
    bool migrates = false;
    if (!joining.before) {
      options.plan.silent.emplace();
      const int found = CARILLON_TRY(read_schema(*watcher, options.name));
      const bool is_alone = found != known_schema(*watcher);
      migrates = is_alone;
      if (found != 0) {
        options.plan.silent =
            CARILLON_TRY(await_settled(*watcher, session, options.name, clock, is_alone, stand_by,
                                       HeartbeatWatch{joining.silence}));
      }
    }
    Result<OpenedStore> opened =
        Error{ErrorCode::kConflict,
              "store " + options.name + " is being opened by another job tracker (try again)"};
    if (CARILLON_TRY(ask_flag(*watcher, kTakeTurn))) {
      std::unique_ptr<Chore> keeping;
      if (migrates) keeping = CARILLON_TRY(keep_turn(*watcher));
      opened = SqlStore::open(connect_again, options, clock, log);
      keeping.reset();
      // If this fails, closing the connection releases the lock.
      (void)ask_flag(*watcher, kGiveTurn);
      // A session that has partitions fences no others in the second try.
      if (joining.before) options.plan.silent.emplace();
    }
    const bool was_outrun = !opened.ok() && opened.error().code == ErrorCode::kConflict;
    if (!was_outrun || !stand_by.wait(kLook)) return opened;
    const SteadyTime now = clock.steady_now();
    if (!outrun_since) outrun_since = now;
    if (now >= *outrun_since + kTurnMax) {
      return Error{ErrorCode::kUnavailable,
                   "another job tracker has been opening " + options.name + " for longer than " +
                       format_duration(kTurnMax) +
                       " (it creates or migrates the tables, or has stalled)"};
    }
  }
}

Result<std::unique_ptr<MysqlHeartbeat>> MysqlHeartbeat::open(const std::string& url,
                                                             SessionId session) {
  auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  return std::unique_ptr<MysqlHeartbeat>{new MysqlHeartbeat{std::move(parsed), session}};
}

Result<sql::Connection*> MysqlHeartbeat::connected() {
  if (connection_ == nullptr) connection_ = CARILLON_TRY(sql::MysqlConnection::open(url_, kQuick));
  return connection_.get();
}

Status MysqlHeartbeat::run_once(bool yields) {
  sql::Connection* db = CARILLON_TRY(connected());
  const auto raised = raise_heartbeat(*db, session_, yields);
  if (!raised.ok() && raised.error().code != ErrorCode::kConflict) connection_.reset();
  if (!raised.ok()) return raised.error();
  if (raised.value()) return {};
  return Error{ErrorCode::kDenied, "the session was fenced or has ended"};
}

Result<ClusterView> MysqlHeartbeat::look(const Clock& clock, GroupId groups_after) {
  sql::Connection* db = CARILLON_TRY(connected());
  const SteadyTime asked = clock.steady_now();
  auto view = read_cluster(*db, groups_after);
  if (!view.ok() && view.error().code != ErrorCode::kConflict) connection_.reset();
  if (!view.ok()) return view;
  view.value().asked = asked;
  view.value().answered = clock.steady_now();
  return view;
}

Result<std::unique_ptr<ReadOnlyStore>> open_mysql_reader(const std::string& url) {
  const auto parsed = CARILLON_TRY(sql::parse_mysql_url(url));
  return std::unique_ptr<ReadOnlyStore>{
      std::make_unique<SqlReader>([parsed] { return connect(parsed); })};
}

}  // namespace carillon::jobtracker
