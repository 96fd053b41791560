#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shared/sql/sql_connection.h"

// The files of schema/, compiled into the program: nothing is read from disk at run time.
namespace carillon::jobtracker {

struct Migration {
  int version = 0;
  std::string_view script{};
};

// In order, from version 1, without gaps.
std::span<const Migration> migrations(sql::Dialect dialect);

// Creates one group's table.
std::string_view group_table_script(sql::Dialect dialect);

// In a script, {table} is replaced by the checked name of a group's table.
bool is_for_group_tables(std::string_view sql);
std::string for_group_table(std::string_view sql, std::string_view table);

}  // namespace carillon::jobtracker
