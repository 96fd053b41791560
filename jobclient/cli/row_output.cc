#include "jobclient/cli/row_output.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <utility>

#include "jobclient/cli/text_width.h"
#include "shared/base/time_text.h"
#include "shared/job/local_time.h"
#include "shared/wire/spec_json.h"

namespace carillon::cli {
namespace {

std::string header_of(const std::string& field) {
  std::string header = field;
  for (char& c : header) {
    c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return header;
}

TableColumn table_column(const RowColumn& column) {
  return {.header = column.header.empty() ? header_of(column.field) : column.header,
          .is_number = column.kind == ColumnKind::kNumber,
          .may_be_cut = column.kind == ColumnKind::kText || column.kind == ColumnKind::kKey ||
                        column.kind == ColumnKind::kLong,
          .is_state = column.kind == ColumnKind::kState,
          .is_key = column.kind == ColumnKind::kKey,
          .is_long = column.kind == ColumnKind::kLong};
}

// "Sun 2026-11-29 02:00:00 +08:00 Asia/Shanghai, 2026-11-28 18:00:00 UTC".
std::string both_times(WallTime time, const Zone& zone) {
  std::string utc = format_time(time).substr(0, 19);
  utc[10] = ' ';
  return local_text_for_people(time, zone) + " " + zone.name() + ", " + utc + " UTC";
}

// Its lines one below the other, each `indent` columns in; the first begins where it is.
std::string indented(const std::string& text, std::size_t indent) {
  std::string lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (start > 0) lines += '\n' + std::string(indent, ' ');
    lines += one_line(std::string_view{text}.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

bool is_table(Format format) { return format == Format::kTable || format == Format::kWide; }

}  // namespace

Format format_of(const std::string& word) {
  if (word == "wide") return Format::kWide;
  if (word == "json") return Format::kJson;
  if (word == "jsonl") return Format::kJsonl;
  return Format::kTable;
}

std::string short_time(const std::string& rfc3339, const RowStyle& style) {
  const Result<WallTime> time = parse_time(rfc3339);
  if (!time.ok()) return rfc3339;
  const auto instant = std::chrono::floor<std::chrono::seconds>(time.value());
  const LocalTime local = style.zone.to_local(instant);
  const LocalTime local_now =
      style.zone.to_local(std::chrono::floor<std::chrono::seconds>(style.now));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const auto today = std::chrono::floor<std::chrono::days>(local_now);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{local - day};
  const int year = static_cast<int>(date.year());
  const unsigned month = static_cast<unsigned>(date.month());
  const unsigned of_month = static_cast<unsigned>(date.day());
  const int hour = static_cast<int>(clock.hours().count());
  const int minute = static_cast<int>(clock.minutes().count());
  const int second = static_cast<int>(clock.seconds().count());
  std::array<char, 64> text{};
  if (style.format == Format::kWide) {
    const auto millisecond =
        std::chrono::duration_cast<std::chrono::milliseconds>(time.value() - instant).count();
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d.%03d", year, month,
                  of_month, hour, minute, second, static_cast<int>(millisecond));
  } else if (day == today) {
    std::snprintf(text.data(), text.size(), "%02d:%02d:%02d", hour, minute, second);
  } else if (date.year() == std::chrono::year_month_day{today}.year()) {
    std::snprintf(text.data(), text.size(), "%02u-%02u %02d:%02d", month, of_month, hour, minute);
  } else {
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d", year, month, of_month, hour,
                  minute);
  }
  return text.data();
}

RowOutput::RowOutput(std::ostream& out, const RowStyle& style, std::vector<RowColumn> columns)
    : out_(out), style_(style) {
  std::vector<TableColumn> shown;
  for (RowColumn& column : columns) {
    if (column.only_wide && style.format != Format::kWide) continue;
    shown.push_back(table_column(column));
    columns_.push_back(std::move(column));
  }
  if (!is_table(style.format)) return;
  const std::size_t width = style.format == Format::kWide ? 0 : style.terminal.width;
  table_ = std::make_unique<Table>(out, std::move(shown), width, style.terminal.colours);
}

std::string RowOutput::cell(const Row& row, const RowColumn& column) const {
  std::string text = field_text(row, column.field);
  return column.kind == ColumnKind::kTime ? short_time(text, style_) : text;
}

void RowOutput::add(const Row& row) {
  if (table_) {
    std::vector<std::string> cells;
    cells.reserve(columns_.size());
    for (const RowColumn& column : columns_) cells.push_back(cell(row, column));
    table_->add(std::move(cells));
  } else if (style_.format == Format::kJson) {
    out_ << (count_ == 0 ? "[\n" : ",\n") << wire::row_to_json(row);
  } else {
    out_ << wire::row_to_json(row) << '\n';
  }
  ++count_;
}

void RowOutput::finish() {
  if (table_) table_->finish();
  if (style_.format == Format::kJson) out_ << (count_ == 0 ? "[]\n" : "\n]\n");
}

void print_one_row(std::ostream& out, const RowStyle& style, const Row& row) {
  if (!is_table(style.format)) {
    out << wire::row_to_json(row) << '\n';
    return;
  }
  std::size_t widest = 0;
  for (const auto& [name, value] : row) widest = std::max(widest, width_of(name));
  for (const auto& [name, value] : row) {
    const std::string text = field_text(row, name);
    if (text.empty()) continue;
    const Result<WallTime> time = parse_time(text);
    out << coloured(name, Colour::kBold, style.terminal.colours)
        << std::string(widest - width_of(name) + 2, ' ')
        << (time.ok() ? both_times(time.value(), style.zone) : indented(text, widest + 2)) << '\n';
  }
}

}  // namespace carillon::cli
