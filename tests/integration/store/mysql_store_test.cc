#include "jobtracker/store/sql/mysql_store.h"

#include <atomic>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jobtracker/store/sql/schema_migration.h"
#include "shared/sql/mysql/mysql_connection.h"
#include "tests/integration/store/mariadb_store_database.h"
#include "tests/support/loopback.h"
#include "tests/support/may_skip.h"
#include "tests/support/tcp_proxy.h"

namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MysqlStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = testing::shared_mariadb();
    if (!server.ok() && testing::may_skip()) GTEST_SKIP() << server.error().message;
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = server.value();
    const auto created = server_->create_database("opening");
    ASSERT_TRUE(created.ok()) << created.error().message;
    url_ = server_->url("opening");
  }

  Result<OpenedStore> open(const std::string& url) {
    return open_mysql_store(
        {}, url, {.session = SessionId{++session_}, .name = "tracker-" + std::to_string(session_)},
        {}, {}, stand_by_, clock_, log_);
  }

  Error refused(const std::string& url) {
    const auto opened = open(url);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error{} : opened.error();
  }

  std::unique_ptr<sql::Connection> connect() {
    return sql::MysqlConnection::open(sql::parse_mysql_url(url_).value(), {}).value();
  }
  void run(const std::string& statement) {
    const auto done = connect()->execute(statement, {});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  // As often as it was let, for a minute of looks.
  int looks_max_ = 600;
  std::vector<std::string> others_{};
  StandBy stand_by_{
      .on_other = [this](const SessionHeartbeat& other) { others_.push_back(other.name); },
      .on_quiet = [](const std::vector<SessionHeartbeat>&) {},
      .wait =
          [this, looks = 0](Duration longest) mutable {
            std::this_thread::sleep_for(longest);
            return ++looks < looks_max_;
          }};
  testing::MariadbServer* server_ = nullptr;
  std::string url_{};
  SystemClock clock_{};
  Logger log_{"store"};
  std::int64_t session_ = 0;
};

TEST_F(MysqlStoreTest, ReportsANewDatabaseOnceAndHidesThePassword) {
  {
    const auto first = open(url_);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_TRUE(first.value().newly_made);
    EXPECT_THAT(first.value().place, HasSubstr(":***@127.0.0.1"));
  }
  const auto second = open(url_);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_FALSE(second.value().newly_made);
}

TEST_F(MysqlStoreTest, DoesNotWaitForASessionThatEndedCleanly) {
  ASSERT_TRUE(open(url_).ok());
  const auto start = clock_.steady_now();
  ASSERT_TRUE(open(url_).ok());
  EXPECT_LT(clock_.steady_now() - start, std::chrono::seconds{1});
}

TEST_F(MysqlStoreTest, StandsByWithoutMigratingWhileAnotherJobTrackerWorks) {
  auto first = open(url_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  run("DELETE FROM lts_schema WHERE version = 24");
  looks_max_ = 8;
  std::atomic<bool> stop = false;
  std::thread beating{[&] {
    for (std::int64_t number = 1; !stop; ++number) {
      (void)first.value().store->commit({.number = number, .now = kNow + number * kSecond});
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
  }};

  const auto error = refused(url_);
  stop = true;
  beating.join();

  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_THAT(error.message, HasSubstr("is in use by job tracker 'tracker-1' (session 1)"));
  EXPECT_THAT(others_, ElementsAre("tracker-1"));
  std::int64_t version = 0;
  ASSERT_TRUE(connect()
                  ->query("SELECT MAX(version) FROM lts_schema", {},
                          [&](const sql::Row& row) { version = row.integer(0); })
                  .ok());
  EXPECT_EQ(version, 23);
}

TEST_F(MysqlStoreTest, FencesASilentSession) {
  auto dead = open(url_);
  ASSERT_TRUE(dead.ok()) << dead.error().message;

  auto heir = open(url_);

  ASSERT_TRUE(heir.ok()) << heir.error().message;
  const auto result = dead.value().store->commit({.number = 1});
  EXPECT_TRUE(std::get<RolledBack>(result).fenced);
  EXPECT_TRUE(std::holds_alternative<Committed>(heir.value().store->commit({.number = 1})));
}

Partitions owned_by(Store& store) {
  return std::get<StartAnswer>(store.read(ReadStart{}).value()).owned;
}

TEST_F(MysqlStoreTest, WorksBesideAJobTrackerThatHeartbeatsWithoutCommitting) {
  auto first = open(url_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  std::atomic<bool> stop = false;
  std::thread beating{[&] {
    const auto beat = MysqlHeartbeat::open(url_, SessionId{1}).value();
    while (!stop) {
      EXPECT_TRUE(beat->run_once(true).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
  }};

  auto second = open(url_);
  stop = true;
  beating.join();

  ASSERT_TRUE(second.ok()) << second.error().message;
  const auto view = MysqlHeartbeat::open(url_, SessionId{2}).value()->look(clock_, GroupId{});
  ASSERT_TRUE(view.ok()) << view.error().message;
  ASSERT_EQ(view.value().trackers.size(), 2U);
  EXPECT_TRUE(view.value().trackers.front().yields);
  EXPECT_FALSE(view.value().trackers.back().yields);
  EXPECT_TRUE(owned_by(*first.value().store).all());
  EXPECT_TRUE(owned_by(*second.value().store).none());
  EXPECT_TRUE(std::holds_alternative<Committed>(first.value().store->commit({.number = 1})));
  EXPECT_TRUE(std::holds_alternative<Committed>(second.value().store->commit({.number = 1})));
}

TEST_F(MysqlStoreTest, SessionReplacesThePreviousSessionOfItsProcess) {
  auto first = open(url_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(std::holds_alternative<Committed>(
      first.value().store->commit({.number = 1, .recovered = true, .now = kNow})));
  Partitions half;
  for (std::size_t i = 0; i < 32; ++i) half.set(i);
  const auto become = [&](SessionId session, SessionId before, Partitions wanted) {
    // As the product does, while the session before works on.
    auto made = connect_mysql_store(url_, {.session = session, .name = "next"});
    EXPECT_TRUE(made.ok());
    EXPECT_TRUE(first.value().store->read(ReadStart{}).ok());
    return open_mysql_store(std::move(made).value(), url_, {.session = session, .name = "next"}, {},
                            {.address = "tcp://next:1", .before = before, .wanted = wanted},
                            stand_by_, clock_, log_);
  };

  auto next = become(SessionId{50}, SessionId{1}, half);
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(owned_by(*next.value().store), half);
  EXPECT_TRUE(std::get<RolledBack>(first.value().store->commit({.number = 2})).fenced);
  const auto view = MysqlHeartbeat::open(url_, SessionId{50}).value()->look(clock_, GroupId{});
  ASSERT_TRUE(view.ok()) << view.error().message;
  ASSERT_EQ(view.value().trackers.size(), 1U);
  EXPECT_EQ(view.value().trackers.front().address, "tcp://next:1");
  EXPECT_EQ(view.value().owners[0], SessionId{50});
  EXPECT_EQ(view.value().owners[63], SessionId{});

  // What was given away was looked after until then; nobody's time is lost by it.
  auto other = become(SessionId{60}, SessionId{50}, ~half);
  ASSERT_TRUE(other.ok()) << other.error().message;
  const auto start = std::get<StartAnswer>(other.value().store->read(ReadStart{}).value());
  EXPECT_EQ(start.owned, ~half);
  EXPECT_EQ(start.last_alive_of.at(63), kNow);
  const auto outrun = become(SessionId{70}, SessionId{50}, half);
  ASSERT_FALSE(outrun.ok());
  EXPECT_EQ(outrun.error().code, ErrorCode::kDenied);
}

TEST_F(MysqlStoreTest, SeveralSessionsCreateGroupsConcurrently) {
  auto first = open(url_);
  auto second = open(url_);  // It fences the first, but a group is made outside of commits.
  ASSERT_TRUE(first.ok() && second.ok());
  const auto make_all = [](Store& store, const std::string& own) {
    for (int i = 0; i < 10; ++i) {
      for (const std::string& name : {"both-" + std::to_string(i), own + std::to_string(i)}) {
        const auto made = store.read(MakeGroup{.name = name});
        EXPECT_TRUE(made.ok()) << made.error().message;
      }
    }
  };
  std::thread other{[&] { make_all(*second.value().store, "second-"); }};
  make_all(*first.value().store, "first-");
  other.join();

  std::set<std::string> names;
  const auto start = std::get<StartAnswer>(second.value().store->read(ReadStart{}).value());
  for (const Group& group : start.groups) names.insert(group.name);
  EXPECT_EQ(start.groups.size(), 30U);
  EXPECT_EQ(names.size(), 30U);
}

TEST_F(MysqlStoreTest, FencesASessionStalledInsideATransaction) {
  ASSERT_TRUE(open(url_).ok());
  // As a session's connection would be, if it had been stopped there.
  run("UPDATE lts_tracker SET ended = 0, session_id = 77");
  const auto frozen = connect();
  ASSERT_TRUE(mark_connection(*frozen, {.session = SessionId{77}}).ok());
  ASSERT_TRUE(frozen->begin().ok());
  ASSERT_TRUE(frozen->execute("UPDATE lts_tracker SET batch = 77", {}).ok());

  const auto start = clock_.steady_now();
  auto heir = open(url_);

  ASSERT_TRUE(heir.ok()) << heir.error().message;
  EXPECT_LT(clock_.steady_now() - start, std::chrono::seconds{5});  // the server's time for a lock
  EXPECT_FALSE(frozen->commit().ok());
  EXPECT_TRUE(std::holds_alternative<Committed>(heir.value().store->commit({.number = 1})));
}

// A client without an answer has asked another job tracker, too, which answers in another way.
class MysqlAnswersTest : public MysqlStoreTest {
 protected:
  void SetUp() override {
    MysqlStoreTest::SetUp();
    if (server_ == nullptr) return;
    auto opened = open(url_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(opened.value().store);
    other_ = connect();
    ASSERT_TRUE(other_->begin().ok());
  }
  void the_other(const std::string& statement) {
    const auto done = other_->execute(statement, {});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void the_other_answers(std::int64_t sequence) {
    the_other("REPLACE INTO lts_client (slot, sequence, answer, outcomes, at_us) VALUES (81, " +
              std::to_string(sequence) + ", 'elsewhere', '', 1)");
  }
  // While the other one, who is in the way, does something and commits.
  RequestOutcome answered_beside(const Batch& batch, const std::function<void()>& meanwhile) {
    std::optional<CommitResult> result;
    std::thread one{[&] { result = store_->commit(batch); }};
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    meanwhile();
    EXPECT_TRUE(other_->commit().ok());
    one.join();
    if (const auto* back = std::get_if<RolledBack>(&*result)) {
      EXPECT_EQ(back->error.code, ErrorCode::kConflict) << back->error.message;
      result = store_->commit(batch);  // As the store's thread does.
    }
    return std::get<Committed>(*result).requests.at(0);
  }

  std::unique_ptr<Store> store_{};
  std::unique_ptr<sql::Connection> other_{};
};

TEST_F(MysqlAnswersTest, ResendGetsTheAnswerThatAnotherJobTrackerIsStoring) {
  for (const std::int64_t sequence : {1, 17}) {
    the_other_answers(sequence);
    const RequestOutcome outcome =
        answered_beside({.number = sequence == 1 ? 1 : 2,
                         .requests = {{.client = 5, .sequence = sequence, .answer = "here"}}},
                        [] {});
    EXPECT_TRUE(outcome.answered_before) << sequence;
    EXPECT_EQ(outcome.answer, "elsewhere") << sequence;
    ASSERT_TRUE(other_->begin().ok());
  }
}

TEST_F(MysqlAnswersTest, ResendGetsTheAnswerThatAnotherJobTrackerStoredMeanwhile) {
  the_other("INSERT INTO lts_inbox (inbox_id, group_id, task_id) VALUES (9, 1, 'in the way')");
  const RequestOutcome outcome = answered_beside(
      {.number = 1,
       .operations = {RemoveInbox{9}},
       .requests = {{.client = 5, .sequence = 1, .answer = "here", .operation_count = 1}}},
      [this] { the_other_answers(1); });
  EXPECT_TRUE(outcome.answered_before);
  EXPECT_EQ(outcome.answer, "elsewhere");
}

// One that hangs holds up nobody whose clients are others.
TEST_F(MysqlAnswersTest, AreStoredWhileAJobTrackerOfOtherClientsHangs) {
  constexpr std::int64_t kRequests = 16;
  Batch before{.number = 1};
  for (std::int64_t client = 1; client <= 4; ++client) {
    for (std::int64_t sequence = 1; sequence <= kRequests; ++sequence)
      before.requests.push_back({.client = client * 1000, .sequence = sequence, .answer = "x"});
  }
  ASSERT_TRUE(std::holds_alternative<Committed>(store_->commit(before)));
  the_other(
      "REPLACE INTO lts_client (slot, sequence, answer, outcomes, at_us) "
      "VALUES (16001, 17, 'elsewhere', '', 1), (16002, 18, 'elsewhere', '', 1)");
  Batch batch{.number = 2};
  for (std::int64_t client = 3; client <= 4; ++client) {
    for (std::int64_t sequence = 17; sequence < 17 + kRequests; ++sequence)
      batch.requests.push_back({.client = client * 1000, .sequence = sequence, .answer = "x"});
  }
  const auto result = store_->commit(batch);
  const auto* back = std::get_if<RolledBack>(&result);
  EXPECT_EQ(back, nullptr) << back->error.message;
}

TEST_F(MysqlAnswersTest, PurgeKeepsANewAnswerThatReplacesAnOldOne) {
  the_other_answers(1);
  ASSERT_TRUE(other_->commit().ok());
  ASSERT_TRUE(other_->begin().ok());
  the_other(
      "REPLACE INTO lts_client (slot, sequence, answer, outcomes, at_us) "
      "VALUES (81, 17, 'elsewhere', '', 4000000000000000)");
  std::optional<CommitResult> result;
  std::thread one{[&] {
    result = store_->commit(
        {.number = 1,
         .operations = {Purge{.clients_before = WallTime{std::chrono::seconds{1}}, .limit = 100}}});
  }};
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  EXPECT_TRUE(other_->commit().ok());
  one.join();
  ASSERT_TRUE(std::holds_alternative<Committed>(*result));
  const auto resent =
      store_->commit({.number = 2, .requests = {{.client = 5, .sequence = 17, .answer = "here"}}});
  EXPECT_TRUE(std::get<Committed>(resent).requests.at(0).answered_before);
}

TEST_F(MysqlStoreTest, FencesNoSessionThatHeartbeatsSinceItWasWatched) {
  auto first = open(url_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const StoreSession another{.session = SessionId{99}, .name = "another"};
  const auto watcher = connect();
  const auto watched = read_heartbeats(*watcher, another).value();
  ASSERT_EQ(watched.size(), 2U);  // its connection and its beat
  ASSERT_TRUE(std::holds_alternative<Committed>(first.value().store->commit({.number = 1})));

  const auto begun = begin_session(*watcher, another, kNow, {.silent = watched});

  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(std::holds_alternative<Committed>(first.value().store->commit({.number = 2})));
  EXPECT_TRUE(
      begin_session(*watcher, another, kNow, {.silent = read_heartbeats(*watcher, another).value()})
          .ok());
  EXPECT_TRUE(std::get<RolledBack>(first.value().store->commit({.number = 3})).fenced);
}

// Two tries to begin the same session in the place of another, the first of which is cut off.
class MysqlBeginningTest : public MysqlStoreTest {
 protected:
  void SetUp() override {
    MysqlStoreTest::SetUp();
    if (server_ == nullptr) return;
    proxy_ = std::make_unique<testing::TcpProxy>(server_->port());
    before_ = open(url_);
    ASSERT_TRUE(before_.ok()) << before_.error().message;
  }

  Result<OpenedStore> begin_next() {
    return open_mysql_store({}, server_->url("opening", proxy_->port()),
                            {.session = SessionId{99}, .name = "next"}, {},
                            {.before = SessionId{session_}}, stand_by_, clock_, log_);
  }
  // It works, and nobody else does.
  void check(Result<OpenedStore>& next) {
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_TRUE(std::get<RolledBack>(before_.value().store->commit({.number = 1})).fenced);
    EXPECT_TRUE(std::holds_alternative<Committed>(next.value().store->commit({.number = 1})));
    EXPECT_TRUE(owned_by(*next.value().store).all());
    EXPECT_EQ(proxy_->cuts(), 1);
  }

  std::unique_ptr<testing::TcpProxy> proxy_{};
  Result<OpenedStore> before_ = Error{};
};

TEST_F(MysqlBeginningTest, ContinuesASessionWhoseCommitAnswerWasLost) {
  proxy_->cut_when(std::string{'\3'} + "COMMIT", testing::TcpProxy::When::kAfterAnswer);
  const auto unknown = begin_next();
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kTimeout);
  auto next = begin_next();
  check(next);
}

TEST_F(MysqlBeginningTest, RepeatsASessionStartWhoseCommitNeverArrived) {
  proxy_->cut_when(std::string{'\3'} + "COMMIT", testing::TcpProxy::When::kBeforeForwarding);
  const auto unknown = begin_next();
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kTimeout);
  auto next = begin_next();
  check(next);
}

TEST_F(MysqlBeginningTest, IsCompleteOnceCommitted) {
  proxy_->cut_when("wait_timeout = DEFAULT", testing::TcpProxy::When::kBeforeForwarding);
  auto next = begin_next();
  ASSERT_TRUE(next.ok()) << next.error().message;
  // The connection connects again when it finds out.
  (void)next.value().store->commit({.number = 1});
  auto again = next.value().store->commit({.number = 1});
  EXPECT_TRUE(std::holds_alternative<Committed>(again));
  EXPECT_EQ(proxy_->cuts(), 1);
}

TEST_F(MysqlBeginningTest, WaitsForAnEarlierSessionStartStillInProgress) {
  // What the server does when it got the COMMIT of a connection that is gone.
  const auto lost = connect();
  const StoreSession session{.session = SessionId{99}, .name = "next"};
  ASSERT_TRUE(lost->begin().ok());
  for (const std::string statement :
       {"UPDATE lts_partition SET owner = 99, epoch = epoch + 1",
        "UPDATE lts_tracker SET session_id = 99, name = 'next', batch = 0"}) {
    ASSERT_TRUE(lost->execute(statement, {}).ok());
  }
  std::thread late{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    EXPECT_TRUE(lost->commit().ok());
  }};

  const auto start =
      begin_session(*connect(), session, kNow,
                    {.silent = std::vector<SessionHeartbeat>{}, .before = SessionId{session_}});
  late.join();

  ASSERT_TRUE(start.ok()) << start.error().message;
  EXPECT_TRUE(start.value().owned.all());
  EXPECT_EQ(start.value().epochs.at(0), 2);
}

TEST_F(MysqlStoreTest, ReadsTheClockOfTheServer) {
  auto opened = open(url_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;

  const auto answer = opened.value().store->read(ReadClock{});

  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const auto& clock = std::get<ClockAnswer>(answer.value());
  ASSERT_TRUE(clock.shows);
  // The server is on this machine.
  const Duration since = std::chrono::duration_cast<Duration>(clock_.steady_now() - clock.at);
  const Duration difference = clock_.wall_now() - (*clock.shows + since);
  EXPECT_LE(std::chrono::abs(difference), clock.took + std::chrono::milliseconds{20});
}

TEST_F(MysqlStoreTest, RefusesAWrongPasswordDatabaseOrUrl) {
  const auto wrong = sql::parse_mysql_url(url_).value();
  const auto server = "@127.0.0.1:" + std::to_string(wrong.hosts.front().port);
  EXPECT_EQ(refused("mysql://" + wrong.user + ":nonsense" + server + "/opening").code,
            ErrorCode::kDenied);
  const auto missing = refused(server_->url("nowhere"));
  EXPECT_EQ(missing.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(missing.message, HasSubstr("nowhere"));
  EXPECT_EQ(refused("mysql://").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused("mysql://a:b@127.0.0.1:1/x").code, ErrorCode::kUnavailable);
}

TEST_F(MysqlStoreTest, RefusesAServerWithATooSmallPacketLimit) {
  run("SET GLOBAL max_allowed_packet = 1048576");
  EXPECT_THAT(refused(url_).message,
              ::testing::HasSubstr("max_allowed_packet is 1048576, must be at least 4194304"));
  run("SET GLOBAL max_allowed_packet = 16777216");
  EXPECT_TRUE(open(url_).ok());
}

TEST_F(MysqlStoreTest, RefusesANewerSchemaWithoutChangingIt) {
  ASSERT_TRUE(open(url_).ok());
  run("INSERT INTO lts_schema VALUES (25, 0)");

  const auto error = refused(url_);

  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("has schema 25, this program knows up to 24"));
}

TEST_F(MysqlStoreTest, RefusesAnLtsDatabaseWithoutChangingIt) {
  run("CREATE TABLE lts_cron_job_queue (id INT)");
  run("CREATE TABLE lts_node_group_store (id INT)");

  const auto error = refused(url_);

  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("is a database of LTS"));
  EXPECT_THAT(error.message, HasSubstr("jobclient import lts"));
  std::int64_t tables = 0;
  ASSERT_TRUE(connect()
                  ->query("SELECT COUNT(*) FROM information_schema.tables "
                          "WHERE table_schema = DATABASE()",
                          {}, [&](const sql::Row& row) { tables = row.integer(0); })
                  .ok());
  EXPECT_EQ(tables, 2);
}

TEST_F(MysqlStoreTest, CompletesAnInterruptedMigration) {
  ASSERT_TRUE(open(url_).ok());
  // As after a crash in the middle of the script: some tables, no record.
  run("DELETE FROM lts_schema");
  run("DROP TABLE lts_job_log");

  auto opened = open(url_);

  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(opened.value().newly_made);
  EXPECT_TRUE(opened.value().store->read(ListHistory{.limit = 1}).ok());
}

TEST_F(MysqlStoreTest, AcceptsAMigrationThatAnotherJobTrackerRecordedFirst) {
  ASSERT_TRUE(open(url_).ok());
  const auto late = connect();

  const auto migrated = migrate_schema(*late, 0, "opening", kNow);

  ASSERT_TRUE(migrated.ok()) << migrated.error().message;
  EXPECT_EQ(migrated.value(), known_schema(*late));
}

TEST_F(MysqlStoreTest, RefusesASecondSessionWithTheSameNumber) {
  const auto first = open(url_);
  ASSERT_TRUE(first.ok()) << first.error().message;

  // As on two nodes of a cluster, where no lock of one is seen on the other.
  const auto second = connect()->execute(
      "INSERT INTO lts_tracker (session_id, lane, name, batch, id_high, beat_us, alive_before_us, "
      "ended, number) SELECT 99, lane, 'second', 0, 0, 0, 0, 0, number FROM lts_tracker",
      {});

  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("Duplicate entry"));
}

TEST_F(MysqlStoreTest, SkipsASilentHostWithinTwoSeconds) {
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = testing::loopback(0);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(silent, any, size), 0);
  ASSERT_EQ(::listen(silent, 16), 0);
  ASSERT_EQ(::getsockname(silent, any, &size), 0);
  const auto here = "127.0.0.1:" + std::to_string(server_->port());
  auto url = url_;
  url.replace(url.find(here), here.size(),
              "127.0.0.1:1,127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "," + here);
  const auto parsed = sql::parse_mysql_url(url);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;

  const auto start = clock_.steady_now();
  const auto opened = sql::MysqlConnection::open(parsed.value(), {});

  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_LT(clock_.steady_now() - start, std::chrono::seconds{2});
  ::close(silent);
}

TEST_F(MysqlStoreTest, MigratesTheTablesOfGroups) {
  WaitingJob job{.id = JobId{1}, .attempt = 1, .failures = 1};
  {
    auto opened = open(url_);
    Store& store = *opened.value().store;
    job.group = std::get<GroupAnswer>(store.read(MakeGroup{"mail"}).value()).group.id;
    store.commit({.number = 1, .operations = {AddJob{job}}});
  }
  // As schema 3 was, after a migration that came as far as the delayed table.
  run("DELETE FROM lts_schema WHERE version >= 4");
  run("DROP TABLE lts_waiting_group");
  run("ALTER TABLE lts_wjq_mail DROP COLUMN moved_from_us");
  run("ALTER TABLE lts_executing_job_queue DROP COLUMN moved_from_us");

  auto opened = open(url_);

  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Store& store = *opened.value().store;
  const ListWaiting all{.group = job.group, .limit = 9};
  EXPECT_THAT(std::get<JobsAnswer>(store.read(all).value()).jobs, ElementsAre(job));
  WaitingJob held_back = job;
  held_back.not_before = kNow;
  store.commit({.number = 1, .operations = {ChangeWaiting{.from = job, .to = held_back}}});
  EXPECT_THAT(std::get<JobsAnswer>(store.read(all).value()).jobs, ElementsAre(held_back));
  EXPECT_EQ(std::get<CountAnswer>(store.read(CountWaiting{}).value()).groups.front().waiting, 1);
}

TEST_F(MysqlStoreTest, SurvivesAServerRestart) {
  auto opened = open(url_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Store& store = *opened.value().store;
  const GroupId group = std::get<GroupAnswer>(store.read(MakeGroup{"default"}).value()).group.id;
  const auto batch = [&](std::int64_t number) {
    Batch one{.number = number};
    one.operations.emplace_back(AddJob{{.id = JobId{number}, .group = group}});
    return one;
  };
  ASSERT_TRUE(std::holds_alternative<Committed>(store.commit(batch(1))));
  server_->kill();

  for (int i = 0; i < 2; ++i) {
    const auto away = store.commit(batch(2));
    EXPECT_EQ(std::get<RolledBack>(away).error.code, ErrorCode::kUnavailable);
    EXPECT_EQ(store.read(ReadStart{}).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(store.settle(2).error().code, ErrorCode::kUnavailable);
  }
  ASSERT_TRUE(server_->restart().ok());

  EXPECT_FALSE(store.settle(2).value());
  ASSERT_TRUE(std::holds_alternative<Committed>(store.commit(batch(2))));
  const auto jobs =
      std::get<JobsAnswer>(store.read(ListWaiting{.group = group, .limit = 9}).value()).jobs;
  ASSERT_EQ(jobs.size(), 2U);
}

TEST_F(MysqlStoreTest, WaitsForALiveTransactionBeforeSettling) {
  auto opened = open(url_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const auto other = connect();
  ASSERT_TRUE(other->begin().ok());
  ASSERT_TRUE(other->execute("UPDATE lts_tracker SET batch = 1", {}).ok());
  std::thread late{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    EXPECT_TRUE(other->commit().ok());
  }};

  const auto settled = opened.value().store->settle(1);
  late.join();

  ASSERT_TRUE(settled.ok()) << settled.error().message;
  EXPECT_TRUE(settled.value());
}

TEST_F(MysqlStoreTest, ReadsTheQueueThroughIndexesWithoutSorting) {
  auto opened = open(url_);
  Store& store = *opened.value().store;
  const GroupId group = std::get<GroupAnswer>(store.read(MakeGroup{"default"}).value()).group.id;
  for (std::int64_t number = 1; number <= 20; ++number) {
    Batch batch{.number = number};
    for (std::int64_t i = 1; i <= 500; ++i) {
      batch.operations.emplace_back(AddJob{{.id = JobId{number * 1000 + i},
                                            .group = group,
                                            .definition = DefinitionId{static_cast<int>(i % 4)},
                                            .priority = static_cast<int>(i % 3),
                                            .trigger_time = kNow + i * kSecond}});
    }
    ASSERT_TRUE(std::holds_alternative<Committed>(store.commit(batch)));
  }
  const auto db = connect();
  run("ANALYZE TABLE lts_wjq_default");
  const auto plan = [&](const std::string& select) {
    std::string line;
    EXPECT_TRUE(db->query("EXPLAIN " + select, {}, [&](const sql::Row& row) {
                    for (int column = 3; column < 10; ++column) {
                      line += std::string{row.bytes(column)} + "|";
                    }
                  }).ok());
    return line;
  };
  const std::string table = "lts_wjq_default FORCE INDEX (hand_out) ";
  EXPECT_THAT(plan("SELECT priority, MIN(trigger_time_us) FROM " + table +
                   "WHERE priority >= -1 GROUP BY priority ORDER BY priority"),
              HasSubstr("Using index for group-by"));
  const auto after = plan("SELECT * FROM " + table +
                          "WHERE priority = 1 AND trigger_time_us > 2 AND trigger_time_us <= " +
                          std::to_string(kNow.time_since_epoch().count() + 50'000'000) +
                          " ORDER BY trigger_time_us, job_id LIMIT 4");
  EXPECT_THAT(after, HasSubstr("range|hand_out"));
  EXPECT_THAT(after, Not(HasSubstr("filesort")));
  const auto at = plan("SELECT * FROM " + table + "WHERE priority = 1 AND trigger_time_us = " +
                       std::to_string(kNow.time_since_epoch().count() + 1'000'000) +
                       " AND job_id > 5 ORDER BY trigger_time_us, job_id LIMIT 4");
  EXPECT_THAT(at, HasSubstr("hand_out"));
  EXPECT_THAT(at, Not(HasSubstr("filesort")));
  const auto retries = plan(
      "SELECT * FROM lts_wjq_default FORCE INDEX (definition) "
      "WHERE definition_id IN (1, 2, 3) AND attempt > 0");
  EXPECT_THAT(retries, HasSubstr("range|definition|definition|9"));  // Both of its columns.
  const auto of_definition = plan(
      "SELECT * FROM lts_wjq_default WHERE definition_id = 3 ORDER BY attempt DESC, job_id DESC "
      "LIMIT 4");
  EXPECT_THAT(of_definition, HasSubstr("definition|definition"));
  EXPECT_THAT(of_definition, Not(HasSubstr("filesort")));
}

}  // namespace
}  // namespace carillon::jobtracker
