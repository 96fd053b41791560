#pragma once

#include <string>
#include <string_view>
#include <vector>

// SQL text functions for both drivers. Pure functions.
namespace carillon::sql {

// The statements of a script, without the ";" at a line end. Comment lines ("-- ...") and blank
// lines are dropped, so a ";" in a comment does not end a statement.
std::vector<std::string> split_script(std::string_view script);

// "(?, ?), (?, ?)" for two rows of two columns.
std::string placeholder_rows(int rows, int columns);

// The first words of a statement on one line, for messages. It contains no values, because they are
// parameters.
std::string statement_excerpt(std::string_view sql);

}  // namespace carillon::sql
