#pragma once

#include <string_view>

// Thread: any.
namespace carillon {

// Whether it is UTF-8: shortest forms only, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);

// The same, and without control characters (C0, DEL, C1): fit for a line of a terminal.
bool is_printable_utf8(std::string_view text);

}  // namespace carillon
