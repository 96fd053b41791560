#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// How much room text takes on a terminal. Text is UTF-8; bytes that are none count and show as one
// replacement character each.
// Thread: any.
namespace carillon::cli {

// Columns: 2 for a wide character (Chinese, emoji), 0 for a combining one.
std::size_t width_of(std::string_view text);

// At most so many columns, the last one "…" where something was cut off.
std::string cut_to(std::string_view text, std::size_t columns);

// On one line and without anything that a terminal would obey: line feeds and tabs as spaces,
// other control characters, and those that turn the direction of the text, as "?".
std::string one_line(std::string_view text);

// On any number of lines: control characters but line feeds and tabs, those that turn the direction
// of the text, and bytes that are no UTF-8 as "\x1b" or "\u202e".
std::string for_terminal(std::string_view text);

// How many bytes at the end are a character whose other bytes are missing: 0 to 3.
std::size_t cut_character_bytes(std::string_view text);

// To end the message that a name is unknown: " (it has 'a', 'b' and 3 more)" or ", nor any other".
std::string those_there_are(const std::vector<std::string>& names);

}  // namespace carillon::cli
