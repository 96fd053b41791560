#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/cli/table.h"
#include "jobclient/cli/terminal.h"
#include "shared/job/zone.h"

// Rows as people and programs want them: a table, one JSON array, or a JSON object a line.
//
// JSON shows every field of a row as it is. Tables show the columns that were asked for, and times
// of day as the clock on the wall shows them.
//
// Thread: the owner's.
namespace carillon::cli {

enum class Format { kTable, kWide, kJson, kJsonl };

// `word` is one of the choices of --output.
Format format_of(const std::string& word);

// kKey: text that tells rows apart; kLong: a sentence.
enum class ColumnKind { kText, kKey, kLong, kNumber, kTime, kState };

struct RowColumn {
  std::string field{};
  ColumnKind kind = ColumnKind::kText;
  bool only_wide = false;
  std::string header{};  // empty: made of the field's name
};

// How rows are shown, apart from which columns they have.
struct RowStyle {
  Format format = Format::kTable;
  Terminal terminal{};
  Zone zone = Zone::utc();  // of times in tables
  WallTime now{};           // the day whose times need no date
};

// "14:03:22" today, "11-21 14:03" this year, "2027-01-01 00:00" otherwise; in full when `wide`.
// Text that is not a time stays as it is.
std::string short_time(const std::string& rfc3339, const RowStyle& style);

class RowOutput {
 public:
  RowOutput(std::ostream& out, const RowStyle& style, std::vector<RowColumn> columns);

  void add(const Row& row);
  // Requires: called once, last.
  void finish();
  std::size_t count() const { return count_; }

 private:
  std::string cell(const Row& row, const RowColumn& column) const;

  std::ostream& out_;
  const RowStyle style_;
  std::vector<RowColumn> columns_;
  std::unique_ptr<Table> table_;  // only for tables
  std::size_t count_ = 0;
};

// One row as "name  value" lines, or as one JSON object. Times are local and UTC, both labelled;
// text of several lines keeps them.
void print_one_row(std::ostream& out, const RowStyle& style, const Row& row);

}  // namespace carillon::cli
