#include "shared/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace carillon {
namespace {

// Takes one character off the front of `text`. False: there is none.
bool take_character(std::string_view& text, std::uint32_t& character) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t length = 1;
  std::uint32_t smallest = 0;
  character = lead;
  if (lead >= 0xf0 && lead < 0xf5) {
    length = 4;
    smallest = 0x10000;
    character = lead & 0x07U;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    length = 3;
    smallest = 0x800;
    character = lead & 0x0fU;
  } else if (lead >= 0xc2 && lead < 0xe0) {
    length = 2;
    character = lead & 0x1fU;
  } else if (lead >= 0x80) {
    return false;
  }
  if (text.size() < length) return false;
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80U) return false;
    character = character << 6U | (next & 0x3fU);
  }
  text.remove_prefix(length);
  const bool is_surrogate = character >= 0xd800 && character < 0xe000;
  return character >= smallest && character <= 0x10ffff && !is_surrogate;
}

}  // namespace

bool is_utf8(std::string_view text) {
  std::uint32_t character = 0;
  while (!text.empty()) {
    if (!take_character(text, character)) return false;
  }
  return true;
}

bool is_printable_utf8(std::string_view text) {
  std::uint32_t character = 0;
  while (!text.empty()) {
    if (!take_character(text, character)) return false;
    if (character < 0x20 || (character >= 0x7f && character < 0xa0)) return false;
  }
  return true;
}

}  // namespace carillon
