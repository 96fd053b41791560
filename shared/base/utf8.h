#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Texts as bytes.
// Thread: any.
namespace carillon {

// U+FFFD, for what is no character.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct Utf8Character {
  char32_t code_point = 0;
  std::size_t bytes = 0;  // 0: there is none
};

// The character that the text starts with: in its shortest form, no surrogate, not beyond U+10FFFF.
// Requires: text is not empty.
Utf8Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

// The same, and without control characters (C0, DEL, C1): fit for a line of a terminal.
bool is_printable_utf8(std::string_view text);

// Its first `bytes` bytes, or up to three less, so that no character is cut in two.
std::string_view first_bytes(std::string_view text, std::size_t bytes);

// With a-z for A-Z.
std::string lower_ascii(std::string_view text);

}  // namespace carillon
