#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/contract/sql_store_database.h"
#include "tests/support/temp_folder.h"

namespace carillon::jobtracker {

// An SQLite connection that can be cut off.
class CutConnection final : public sql::Connection {
 public:
  struct Cut {
    std::optional<bool> commit{};  // at the next COMMIT; whether that is done
    std::string bytes{};           // when rows that hold them are to be inserted
  };

  // `cut` must outlive the connection; it is set back once it has struck.
  CutConnection(std::unique_ptr<sql::Connection> inner, Cut& cut)
      : inner_(std::move(inner)), cut_(cut) {}

  sql::Dialect dialect() const override { return inner_->dialect(); }
  Status begin() override { return inner_->begin(); }
  Status commit() override {
    const auto is_done = std::exchange(cut_.commit, std::nullopt);
    if (!is_done) return inner_->commit();
    auto status = *is_done ? inner_->commit() : inner_->rollback();
    if (!status.ok()) return status;
    return Error{ErrorCode::kTimeout, "the connection was cut inside COMMIT"};
  }
  Status rollback() override { return inner_->rollback(); }
  Result<std::int64_t> execute(std::string_view sql,
                               std::span<const sql::Value> parameters) override {
    return inner_->execute(sql, parameters);
  }
  Status query(std::string_view sql, std::span<const sql::Value> parameters,
               const std::function<void(const sql::Row&)>& on_row) override {
    return inner_->query(sql, parameters, on_row);
  }
  Status insert_rows(std::string_view head, int columns,
                     std::span<const sql::Value> values) override {
    const bool is_cut = !cut_.bytes.empty() &&
                        std::any_of(values.begin(), values.end(), [&](const sql::Value& value) {
                          return value.text == cut_.bytes;
                        });
    if (!is_cut) return inner_->insert_rows(head, columns, values);
    cut_.bytes.clear();
    CARILLON_TRY(inner_->rollback());
    return Error{ErrorCode::kUnavailable, "the connection was cut"};
  }
  Result<std::vector<bool>> delete_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const sql::Value> keys) override {
    return inner_->delete_rows(table, key_columns, keys);
  }
  Result<std::vector<bool>> update_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const std::string_view> set_columns,
                                        std::span<const sql::Value> values) override {
    return inner_->update_rows(table, key_columns, set_columns, values);
  }
  Status run_script(std::string_view script) override { return inner_->run_script(script); }

 private:
  std::unique_ptr<sql::Connection> inner_;
  Cut& cut_;
};

// A store in a file of a temporary folder, opened without the lock that would keep a second
// session of the same test out.
class SqliteTestDatabase final : public SqlTestDatabase {
 public:
  Result<std::unique_ptr<ReadOnlyStore>> open_reader() override {
    return std::unique_ptr<ReadOnlyStore>{std::make_unique<SqlReader>(
        [this] { return connect_to({.create = false, .read_only = true}); })};
  }
  void cut_next_commit(bool committed) override { cut_.commit = committed; }
  void cut_when_sent(const std::string& bytes) override { cut_.bytes = bytes; }

 protected:
  Result<std::unique_ptr<sql::Connection>> connect() override { return connect_to({}); }
  Result<std::unique_ptr<sql::Connection>> connect_beside() override { return connect_to({}); }

 private:
  Result<std::unique_ptr<sql::Connection>> connect_to(const sql::SqliteOptions& options) {
    auto connection = CARILLON_TRY(sql::SqliteConnection::open(folder_.file("store.db"), options));
    return std::unique_ptr<sql::Connection>{
        std::make_unique<CutConnection>(std::move(connection), cut_)};
  }

  testing::TempFolder folder_{};
  CutConnection::Cut cut_{};
};

}  // namespace carillon::jobtracker
