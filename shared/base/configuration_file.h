#pragma once

#include <map>
#include <string>
#include <vector>

#include "carillon/result.h"

namespace carillon {

// One key of a configuration file, before its value is checked.
struct FileValue {
  bool is_list = false;
  std::vector<std::string> texts{};  // one, unless is_list
  int line = 0;
};

using FileValues = std::map<std::string, FileValue>;

// The keys of a TOML file for `program`: keys above all tables, overridden by keys of the table
// with the program's name. Tables of other programs are ignored but may have only their keys.
// Errors: unknown tables, and values other than strings, numbers, true, false and lists of these.
// An error names file and line.
Result<FileValues> read_configuration_file(const std::string& path, const std::string& program);

// The tables that may have a key: "[jobtracker] or [tasktracker]". Empty: none.
std::string tables_with_key(const std::string& key);

}  // namespace carillon
