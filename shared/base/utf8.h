#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// UTF-8 texts. Thread: any.
namespace carillon {

// U+FFFD, the replacement for invalid bytes.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct Utf8Character {
  char32_t code_point = 0;
  std::size_t bytes = 0;  // 0: invalid
};

// The first character of the text: in its shortest form, not a surrogate, at most U+10FFFF.
// Requires: text is not empty.
Utf8Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

// Like is_utf8(), and without control characters (C0, DEL, C1): safe for one line of a terminal.
bool is_printable_utf8(std::string_view text);

// The first `bytes` bytes, or up to three fewer, so that no character is cut.
std::string_view first_bytes(std::string_view text, std::size_t bytes);

// Lower case for ASCII letters.
std::string lower_ascii(std::string_view text);

}  // namespace carillon
