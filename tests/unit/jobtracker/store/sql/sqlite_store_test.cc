#include "jobtracker/store/sql/sqlite_store.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "jobtracker/store/sql/embedded_schema.h"
#include "jobtracker/store/sql/schema_migration.h"
#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace carillon::jobtracker {
namespace {

using ::testing::HasSubstr;

class SqliteStoreTest : public ::testing::Test {
 protected:
  Result<OpenedStore> open(const std::string& path) {
    return open_sqlite_store(path, {.session = SessionId{++session_}, .name = "tracker"}, describe_,
                             clock_, log_);
  }
  Result<OpenedStore> open() { return open(path_); }

  Error refused(const std::string& path) {
    const auto opened = open(path);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error{} : opened.error();
  }

  std::unique_ptr<sql::SqliteConnection> connect() {
    return sql::SqliteConnection::open(path_, {}).value();
  }

  static std::string text(sql::Connection& db, const std::string& select) {
    std::string found;
    EXPECT_TRUE(
        db.query(select, {}, [&](const sql::Row& row) { found = std::string{row.bytes(0)}; }).ok());
    return found;
  }

  testing::TempFolder folder_{};
  std::string path_ = folder_.file("carillon.db");
  ManualClock clock_{};
  Logger log_{"store"};
  DescribeSpec describe_{};
  std::int64_t session_ = 0;
};

TEST_F(SqliteStoreTest, ReportsItsLocationAndOnlyOnceThatItIsNew) {
  {
    const auto first = open();
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_TRUE(first.value().newly_made);
    EXPECT_EQ(first.value().place, "sqlite:" + path_);
  }
  const auto second = open();
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_FALSE(second.value().newly_made);
}

TEST_F(SqliteStoreTest, RefusesAnOpenStoreAndNamesTheProcess) {
  const auto first = open();
  ASSERT_TRUE(first.ok());

  const auto error = refused(path_);

  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_THAT(error.message,
              HasSubstr(path_ + ".lock is held by process " + std::to_string(getpid())));
}

TEST_F(SqliteStoreTest, RefusesANewerSchemaWithoutChangingIt) {
  ASSERT_TRUE(open().ok());
  ASSERT_TRUE(connect()->execute("INSERT INTO lts_schema VALUES (25, 0)", {}).ok());

  const auto error = refused(path_);

  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message, "store sqlite:" + path_ +
                               " has schema 25, this program knows up to 24: install a newer "
                               "carillon");
  EXPECT_EQ(text(*connect(), "SELECT COUNT(*) FROM lts_tracker WHERE session_id = 2"), "0");
}

TEST_F(SqliteStoreTest, MigratesAnOlderSchema) {
  const auto db = connect();
  ASSERT_TRUE(db->run_script(migrations(sql::Dialect::kSqlite)[0].script).ok());
  ASSERT_TRUE(db->run_script("INSERT INTO lts_schema VALUES (1, 0);\n"
                             "INSERT INTO lts_task_id VALUES (1, 'soon', 7, 0), (1, 'far', 8, 0),"
                             " (1, 'cron', 0, 3);\n"
                             "INSERT INTO lts_job_log VALUES"
                             " (9, 1, 1, 'gone', 12, 1, 0, 0, 0, 0, '', NULL, '', 1, 1, 0);\n"
                             "INSERT INTO lts_delayed_job_queue VALUES"
                             " (8, 'far', NULL, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, '', 1, 0);\n")
                  .ok());

  const auto opened = open();

  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(text(*db, "SELECT group_concat(task_id) FROM lts_task_id"), "cron,soon");
  EXPECT_EQ(text(*db, "SELECT group_concat(task_id) FROM lts_delayed_task_id"), "far");
  EXPECT_EQ(text(*db, "SELECT definition_id FROM lts_definition_high"), "12");
}

TEST_F(SqliteStoreTest, MigratesTheTablesOfGroups) {
  WaitingJob job{.id = JobId{1}, .attempt = 1, .failures = 1};
  {
    auto opened = open();
    Store& store = *opened.value().store;
    job.group = std::get<GroupAnswer>(store.read(MakeGroup{"mail"}).value()).group.id;
    store.commit({.number = 1, .operations = {AddJob{job}}});
  }
  // As schema 3 was; of one group only the table was made.
  ASSERT_TRUE(connect()
                  ->run_script("DELETE FROM lts_schema WHERE version >= 4;\n"
                               "DROP TABLE lts_feedback_queue;\n"
                               "DROP TABLE lts_partition;\n"
                               "DROP TABLE lts_inbox;\n"
                               "DROP TABLE lts_executor_group;\n"
                               "DROP TABLE lts_executor;\n"
                               "DROP TABLE lts_push_run;\n"
                               "DROP TABLE lts_push_route;\n"
                               "DROP TABLE lts_executor_result;\n"
                               "DROP TABLE lts_alarm;\n"
                               "DROP TABLE lts_log_count;\n"
                               "DROP TABLE lts_script;\n"
                               "DROP TABLE lts_log_slice;\n"
                               "DROP TABLE lts_log_key;\n"
                               "DROP TABLE lts_log_piece;\n"
                               "DROP TABLE lts_waiting_group;\n"
                               "DROP TABLE lts_audit;\n"
                               "DROP TABLE lts_principal;\n"
                               "DROP TABLE lts_figures;\n"
                               "DROP TABLE lts_alarm_history;\n"
                               "DROP TABLE lts_silence;\n"
                               "ALTER TABLE lts_job_log DROP COLUMN executor_log_id;\n"
                               "ALTER TABLE lts_tracker DROP COLUMN number;\n"
                               "ALTER TABLE lts_tracker DROP COLUMN address;\n"
                               "ALTER TABLE lts_tracker DROP COLUMN yields;\n"
                               "ALTER TABLE lts_tracker DROP COLUMN lease_us;\n"
                               "ALTER TABLE lts_tracker DROP COLUMN log_settled;\n"
                               "ALTER TABLE lts_delayed_job_queue DROP COLUMN moved_from_us;\n"
                               "ALTER TABLE lts_executing_job_queue DROP COLUMN moved_from_us;\n"
                               "ALTER TABLE lts_wjq_mail DROP COLUMN moved_from_us;\n"
                               "CREATE TABLE lts_wjq_left AS SELECT * FROM lts_wjq_mail;\n")
                  .ok());

  auto opened = open();

  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Store& store = *opened.value().store;
  const ListWaiting all{.group = job.group, .limit = 9};
  EXPECT_THAT(std::get<JobsAnswer>(store.read(all).value()).jobs, ::testing::ElementsAre(job));
  WaitingJob held_back = job;
  held_back.not_before = WallTime{std::chrono::seconds{9}};
  store.commit({.number = 1, .operations = {ChangeWaiting{.from = job, .to = held_back}}});
  EXPECT_THAT(std::get<JobsAnswer>(store.read(all).value()).jobs,
              ::testing::ElementsAre(held_back));
  EXPECT_EQ(text(*connect(), "SELECT COUNT(moved_from_us) FROM lts_wjq_left"), "0");
  EXPECT_EQ(text(*connect(), "SELECT group_concat(group_id) FROM lts_waiting_group"), "1");
}

TEST_F(SqliteStoreTest, LeavesOtherTablesOfTheDatabaseAlone) {
  ASSERT_TRUE(connect()->run_script("CREATE TABLE mine (x);\nINSERT INTO mine VALUES (1);\n").ok());
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(opened.value().newly_made);
  EXPECT_EQ(text(*connect(), "SELECT x FROM mine"), "1");
}

TEST_F(SqliteStoreTest, RefusesAnLtsDatabaseAndChangesNothing) {
  ASSERT_TRUE(connect()->run_script("CREATE TABLE lts_node_group_store (name);\n").ok());

  const auto error = refused(path_);

  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("is a database of LTS"));
  EXPECT_EQ(text(*connect(), "SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'lts%'"), "1");
}

TEST_F(SqliteStoreTest, CreatesAllTablesOrNone) {
  // A table of ours stands in the way of one in the middle of the script.
  ASSERT_TRUE(connect()->run_script("CREATE TABLE lts_job_log (x);\n").ok());

  const auto error = refused(path_);

  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("schema 1"));
  EXPECT_THAT(error.message, HasSubstr("lts_job_log already exists"));
  EXPECT_EQ(text(*connect(), "SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'lts%'"), "1");
}

TEST_F(SqliteStoreTest, RefusesAFileThatIsNotADatabase) {
  std::ofstream{path_} << std::string(10'000, 'x');
  const auto error = refused(path_);
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr(path_));
}

TEST_F(SqliteStoreTest, RefusesAMissingFolder) {
  const auto error = refused(folder_.file("missing/carillon.db"));
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("missing/carillon.db"));
  EXPECT_THAT(error.message, HasSubstr("create its folder first"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "missing"));
}

TEST_F(SqliteStoreTest, RefusesAnUnwritableFolder) {
  const auto locked = folder_.path() / "locked";
  std::filesystem::create_directory(locked);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
  std::filesystem::permissions(locked, std::filesystem::perms{0555});
  // Permissions do not bind root.
  const bool is_root = geteuid() == 0;
  ASSERT_TRUE(!is_root || seteuid(65534) == 0);
  const auto error = refused((locked / "carillon.db").string());
  ASSERT_TRUE(!is_root || seteuid(0) == 0);

  EXPECT_EQ(error.code, ErrorCode::kDenied);
  EXPECT_THAT(error.message, HasSubstr("locked/carillon.db"));
  EXPECT_TRUE(std::filesystem::is_empty(locked));
}

TEST_F(SqliteStoreTest, RollsBackABatchWhenTheDiskIsFull) {
  const auto connect_small = [this]() -> Result<std::unique_ptr<sql::Connection>> {
    std::unique_ptr<sql::Connection> db = CARILLON_TRY(sql::SqliteConnection::open(path_, {}));
    CARILLON_TRY(db->query("PRAGMA max_page_count = 100", {}, [](const sql::Row&) {}));
    return db;
  };
  SqlStoreOptions options;
  options.session.session = SessionId{1};
  options.name = "small";
  auto opened = SqlStore::open(connect_small, options, clock_, log_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Store& store = *opened.value().store;
  const GroupId group = std::get<GroupAnswer>(store.read(MakeGroup{"default"}).value()).group.id;
  const WaitingJob small{.id = JobId{1}, .group = group};
  const WaitingJob large{.id = JobId{2}, .group = group, .spec = std::string(600'000, 'x')};

  const auto result = store.commit({.number = 1, .operations = {AddJob{small}, AddJob{large}}});

  const auto& back = std::get<RolledBack>(result);
  EXPECT_EQ(back.error.code, ErrorCode::kLimit) << back.error.message;
  EXPECT_THAT(back.error.message, HasSubstr("free space"));
  EXPECT_FALSE(back.culprit);
  EXPECT_TRUE(std::holds_alternative<Committed>(
      store.commit({.number = 1, .operations = {AddJob{small}}})));
  const auto jobs =
      std::get<JobsAnswer>(store.read(ListWaiting{.group = group, .limit = 9}).value());
  EXPECT_THAT(jobs.jobs, ::testing::ElementsAre(small));
}

TEST_F(SqliteStoreTest, CreatesAGroupWhoseTableWasLeftByACrash) {
  {
    auto opened = open();
    ASSERT_TRUE(opened.value().store->read(MakeGroup{"mail"}).ok());
  }
  ASSERT_TRUE(connect()->execute("DELETE FROM lts_node_group", {}).ok());

  auto opened = open();
  Store& store = *opened.value().store;
  const auto group = std::get<GroupAnswer>(store.read(MakeGroup{"mail"}).value()).group;

  EXPECT_EQ(group.table, "lts_wjq_mail");
  EXPECT_TRUE(std::holds_alternative<Committed>(
      store.commit({.number = 1, .operations = {AddJob{{.id = JobId{1}, .group = group.id}}}})));
}

TEST_F(SqliteStoreTest, ShowsReadableSchedulesInItsTables) {
  describe_ = [](std::string_view spec) {
    return ScheduleText{.schedule = "every " + std::string{spec}, .tz = "Asia/Shanghai"};
  };
  auto opened = open();
  Store& store = *opened.value().store;
  const GroupId group = std::get<GroupAnswer>(store.read(MakeGroup{"default"}).value()).group.id;
  const Definition definition{.id = DefinitionId{1}, .group = group, .task_id = "t", .spec = "day"};
  store.commit({.number = 1, .operations = {AddDefinition{definition, {}}}});
  const auto shown = [this] {
    return text(*connect(), "SELECT schedule || ', ' || tz FROM lts_cron_job_queue");
  };
  EXPECT_EQ(shown(), "every day, Asia/Shanghai");

  auto edited = definition;
  edited.spec = "hour";
  store.commit(
      {.number = 2,
       .operations = {ChangeDefinition{
           .id = definition.id, .expected_version = 1, .to = edited, .spec_changed = true}}});
  EXPECT_EQ(shown(), "every hour, Asia/Shanghai");
}

TEST_F(SqliteStoreTest, CheckpointsAlongsideTheStore) {
  auto opened = open();
  Store& store = *opened.value().store;
  const GroupId group = std::get<GroupAnswer>(store.read(MakeGroup{"default"}).value()).group.id;
  auto checkpointer = SqliteCheckpointer::open(path_);
  ASSERT_TRUE(checkpointer.ok()) << checkpointer.error().message;
  const auto wal_size = [this] { return std::filesystem::file_size(path_ + "-wal"); };
  std::uintmax_t first = 0;
  for (std::int64_t number = 1; number <= 20; ++number) {
    const WaitingJob job{.id = JobId{number}, .group = group, .spec = std::string(100'000, 'x')};
    store.commit({.number = number, .operations = {AddJob{job}}});
    const auto status = checkpointer.value()->run_once();
    ASSERT_TRUE(status.ok()) << status.error().message;
    if (number == 1) first = wal_size();
  }
  // The log was used again from its start, instead of growing by 100 kB a batch.
  EXPECT_LT(wal_size(), first + 300'000);
  EXPECT_GT(std::filesystem::file_size(path_), 1'900'000U);
}

}  // namespace
}  // namespace carillon::jobtracker
