#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/assert.h"
#include "shared/sql/sql_connection.h"

namespace carillon::fuzz {

// A database made of a text. Each line is a row: the table's name, then the values of the columns
// in the order in which they are asked for, separated by "|". A value that is left out is null.
//
// Thread: any.
class TextDatabase final : public sql::Connection {
 public:
  // `columns`: those of each table, for who asks for them.
  TextDatabase(std::string_view text, std::vector<std::string> columns)
      : columns_(std::move(columns)) {
    for (const std::string_view line : parts_of(text, '\n')) {
      std::vector<std::string_view> values = parts_of(line, '|');
      const std::string table{values.front()};
      values.erase(values.begin());
      tables_[table].push_back(std::move(values));
    }
  }

  Status query(std::string_view sql, std::span<const sql::Value>,
               const std::function<void(const sql::Row&)>& on_row) override {
    for (const auto& [table, rows] : tables_) {
      if (sql.find("INFORMATION_SCHEMA.TABLES") != std::string_view::npos) {
        on_row(TextRow({table}));
      } else if (sql.find("INFORMATION_SCHEMA.COLUMNS") != std::string_view::npos) {
        for (const std::string& column : columns_) on_row(TextRow({table, column}));
      } else if (is_from(sql, table)) {
        for (const auto& row : rows) on_row(TextRow(row));
      }
    }
    return {};
  }

  sql::Dialect dialect() const override { return sql::Dialect::kMysql; }
  Status begin() override { return {}; }
  Status commit() override { return {}; }
  Status rollback() override { return {}; }
  Status run_script(std::string_view) override { return unused(); }
  Result<std::int64_t> execute(std::string_view, std::span<const sql::Value>) override {
    return unused();
  }
  Status insert_rows(std::string_view, int, std::span<const sql::Value>) override {
    return unused();
  }
  Result<std::vector<bool>> delete_rows(std::string_view, std::span<const std::string_view>,
                                        std::span<const sql::Value>) override {
    return unused();
  }
  Result<std::vector<bool>> update_rows(std::string_view, std::span<const std::string_view>,
                                        std::span<const std::string_view>,
                                        std::span<const sql::Value>) override {
    return unused();
  }

 private:
  class TextRow final : public sql::Row {
   public:
    explicit TextRow(std::vector<std::string_view> values) : values_(std::move(values)) {}
    bool is_null(int column) const override {
      return static_cast<std::size_t>(column) >= values_.size();
    }
    // As a database converts a text: the digits that it begins with.
    std::int64_t integer(int column) const override {
      std::int64_t number = 0;
      const std::string_view text = bytes(column);
      std::from_chars(text.data(), text.data() + text.size(), number);
      return number;
    }
    double real(int column) const override { return static_cast<double>(integer(column)); }
    std::string_view bytes(int column) const override {
      return is_null(column) ? std::string_view{} : values_[static_cast<std::size_t>(column)];
    }

   private:
    const std::vector<std::string_view> values_;
  };

  static std::vector<std::string_view> parts_of(std::string_view text, char end) {
    std::vector<std::string_view> parts;
    while (true) {
      const std::size_t at = text.find(end);
      parts.push_back(text.substr(0, at));
      if (at == std::string_view::npos) return parts;
      text.remove_prefix(at + 1);
    }
  }

  static bool is_from(std::string_view sql, const std::string& table) {
    std::string quoted;
    for (const char c : table) quoted += c == '"' ? "\"\"" : std::string{c};
    return sql.find(" FROM " + table + " ORDER") != std::string_view::npos ||
           sql.find(" FROM \"" + quoted + "\" ORDER") != std::string_view::npos;
  }

  static Error unused() {
    CARILLON_ASSERT(false, "an import only reads");
    return {};
  }

  const std::vector<std::string> columns_;
  std::map<std::string, std::vector<std::vector<std::string_view>>> tables_;
};

}  // namespace carillon::fuzz
