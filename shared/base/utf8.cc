#include "shared/base/utf8.h"

#include <algorithm>

namespace carillon {

Utf8Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  Utf8Character found{.code_point = lead, .bytes = 1};
  char32_t smallest = 0;
  if (lead >= 0xf0 && lead < 0xf5) {
    found = {.code_point = lead & 0x07U, .bytes = 4};
    smallest = 0x10000;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    found = {.code_point = lead & 0x0fU, .bytes = 3};
    smallest = 0x800;
  } else if (lead >= 0xc2 && lead < 0xe0) {
    found = {.code_point = lead & 0x1fU, .bytes = 2};
  } else if (lead >= 0x80) {
    return {};
  }
  if (text.size() < found.bytes) return {};
  for (std::size_t i = 1; i < found.bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80U) return {};
    found.code_point = found.code_point << 6U | (next & 0x3fU);
  }
  const bool is_surrogate = found.code_point >= 0xd800 && found.code_point < 0xe000;
  const bool is_fine =
      found.code_point >= smallest && found.code_point <= 0x10ffff && !is_surrogate;
  return is_fine ? found : Utf8Character{};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.bytes == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

bool is_printable_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto [code_point, bytes] = first_character(text);
    if (bytes == 0 || code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0)) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string_view first_bytes(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  const std::size_t least = bytes - std::min<std::size_t>(bytes, 3);
  std::size_t end = bytes;
  while (end > least && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

std::string lower_ascii(std::string_view text) {
  std::string lower{text};
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace carillon
