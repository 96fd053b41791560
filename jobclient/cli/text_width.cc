#include "jobclient/cli/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "shared/base/utf8.h"

namespace carillon::cli {
namespace {

// More names than these are only counted.
constexpr std::size_t kNamedMax = 20;

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // how many it takes
  bool is_valid = true;
};

struct Range {
  char32_t first = 0;
  char32_t last = 0;
};

// The ranges that terminals agree on; a rare character outside of them only shifts a column.
constexpr std::array kWide{
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE4F},
    Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
    Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};
constexpr std::array kCombining{Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD},
                                Range{0x064B, 0x065F}, Range{0x1AB0, 0x1AFF}, Range{0x200B, 0x200F},
                                Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}};
// What turns the direction of all that follows on the line.
constexpr std::array kDirections{Range{0x202A, 0x202E}, Range{0x2066, 0x2069}};

template <std::size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, char32_t value) {
  for (const Range& range : ranges) {
    if (range.first <= value && value <= range.last) return true;
  }
  return false;
}

// What is no character is shown as one replacement a byte. Requires: text is not empty.
CodePoint first_of(std::string_view text) {
  const Utf8Character found = first_character(text);
  if (found.bytes == 0) return {0xFFFD, 1, false};
  return {found.code_point, found.bytes, true};
}

// Of the terminal, which would obey them: "text" after some of them is shown from right to left.
bool is_control(char32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || is_in(kDirections, value);
}

std::size_t width_of(char32_t value) {
  if (value < 0x300) return 1;
  if (is_in(kCombining, value)) return 0;
  return is_in(kWide, value) ? 2 : 1;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_of(text);
    width += width_of(point.value);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string{text};
  if (columns == 0) return {};
  std::string cut;
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_of(text);
    if (width + width_of(point.value) + 1 > columns) break;
    width += width_of(point.value);
    cut += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  return cut + "…";
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_of(text);
    if (!point.is_valid) {
      line += "\uFFFD";
    } else if (point.value == '\n' || point.value == '\t' || point.value == '\r') {
      line += ' ';
    } else if (is_control(point.value)) {
      line += '?';
    } else {
      line += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return line;
}

std::string for_terminal(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_of(text);
    const bool is_space = point.value == '\n' || point.value == '\t';
    if (point.is_valid && (is_space || !is_control(point.value))) {
      shown += text.substr(0, point.bytes);
    } else {
      const unsigned value =
          point.is_valid ? point.value : static_cast<unsigned char>(text.front());
      std::array<char, 16> code{};
      std::snprintf(code.data(), code.size(), value < 0x100 ? "\\x%02x" : "\\u%04x", value);
      shown += code.data();
    }
    text.remove_prefix(point.bytes);
  }
  return shown;
}

std::size_t cut_character_bytes(std::string_view text) {
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(text.size(), 3); ++bytes) {
    const auto first = static_cast<unsigned char>(text[text.size() - bytes]);
    if (first >= 0x80 && first < 0xC0) continue;  // not the first byte of a character
    const std::size_t needed = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    return needed > bytes ? bytes : 0;
  }
  return 0;
}

std::string those_there_are(const std::vector<std::string>& names) {
  if (names.empty()) return ", and no others";
  const std::size_t named = std::min(names.size(), kNamedMax);
  std::string text;
  for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "'" : ", '") + one_line(names[i]) + "'";
  if (named < names.size()) text += " and " + std::to_string(names.size() - named) + " more";
  return " (it has " + text + ")";
}

}  // namespace carillon::cli
