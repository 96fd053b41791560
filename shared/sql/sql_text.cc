#include "shared/sql/sql_text.h"

#include <cstddef>

namespace carillon::sql {
namespace {

constexpr std::size_t kExcerptMax = 120;
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::vector<std::string> split_script(std::string_view script) {
  std::vector<std::string> statements;
  std::string statement;
  const auto finish = [&] {
    if (!trimmed(statement).empty()) statements.emplace_back(trimmed(statement));
    statement.clear();
  };
  while (!script.empty()) {
    const auto end = script.find('\n');
    const auto line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    auto words = trimmed(line);
    if (words.empty() || words.starts_with("--")) continue;
    const bool last = words.ends_with(';');
    statement += last ? line.substr(0, line.rfind(';')) : line;
    statement += '\n';
    if (last) finish();
  }
  finish();
  return statements;
}

std::string placeholder_rows(int rows, int columns) {
  std::string row = "(";
  for (int column = 0; column < columns; ++column) row += column == 0 ? "?" : ", ?";
  row += ')';
  std::string text;
  text.reserve((row.size() + 2) * static_cast<std::size_t>(rows));
  for (int index = 0; index < rows; ++index) {
    if (index > 0) text += ", ";
    text += row;
  }
  return text;
}

std::string statement_excerpt(std::string_view sql) {
  std::string text;
  bool blank = false;
  for (const char letter : sql) {
    if (kBlanks.find(letter) != std::string_view::npos) {
      blank = !text.empty();
      continue;
    }
    if (text.size() >= kExcerptMax) return text + " ...";
    if (blank) text += ' ';
    blank = false;
    text += letter;
  }
  return text;
}

}  // namespace carillon::sql
