#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "jobclient/cli/terminal.h"

// Rows of cells under a header, in columns.
//
// The first rows fix the widths, so that any number of rows needs little memory. Where a width is
// given the table keeps within it: it narrows its gaps and cuts the widest columns that may be cut,
// with "…", key columns last. Columns that still do not fit are printed below their row, one line
// each, so that none is lost.
//
// Thread: the owner's.
namespace carillon::cli {

struct TableColumn {
  std::string header{};
  bool is_number = false;  // set to the right; never cut
  bool may_be_cut = true;  // times and states are not: half of one says nothing
  bool is_state = false;   // coloured by its word
  bool is_key = false;     // tells rows apart: cut after all others, and to no less than it needs
  bool is_long = false;    // a sentence: below the row rather than cut to a few words
};

class Table {
 public:
  // How many rows the widths are made from.
  static constexpr std::size_t kSampleRows = 500;

  // `width` 0: as wide as it needs to be.
  Table(std::ostream& out, std::vector<TableColumn> columns, std::size_t width, bool colours);

  // Requires: a cell a column.
  void add(std::vector<std::string> cells);
  // Prints what is still held back. Nothing at all without any row.
  void finish();

 private:
  std::size_t least_width(std::size_t column) const;
  bool fits(std::size_t columns, std::size_t gap) const;
  void print_below(const std::vector<std::string>& cells);
  bool narrow(bool keys);
  void fix_widths();
  void print(const std::vector<std::string>& cells, bool is_header);

  std::ostream& out_;
  const std::vector<TableColumn> columns_;
  const std::size_t width_;
  const bool colours_;
  std::vector<std::vector<std::string>> held_back_;
  std::vector<std::size_t> widths_;  // of the columns in the row; empty until they are fixed
  std::size_t gap_;                  // between columns
};

}  // namespace carillon::cli
