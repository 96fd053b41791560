#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/store/sql/sql_store.h"
#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

// That no statement which runs with millions of rows there walks over all of them: what is
// explained are the statements of the store itself.
namespace carillon::jobtracker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs the statements, and notes how each of them is carried out.
class ExplainedConnection final : public sql::Connection {
 public:
  ExplainedConnection(std::unique_ptr<sql::Connection> db, std::string& plans)
      : db_(std::move(db)), plans_(plans) {}

  sql::Dialect dialect() const override { return db_->dialect(); }
  Status begin() override { return db_->begin(); }
  Status commit() override { return db_->commit(); }
  Status rollback() override { return db_->rollback(); }

  Result<std::int64_t> execute(std::string_view sql,
                               std::span<const sql::Value> parameters) override {
    CARILLON_TRY(explain(sql, parameters));
    return db_->execute(sql, parameters);
  }
  Status query(std::string_view sql, std::span<const sql::Value> parameters,
               const std::function<void(const sql::Row&)>& on_row) override {
    CARILLON_TRY(explain(sql, parameters));
    return db_->query(sql, parameters, on_row);
  }

  Status insert_rows(std::string_view head, int columns,
                     std::span<const sql::Value> values) override {
    return db_->insert_rows(head, columns, values);
  }
  Result<std::vector<bool>> delete_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const sql::Value> keys) override {
    return db_->delete_rows(table, key_columns, keys);
  }
  Result<std::vector<bool>> update_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const std::string_view> set_columns,
                                        std::span<const sql::Value> values) override {
    return db_->update_rows(table, key_columns, set_columns, values);
  }
  Status run_script(std::string_view script) override { return db_->run_script(script); }

 private:
  Status explain(std::string_view sql, std::span<const sql::Value> parameters) {
    return db_->query("EXPLAIN QUERY PLAN " + std::string{sql}, parameters,
                      [this](const sql::Row& row) { plans_ += std::string{row.bytes(3)} + "\n"; });
  }

  const std::unique_ptr<sql::Connection> db_;
  std::string& plans_;
};

class QueryPlansTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto connect = [this]() -> Result<std::unique_ptr<sql::Connection>> {
      auto db = CARILLON_TRY(sql::SqliteConnection::open(folder_.file("carillon.db"), {}));
      return std::unique_ptr<sql::Connection>{
          std::make_unique<ExplainedConnection>(std::move(db), plans_)};
    };
    const SqlStoreOptions options{.session = {.session = SessionId{1}, .name = "tracker"}};
    auto opened = SqlStore::open(connect, options, clock_, log_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(opened.value().store);
    group_ = std::get<GroupAnswer>(store_->read(MakeGroup{"default"}).value()).group.id;
    definition_ = {.id = DefinitionId{1}, .group = group_, .task_id = "nightly"};
    commit(AddJob{{.id = JobId{1}, .group = group_, .trigger_time = at(5)}});
    commit(AddDefinition{definition_, {}});
  }

  static WallTime at(int second) { return WallTime{std::chrono::seconds{second}}; }

  // Of the statements that it takes.
  std::string plans_of(const Read& question) {
    plans_.clear();
    EXPECT_TRUE(store_->read(question).ok());
    return plans_;
  }
  std::string commit(Operation operation) {
    plans_.clear();
    const Batch batch{
        .number = ++batches_, .operations = {std::move(operation)}, .log_settled = 1'000};
    EXPECT_TRUE(std::holds_alternative<Committed>(store_->commit(batch)));
    return plans_;
  }

  testing::TempFolder folder_{};
  ManualClock clock_{};
  Logger log_{"store"};
  std::string plans_{};
  std::unique_ptr<Store> store_{};
  std::int64_t batches_ = 0;
  GroupId group_{};
  Definition definition_{};
};

TEST_F(QueryPlansTest, HistoryFiltersUseTheLogIndexes) {
  for (int i = 1; i <= 8; ++i)
    commit(AddLog{{.id = 100 + i, .job_id = JobId{1}, .group = group_, .task_id = "nightly"}});
  commit(IndexLog{.rows = 4, .slice_rows = 4});
  commit(IndexLog{.rows = 4, .slice_rows = 4});
  const auto row_by_row = AllOf(HasSubstr("SEARCH lts_log_key USING PRIMARY KEY (slice=? AND "
                                          "key_hash=? AND log_id>? AND log_id<?)"),
                                HasSubstr("SEARCH lts_job_log USING INTEGER PRIMARY KEY (rowid=?)"),
                                Not(HasSubstr("SCAN lts_job_log")));
  EXPECT_THAT(plans_of(ListHistory{.task_id = "nightly", .limit = 20}), row_by_row);
  EXPECT_THAT(plans_of(ListHistory{.job_id = JobId{1}, .limit = 20}), row_by_row);
  const auto piece_by_piece =
      AllOf(HasSubstr("SEARCH lts_log_piece USING PRIMARY KEY (slice=? AND state=? AND group_id=?"),
            Not(HasSubstr("SCAN lts_job_log")));
  EXPECT_THAT(plans_of(ListHistory{.states = {LogState::kFailed}, .limit = 20}), piece_by_piece);
  EXPECT_THAT(plans_of(ListHistory{.groups = {group_}, .limit = 20}), piece_by_piece);
}

TEST_F(QueryPlansTest, OpensNoTableOfAGroupWithoutWaitingJobs) {
  const GroupId other = std::get<GroupAnswer>(store_->read(MakeGroup{"other"}).value()).group.id;
  const auto plans = [&] {
    return plans_of(CountWaiting{}) + plans_of(Find{.job_id = JobId{99}}) +
           plans_of(ListWaiting{.group = group_,
                                .and_later_groups = true,
                                .after = HandOutKey{kPriorityDefault, at(9), JobId{}},
                                .limit = 5});
  };
  EXPECT_THAT(plans(), AllOf(HasSubstr("lts_wjq_default"), Not(HasSubstr("lts_wjq_other"))));
  const WaitingJob job{.id = JobId{2}, .group = other};
  commit(AddJob{job});
  EXPECT_THAT(plans(), HasSubstr("lts_wjq_other"));
  commit(ChangeWaiting{.from = job});
  for (int i = 0; i < 2; ++i) {
    clock_.advance(std::chrono::seconds{1});
    commit(RemoveFeedback{});
  }
  EXPECT_THAT(plans(), AllOf(HasSubstr("lts_wjq_default"), Not(HasSubstr("lts_wjq_other"))));
}

TEST_F(QueryPlansTest, CountsNoFurtherGroupAfterTheTimeLimit) {
  const CountWaiting limited{.now = at(10), .time_max = Duration{1}};
  EXPECT_THAT(plans_of(limited), Not(HasSubstr("lts_wjq_default")));
  const auto counts = std::get<CountAnswer>(store_->read(limited).value()).groups;
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_FALSE(counts.front().is_known);
  EXPECT_THAT(plans_of(CountWaiting{.now = at(10)}), HasSubstr("lts_wjq_default"));
}

TEST_F(QueryPlansTest, DueJobsAreReadInIndexOrder) {
  const auto along_the_order =
      AllOf(HasSubstr("lts_wjq_default.order (priority>?)"),
            HasSubstr("lts_wjq_default.order (priority=? AND trigger_time_us=? AND rowid>?)"),
            HasSubstr("lts_wjq_default.order (priority=? AND trigger_time_us>? AND "
                      "trigger_time_us<?)"),
            Not(HasSubstr("TEMP B-TREE")), Not(HasSubstr("SCAN lts_wjq_default")));

  EXPECT_THAT(plans_of(ReadDue{.group = group_,
                               .now = at(9),
                               .after = HandOutKey{kPriorityDefault, at(3), JobId{}},
                               .limit = 4}),
              along_the_order);
  EXPECT_THAT(
      plans_of(ReadUpcoming{.group = group_, .after_time = at(3), .through = at(9), .limit = 4}),
      along_the_order);
}

TEST_F(QueryPlansTest, DelayedJobsAreReadInTimeOrder) {
  EXPECT_THAT(plans_of(ReadDelayed{.through = at(9), .limit = 5}),
              AllOf(HasSubstr("lts_delayed_job_queue.time (suspended=? AND trigger_time_us<?)"),
                    Not(HasSubstr("TEMP B-TREE"))));
}

TEST_F(QueryPlansTest, StartupScansNoWaitingJobs) {
  EXPECT_THAT(
      plans_of(ReadStart{}),
      AllOf(HasSubstr("lts_wjq_default.definition (definition_id>?)"),
            HasSubstr("lts_delayed_job_queue.definition (definition_id>?)"),
            Not(HasSubstr("SCAN lts_wjq_default")), Not(HasSubstr("SCAN lts_delayed_job_queue"))));
}

TEST_F(QueryPlansTest, UntriedRunsOfADefinitionAreReadInIdOrder) {
  EXPECT_THAT(
      plans_of(ReadOccurrences{
          .definition = definition_.id, .group = group_, .limit = 5, .untried_before = JobId{9}}),
      AllOf(
          HasSubstr("lts_wjq_default.definition (definition_id=? AND attempt=? AND rowid<?)"),
          HasSubstr("lts_delayed_job_queue.definition (definition_id=? AND attempt=? AND rowid<?)"),
          Not(HasSubstr("TEMP B-TREE"))));
}

TEST_F(QueryPlansTest, DefinitionPagesAreReadInIdOrder) {
  const auto by_id =
      AllOf(HasSubstr("SEARCH lts_cron_job_queue USING INTEGER PRIMARY KEY (rowid>?)"),
            HasSubstr("SEARCH lts_repeat_job_queue USING INTEGER PRIMARY KEY (rowid>?)"),
            HasSubstr("SEARCH lts_cron_job_queue USING INTEGER PRIMARY KEY (rowid=?)"),
            Not(HasSubstr("SCAN lts_cron_job_queue")), Not(HasSubstr("SCAN lts_repeat_job_queue")));

  EXPECT_THAT(plans_of(ListDefinitions{.limit = 4}), by_id);
  EXPECT_THAT(plans_of(ListDefinitions{.groups = {group_}, .limit = 4}), by_id);
}

TEST_F(QueryPlansTest, DefinitionsOfATaskAreFoundByKey) {
  EXPECT_THAT(plans_of(ListDefinitions{.task_id = "nightly", .limit = 4}),
              AllOf(HasSubstr("SEARCH lts_task_id USING PRIMARY KEY (group_id=? AND task_id=?)"),
                    HasSubstr("SEARCH lts_cron_job_queue USING INTEGER PRIMARY KEY (rowid=?)"),
                    HasSubstr("SEARCH lts_repeat_job_queue USING INTEGER PRIMARY KEY (rowid=?)"),
                    Not(HasSubstr("SCAN lts_task_id")), Not(HasSubstr("SCAN lts_cron_job_queue")),
                    Not(HasSubstr("SCAN lts_repeat_job_queue"))));
}

TEST_F(QueryPlansTest, WaitingRunsOfADefinitionAreFoundByIndex) {
  EXPECT_THAT(
      commit(ChangeDefinition{.id = definition_.id,
                              .expected_version = definition_.version,
                              .to = definition_,
                              .void_waiting = true,
                              .group = group_}),
      AllOf(HasSubstr("lts_wjq_default.definition (definition_id=?)"),
            HasSubstr("lts_delayed_job_queue.definition (definition_id=?)"),
            Not(HasSubstr("SCAN lts_wjq_default")), Not(HasSubstr("SCAN lts_delayed_job_queue"))));
}

}  // namespace
}  // namespace carillon::jobtracker
