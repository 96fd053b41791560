#include "jobclient/cli/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "jobclient/cli/text_width.h"
#include "shared/base/assert.h"

namespace carillon::cli {
namespace {

constexpr std::size_t kGap = 2;            // spaces between columns
constexpr std::size_t kGapMin = 1;         // where there is little room
constexpr std::size_t kCutWidthMin = 8;    // no column is cut to less
constexpr std::size_t kKeyWidthMin = 24;   // nor one that tells rows apart
constexpr std::size_t kLongWidthMin = 32;  // nor a sentence
constexpr std::size_t kIndent = 4;         // of what is printed below a row

}  // namespace

Table::Table(std::ostream& out, std::vector<TableColumn> columns, std::size_t width, bool colours)
    : out_(out), columns_(std::move(columns)), width_(width), colours_(colours), gap_(kGap) {}

void Table::add(std::vector<std::string> cells) {
  CARILLON_ASSERT(cells.size() == columns_.size(), "a row has a cell for every column");
  for (std::string& cell : cells) cell = one_line(cell);
  if (!widths_.empty()) {
    print(cells, false);
    print_below(cells);
    return;
  }
  held_back_.push_back(std::move(cells));
  if (held_back_.size() >= kSampleRows) finish();
}

void Table::finish() {
  if (held_back_.empty()) return;
  fix_widths();
  std::vector<std::string> headers;
  for (const TableColumn& column : columns_) headers.push_back(column.header);
  print(headers, true);
  for (const auto& cells : held_back_) {
    print(cells, false);
    print_below(cells);
  }
  held_back_.clear();
}

// The least that a column of so much content can do with.
std::size_t Table::least_width(std::size_t column) const {
  const bool may_be_cut = columns_[column].may_be_cut && !columns_[column].is_number;
  const std::size_t least = columns_[column].is_key    ? kKeyWidthMin
                            : columns_[column].is_long ? kLongWidthMin
                                                       : kCutWidthMin;
  return may_be_cut ? std::min(widths_[column], least) : widths_[column];
}

bool Table::fits(std::size_t columns, std::size_t gap) const {
  std::size_t least = gap * (columns - 1);
  for (std::size_t i = 0; i < columns; ++i) least += least_width(i);
  return least <= width_;
}

void Table::fix_widths() {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width_of(columns_[i].header);
    for (const auto& cells : held_back_) widest = std::max(widest, width_of(cells[i]));
    widths_.push_back(widest);
  }
  if (width_ == 0) return;
  std::size_t shown = widths_.size();
  while (shown > 1 && !fits(shown, kGapMin)) --shown;
  if (!fits(shown, kGap)) gap_ = kGapMin;
  widths_.resize(shown);
  std::size_t total =
      std::accumulate(widths_.begin(), widths_.end(), std::size_t{0}) + gap_ * (widths_.size() - 1);
  while (total > width_) {
    if (!narrow(false) && !narrow(true)) return;  // A single column that cannot be cut.
    --total;
  }
}

// Takes one off the widest of the columns that are keys, or that are none, so that they end up
// about as wide as each other. False: none of them can be narrower.
bool Table::narrow(bool keys) {
  std::size_t* widest = nullptr;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    if (columns_[i].is_key != keys || widths_[i] == least_width(i)) continue;
    if (widest == nullptr || widths_[i] > *widest) widest = &widths_[i];
  }
  if (widest == nullptr) return false;
  --*widest;
  return true;
}

void Table::print(const std::vector<std::string>& cells, bool is_header) {
  std::string line;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    const TableColumn& column = columns_[i];
    // Beyond the sample a cell may be wider than its column; it is cut only where there is a limit.
    const bool cut = width_ != 0 && (is_header || (column.may_be_cut && !column.is_number));
    const std::string text = cut ? cut_to(cells[i], widths_[i]) : cells[i];
    const std::size_t width = width_of(text);
    const std::string padding(widths_[i] > width ? widths_[i] - width : 0, ' ');
    Colour colour = Colour::kNone;
    if (is_header) {
      colour = Colour::kBold;
    } else if (column.is_state) {
      colour = colour_of_state(text);
    }
    const std::string shown = text.empty() ? text : coloured(text, colour, colours_);
    if (i > 0) line.append(gap_, ' ');
    line += column.is_number ? padding + shown : shown + padding;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  out_ << line << '\n';
}

// The columns without room in the row.
void Table::print_below(const std::vector<std::string>& cells) {
  for (std::size_t i = widths_.size(); i < columns_.size(); ++i) {
    if (cells[i].empty()) continue;
    const std::string line = std::string(kIndent, ' ') + columns_[i].header + ": " + cells[i];
    out_ << (width_ == 0 ? line : cut_to(line, width_)) << '\n';
  }
}

}  // namespace carillon::cli
