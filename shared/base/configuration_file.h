#pragma once

#include <map>
#include <string>
#include <vector>

#include "carillon/result.h"

namespace carillon {

// One key of a configuration file, not yet understood.
struct FileValue {
  bool is_list = false;
  std::vector<std::string> texts{};  // one, unless is_list
  int line = 0;
};

using FileValues = std::map<std::string, FileValue>;

// The keys of a TOML file that concern `program`: those above all tables, and those of the table
// named like the program, which win. Tables named like our other programs are theirs, but may hold
// their keys only; any other table is refused, and so is a value that is neither text, number,
// true, false nor a list of such. Errors name file and line.
Result<FileValues> read_configuration_file(const std::string& path, const std::string& program);

// The tables of our programs that may hold a key: "[jobtracker] or [tasktracker]". Empty: none.
std::string tables_with_key(const std::string& key);

}  // namespace carillon
