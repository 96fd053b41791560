#include "tests/contract/sql_connection_contract.h"

#include <array>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>

namespace carillon::sql {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kKey[] = {"id"};

std::vector<Value> numbers(std::int64_t first, std::int64_t count) {
  std::vector<Value> values;
  for (std::int64_t number = first; number < first + count; ++number) {
    values.push_back(Value::of(number));
  }
  return values;
}

TEST_P(SqlConnectionContract, ReadsBackEveryValueType) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, i BIGINT, r DOUBLE, s " + text_type() + ", b " +
      bytes_type() + ", n BIGINT)");
  run("INSERT INTO t (id, i, r, s, b, n) VALUES (?, ?, ?, ?, ?, ?)",
      {Value::of(1), Value::of(-42), Value::of_real(0.1), Value::of_text("größer"),
       Value::of_bytes("raw"), Value::null()});

  int rows = 0;
  const auto status = connection_->query("SELECT i, r, s, b, n FROM t WHERE id = ?",
                                         std::vector{Value::of(1)}, [&](const Row& row) {
                                           ++rows;
                                           EXPECT_EQ(row.integer(0), -42);
                                           EXPECT_EQ(row.real(1), 0.1);
                                           EXPECT_EQ(row.bytes(2), "größer");
                                           EXPECT_EQ(row.bytes(3), "raw");
                                           EXPECT_FALSE(row.is_null(0));
                                           EXPECT_TRUE(row.is_null(4));
                                           EXPECT_EQ(row.integer(4), 0);
                                           EXPECT_EQ(row.bytes(4), "");
                                         });
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(rows, 1);
}

TEST_P(SqlConnectionContract, KeepsColumnViewsOfARowSeparate) {
  std::string joined;
  const auto status = connection_->query("SELECT 'one', 'two', 3", {}, [&](const Row& row) {
    const auto first = row.bytes(0);
    const auto second = row.bytes(1);
    const auto third = row.bytes(2);
    joined.append(first).append(second).append(third);
  });
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(joined, "onetwo3");
}

TEST_P(SqlConnectionContract, DistinguishesEmptyTextFromNull) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, s " + text_type() + ", b " + bytes_type() + ")");
  run("INSERT INTO t VALUES (?, ?, ?)",
      {Value::of(1), Value::of_text(std::string_view{}), Value::of_bytes(std::string_view{})});
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t WHERE s = '' AND b IS NOT NULL"), 1);
}

TEST_P(SqlConnectionContract, StoresEveryByteValueInBinaryColumns) {
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  all += all;
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, b " + bytes_type() + ")");
  run("INSERT INTO t VALUES (?, ?)", {Value::of(1), Value::of_bytes(all)});
  EXPECT_EQ(text("SELECT b FROM t"), all);
  EXPECT_EQ(number(*connection_, "SELECT LENGTH(b) FROM t"), 512);
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t WHERE b = ?", {Value::of_bytes(all)}), 1);
}

TEST_P(SqlConnectionContract, StoresZeroBytesAndEmojiInTextColumns) {
  const std::string hard{"a\0b \xF0\x9F\x9A\x80 'q' \"d\" \\n", 20};
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, s " + text_type() + ")");
  run("INSERT INTO t VALUES (?, ?)", {Value::of(1), Value::of_text(hard)});
  EXPECT_EQ(text("SELECT s FROM t WHERE s = ?", {Value::of_text(hard)}), hard);
}

TEST_P(SqlConnectionContract, StoresAMebibyteOfBytes) {
  std::string large(1 << 20, '\xFF');
  for (std::size_t at = 0; at < large.size(); at += 3) large[at] = static_cast<char>(at % 251);
  std::string other(300'000, '\0');
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, b " + bytes_type() + ")");
  run("INSERT INTO t VALUES (?, ?)", {Value::of(1), Value::of_bytes(large)});
  run("INSERT INTO t VALUES (?, ?)", {Value::of(2), Value::of_bytes(other)});
  run("INSERT INTO t VALUES (?, ?)", {Value::of(3), Value::of_bytes("small")});
  EXPECT_TRUE(text("SELECT b FROM t WHERE id = 1") == large);
  EXPECT_TRUE(text("SELECT b FROM t WHERE id = 2") == other);
  EXPECT_EQ(text("SELECT b FROM t WHERE id = 3"), "small");
}

TEST_P(SqlConnectionContract, StoresMinimumAndMaximumIntegers) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_
                  ->insert_rows("INSERT INTO t (id) VALUES", 1,
                                std::vector{Value::of(kLeast), Value::of(kMost)})
                  .ok());
  EXPECT_EQ(number(*connection_, "SELECT id FROM t WHERE id = ?", {Value::of(kLeast)}), kLeast);
  EXPECT_EQ(number(*connection_, "SELECT id FROM t WHERE id = ?", {Value::of(kMost)}), kMost);
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t WHERE id = ?", {Value::of(kMost - 1)}), 0);
}

TEST_P(SqlConnectionContract, ReadsAggregatesAsIntegers) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->insert_rows("INSERT INTO t (id) VALUES", 1, numbers(1, 100)).ok());
  EXPECT_EQ(number(*connection_, "SELECT SUM(id) FROM t"), 5050);
  EXPECT_EQ(number(*connection_, "SELECT MAX(id) FROM t"), 100);
  EXPECT_EQ(number(*connection_, "SELECT COALESCE(SUM(id), 0) FROM t WHERE id > 100"), 0);
}

TEST_P(SqlConnectionContract, SupportsQuotedIdentifiersPlainBackslashesAndConcatenation) {
  run("CREATE TABLE \"group\" (\"order\" BIGINT PRIMARY KEY)");
  run("INSERT INTO \"group\" (\"order\") VALUES (?)", {Value::of(7)});
  EXPECT_EQ(text("SELECT 'a\\' || \"order\" FROM \"group\""), "a\\7");
}

TEST_P(SqlConnectionContract, ComparesTextBytewise) {
  run("CREATE TABLE t (s " + text_type() + " PRIMARY KEY)");
  const std::vector texts{Value::of_text("mail"), Value::of_text("Mail"),
                          Value::of_text("m\u00e4il")};
  const auto status = connection_->insert_rows("INSERT INTO t (s) VALUES", 1, texts);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t WHERE s = ?", {Value::of_text("Mail")}),
            1);
}

TEST_P(SqlConnectionContract, CountsMatchedRowsEvenIfUnchanged) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT)");
  const auto inserted = connection_->execute("INSERT INTO t VALUES (1, 5), (2, 5)", {});
  const auto same = connection_->execute("UPDATE t SET v = ?", std::vector{Value::of(5)});
  const auto none = connection_->execute("UPDATE t SET v = 6 WHERE id = 9", {});
  const auto gone = connection_->execute("DELETE FROM t WHERE id = 2", {});
  const auto schema = connection_->execute("CREATE TABLE u (id BIGINT PRIMARY KEY)", {});
  EXPECT_EQ(inserted.value(), 2);
  EXPECT_EQ(same.value(), 2);
  EXPECT_EQ(none.value(), 0);
  EXPECT_EQ(gone.value(), 1);
  EXPECT_EQ(schema.value(), 0);
}

TEST_P(SqlConnectionContract, ReusesAStatementWithParametersOfDifferentTypes) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, s " + text_type() + ")");
  const std::string insert = "INSERT INTO t VALUES (?, ?)";
  run(insert, {Value::of(1), Value::of_text("text")});
  run(insert, {Value::of(2), Value::null()});
  run(insert, {Value::of(3), Value::of(33)});
  run(insert, {Value::of(4), Value::of_text("again")});
  EXPECT_EQ(text("SELECT s FROM t WHERE id = 1"), "text");
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t WHERE s IS NULL"), 1);
  EXPECT_EQ(text("SELECT s FROM t WHERE id = 3"), "33");
  EXPECT_EQ(text("SELECT s FROM t WHERE id = 4"), "again");
}

TEST_P(SqlConnectionContract, RunsMoreDistinctStatementsThanItCaches) {
  for (int index = 0; index < 1100; ++index) {
    const auto number_as_text = std::to_string(index % 600);
    ASSERT_EQ(text("SELECT '" + number_as_text + "'"), number_as_text);
  }
}

TEST_P(SqlConnectionContract, ReusesStatementsAfterSchemaChanges) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  run("INSERT INTO t (id) VALUES (?)", {Value::of(1)});
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 1);
  run("ALTER TABLE t ADD COLUMN extra BIGINT");
  run("INSERT INTO t (id) VALUES (?)", {Value::of(2)});
  run("DROP TABLE t");
  run("CREATE TABLE t (id " + text_type() + " PRIMARY KEY)");
  run("INSERT INTO t (id) VALUES (?)", {Value::of_text("three")});
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 1);
}

TEST_P(SqlConnectionContract, CommitsAndRollsBack) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  const auto other = connect();
  ASSERT_TRUE(connection_->begin().ok());
  run("INSERT INTO t VALUES (1)");
  EXPECT_EQ(number(*other, "SELECT COUNT(*) FROM t"), 0);
  ASSERT_TRUE(connection_->commit().ok());
  EXPECT_EQ(number(*other, "SELECT COUNT(*) FROM t"), 1);

  ASSERT_TRUE(connection_->begin().ok());
  run("INSERT INTO t VALUES (2)");
  ASSERT_TRUE(connection_->rollback().ok());
  ASSERT_TRUE(connection_->rollback().ok()) << "a second one finds no transaction";
  EXPECT_EQ(number(*other, "SELECT COUNT(*) FROM t"), 1);
}

TEST_P(SqlConnectionContract, DiscardsAnUncommittedTransactionOnClose) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->begin().ok());
  run("INSERT INTO t VALUES (1)");
  connection_.reset();
  const auto other = connect();
  EXPECT_EQ(number(*other, "SELECT COUNT(*) FROM t"), 0);
}

TEST_P(SqlConnectionContract, QuotesAnInvalidStatementInTheError) {
  const auto result = connection_->execute("SELEKT  1\n FROM nothing", {});
  ASSERT_EQ(code_of(result), ErrorCode::kInvalidArgument);
  EXPECT_THAT(result.error().message, HasSubstr("[SELEKT 1 FROM nothing]"));
  EXPECT_EQ(number(*connection_, "SELECT 1"), 1);
}

TEST_P(SqlConnectionContract, RefusesAQueryOfAnUnknownTable) {
  const auto status = connection_->query("SELECT 1 FROM nothing", {}, [](const Row&) {});
  EXPECT_EQ(code_of(status), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("nothing"));
}

TEST_P(SqlConnectionContract, RefusesAWrongNumberOfParameters) {
  const std::vector two{Value::of(1), Value::of(2)};
  EXPECT_EQ(code_of(connection_->execute("SELECT ?", two)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(number(*connection_, "SELECT ? + ?", two), 3);
  const auto known = connection_->query("SELECT ? + ?", std::vector{Value::of(1)}, [](const Row&) {
    ADD_FAILURE() << "ran with a parameter of an earlier call";
  });
  EXPECT_EQ(code_of(known), ErrorCode::kInvalidArgument);
}

TEST_P(SqlConnectionContract, RefusesTwoStatementsInOneCall) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  const auto result =
      connection_->execute("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)", {});
  EXPECT_EQ(code_of(result), ErrorCode::kInvalidArgument);
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 0);
}

TEST_P(SqlConnectionContract, RollsBackWhenAStatementFails) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->begin().ok());
  run("INSERT INTO t VALUES (1)");
  EXPECT_EQ(code_of(connection_->execute("INSERT INTO t VALUES (1)", {})),
            ErrorCode::kInvalidArgument);
  const auto other = connect();
  EXPECT_EQ(number(*other, "SELECT COUNT(*) FROM t"), 0);
  const auto written = other->execute("INSERT INTO t VALUES (1)", {});
  EXPECT_TRUE(written.ok()) << "a lock was left: " << written.error().message;
  ASSERT_TRUE(connection_->begin().ok());
  run("INSERT INTO t VALUES (2)");
  EXPECT_TRUE(connection_->commit().ok());
}

TEST_P(SqlConnectionContract, RollsBackWhenAQueryFails) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->begin().ok());
  run("INSERT INTO t VALUES (1)");
  EXPECT_FALSE(connection_->query("SELECT nothing FROM t", {}, [](const Row&) {}).ok());
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 0);
}

TEST_P(SqlConnectionContract, ReportsALockTimeoutAsConflictAndRollsBack) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT)");
  run("INSERT INTO t VALUES (1, 0), (2, 0)");
  const auto holder = connect();
  ASSERT_TRUE(holder->begin().ok());
  ASSERT_TRUE(holder->execute("UPDATE t SET v = 1 WHERE id = 1", {}).ok());

  const auto attempt = [&]() -> Status {
    CARILLON_TRY(connection_->begin());
    CARILLON_TRY(connection_->execute("UPDATE t SET v = 2 WHERE id = 2", {}));
    CARILLON_TRY(connection_->execute("UPDATE t SET v = 2 WHERE id = 1", {}));
    return connection_->commit();
  };
  EXPECT_EQ(code_of(attempt()), ErrorCode::kConflict);

  EXPECT_TRUE(holder->execute("UPDATE t SET v = 1 WHERE id = 2", {}).ok()) << "a lock was left";
  ASSERT_TRUE(holder->commit().ok());
  const auto second = attempt();
  EXPECT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(number(*holder, "SELECT SUM(v) FROM t"), 4);
}

TEST_P(SqlConnectionContract, InsertsAnyNumberOfRows) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, s " + text_type() + ", b " + bytes_type() + ")");
  std::int64_t total = 0;
  for (const int count : {0, 1, 7, 1000, 5000}) {
    SCOPED_TRACE(count);
    std::vector<std::string> texts;
    for (int row = 0; row < count; ++row) texts.push_back("row " + std::to_string(total + row));
    std::vector<Value> values;
    for (int row = 0; row < count; ++row) {
      values.push_back(Value::of(total + row));
      values.push_back(Value::of_text(texts[static_cast<std::size_t>(row)]));
      values.push_back(row % 2 == 0 ? Value::of_bytes("b") : Value::null());
    }
    const auto status = connection_->insert_rows("INSERT INTO t (id, s, b) VALUES", 3, values);
    ASSERT_TRUE(status.ok()) << status.error().message;
    total += count;
    EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), total);
  }
  EXPECT_EQ(text("SELECT s FROM t WHERE id = 6007"), "row 6007");
}

TEST_P(SqlConnectionContract, InsertsRowsLargerInTotalThanAPacket) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, b " + bytes_type() + ")");
  const std::string large(200'000, 'x');
  std::vector<Value> values;
  for (int row = 0; row < 150; ++row) {
    values.push_back(Value::of(row));
    values.push_back(Value::of_bytes(large));
  }
  const auto status = connection_->insert_rows("INSERT INTO t (id, b) VALUES", 2, values);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(number(*connection_, "SELECT SUM(LENGTH(b)) FROM t"), 150 * 200'000);
}

TEST_P(SqlConnectionContract, InsertsAllRowsOrNone) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  run("INSERT INTO t VALUES (999)");
  const auto alone = connection_->insert_rows("INSERT INTO t (id) VALUES", 1, numbers(0, 1000));
  EXPECT_EQ(code_of(alone), ErrorCode::kInvalidArgument);
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 1);

  ASSERT_TRUE(connection_->begin().ok());
  run("INSERT INTO t VALUES (5000)");
  EXPECT_FALSE(connection_->insert_rows("INSERT INTO t (id) VALUES", 1, numbers(0, 1000)).ok());
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 1);
}

TEST_P(SqlConnectionContract, ReplacesRows) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT)");
  const std::vector first{Value::of(1), Value::of(10), Value::of(2), Value::of(20)};
  const std::vector second{Value::of(2), Value::of(21), Value::of(3), Value::of(30)};
  ASSERT_TRUE(connection_->insert_rows("REPLACE INTO t (id, v) VALUES", 2, first).ok());
  ASSERT_TRUE(connection_->insert_rows("REPLACE INTO t (id, v) VALUES", 2, second).ok());
  EXPECT_EQ(number(*connection_, "SELECT SUM(v) FROM t"), 61);
}

TEST_P(SqlConnectionContract, ReportsForEachKeyWhetherARowWasDeleted) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->insert_rows("INSERT INTO t (id) VALUES", 1, numbers(10, 3)).ok());
  const std::vector keys{Value::of(12), Value::of(99), Value::of(10)};
  EXPECT_THAT(connection_->delete_rows("t", kKey, keys).value(), ElementsAre(true, false, true));
  EXPECT_THAT(connection_->delete_rows("t", kKey, keys).value(), ElementsAre(false, false, false));
  EXPECT_THAT(connection_->delete_rows("t", kKey, {}).value(), ElementsAre());
  EXPECT_EQ(number(*connection_, "SELECT SUM(id) FROM t"), 11);
}

TEST_P(SqlConnectionContract, DeletesThousandsOfRowsInKeyOrder) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  std::vector<Value> even;
  for (const auto& value : numbers(0, 3000)) even.push_back(Value::of(value.integer * 2));
  ASSERT_TRUE(connection_->insert_rows("INSERT INTO t (id) VALUES", 1, even).ok());

  ASSERT_TRUE(connection_->begin().ok());
  const auto was_there = connection_->delete_rows("t", kKey, numbers(0, 3001)).value();
  ASSERT_TRUE(connection_->commit().ok());
  ASSERT_EQ(was_there.size(), 3001U);
  int wrong = 0;
  for (std::size_t key = 0; key < was_there.size(); ++key) {
    if (was_there[key] != (key % 2 == 0)) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 3000 - 1501);
}

TEST_P(SqlConnectionContract, DistinguishesKeysBeyondFloatingPointPrecision) {
  constexpr std::int64_t kLarge = (std::int64_t{1} << 62) + 1;
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->insert_rows("INSERT INTO t (id) VALUES", 1, numbers(kLarge, 2)).ok());
  const std::vector keys{Value::of(kLarge - 1), Value::of(kLarge), Value::of(kLarge + 2)};
  EXPECT_THAT(connection_->delete_rows("t", kKey, keys).value(), ElementsAre(false, true, false));
  EXPECT_EQ(number(*connection_, "SELECT id FROM t"), kLarge + 1);
}

TEST_P(SqlConnectionContract, DeletesByCompositeKey) {
  run("CREATE TABLE t (g " + text_type() + ", n BIGINT, v BIGINT, PRIMARY KEY (g, n))");
  run("INSERT INTO t VALUES ('mail', 1, 1), ('mail', 2, 2), ('Mail', 1, 4), ('sms', 1, 8)");
  constexpr std::string_view kColumns[] = {"g", "n"};
  const std::vector keys{
      Value::of_text("mail"), Value::of(1), Value::of_text("sms"),  Value::of(2),
      Value::of_text("mail"), Value::of(2), Value::of_text("MAIL"), Value::of(1)};
  const auto was_there = connection_->delete_rows("t", kColumns, keys);
  ASSERT_TRUE(was_there.ok()) << was_there.error().message;
  EXPECT_THAT(was_there.value(), ElementsAre(true, false, true, false));
  EXPECT_EQ(number(*connection_, "SELECT SUM(v) FROM t"), 12);
}

TEST_P(SqlConnectionContract, DeletesByBinaryKey) {
  run("CREATE TABLE t (id " + key_bytes_type() + " PRIMARY KEY)");
  const std::vector keys{Value::of_bytes({"\0\xFF\x80", 3}), Value::of_bytes({"\0\xFF\x81", 3})};
  run("INSERT INTO t VALUES (?)", {keys[1]});
  const auto was_there = connection_->delete_rows("t", kKey, keys);
  ASSERT_TRUE(was_there.ok()) << was_there.error().message;
  EXPECT_THAT(was_there.value(), ElementsAre(false, true));
}

TEST_P(SqlConnectionContract, ReportsEachDeletedKeyToOneConnectionOnly) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->insert_rows("INSERT INTO t (id) VALUES", 1, numbers(0, 100)).ok());
  const auto other = connect();
  EXPECT_THAT(connection_->delete_rows("t", kKey, numbers(0, 60)).value(), Each(true));
  const auto late = other->delete_rows("t", kKey, numbers(50, 50)).value();
  EXPECT_EQ(std::count(late.begin(), late.end(), true), 40);
}

TEST_P(SqlConnectionContract, UpdatesRowsByKeyAndReportsWhichMatched) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, version BIGINT, a BIGINT, b " + text_type() + ")");
  run("INSERT INTO t VALUES (1, 1, 10, 'x'), (2, 7, 20, 'x'), (3, 1, 30, 'x'), (4, 1, 40, 'x')");
  constexpr std::string_view kKeys[] = {"id", "version"};
  constexpr std::string_view kSet[] = {"version", "a", "b"};
  const auto row = [](std::int64_t id, std::int64_t version, std::int64_t a, std::string_view b) {
    return std::array{Value::of(id), Value::of(1), Value::of(version), Value::of(a),
                      Value::of_text(b)};
  };
  std::vector<Value> values;
  // The third finds its row as it is to be: it was there all the same.
  for (const auto& one :
       {row(1, 2, 11, "y"), row(2, 2, 21, "y"), row(3, 1, 30, "x"), row(9, 2, 91, "y")}) {
    values.insert(values.end(), one.begin(), one.end());
  }
  EXPECT_THAT(connection_->update_rows("t", kKeys, kSet, values).value(),
              ElementsAre(true, false, true, false));
  EXPECT_EQ(number(*connection_, "SELECT SUM(a) FROM t"), 11 + 20 + 30 + 40);
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t WHERE b = 'y'"), 1);
  EXPECT_THAT(connection_->update_rows("t", kKeys, kSet, {}).value(), ElementsAre());
  const auto all = std::span{values}.subspan(2 * 5, 5);
  EXPECT_THAT(connection_->update_rows("t", kKeys, kSet, all).value(), ElementsAre(true));
}

TEST_P(SqlConnectionContract, RollsBackADeleteWithItsTransaction) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  ASSERT_TRUE(connection_->insert_rows("INSERT INTO t (id) VALUES", 1, numbers(0, 10)).ok());
  ASSERT_TRUE(connection_->begin().ok());
  ASSERT_TRUE(connection_->delete_rows("t", kKey, numbers(0, 10)).ok());
  ASSERT_TRUE(connection_->rollback().ok());
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 10);
}

TEST_P(SqlConnectionContract, RefusesToDeleteFromAnUnknownTable) {
  const auto result = connection_->delete_rows("nothing", kKey, numbers(0, 3));
  EXPECT_EQ(code_of(result), ErrorCode::kInvalidArgument);
  EXPECT_EQ(number(*connection_, "SELECT 1"), 1);
}

TEST_P(SqlConnectionContract, RunsAScriptOfManyStatements) {
  const auto status = connection_->run_script(
      "-- A comment; with a semicolon;\n"
      "CREATE TABLE t (\n  id BIGINT PRIMARY KEY\n);\n\n"
      "INSERT INTO t VALUES (1);  \r\n"
      "INSERT INTO t\n  VALUES (2)");
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(number(*connection_, "SELECT COUNT(*) FROM t"), 2);
}

TEST_P(SqlConnectionContract, NamesTheFailingStatementOfAScript) {
  const auto status = connection_->run_script(
      "CREATE TABLE t (id BIGINT PRIMARY KEY);\nCREATE TABEL u (id BIGINT);\n");
  ASSERT_EQ(code_of(status), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("CREATE TABEL u"));
}

}  // namespace
}  // namespace carillon::sql
