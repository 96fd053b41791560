#pragma once

#include <string>
#include <string_view>
#include <vector>

// Texts of SQL that both drivers cut and build the same way. Pure functions.
namespace carillon::sql {

// The statements of a script, without the ";" that ends a line. Lines that hold only a comment
// ("-- ...") and blank lines are dropped, so a ";" in a comment ends nothing.
std::vector<std::string> split_script(std::string_view script);

// "(?, ?), (?, ?)" for two rows of two columns.
std::string placeholder_rows(int rows, int columns);

// The first words of a statement on one line, for messages. Values are parameters, so it holds
// none.
std::string statement_excerpt(std::string_view sql);

}  // namespace carillon::sql
