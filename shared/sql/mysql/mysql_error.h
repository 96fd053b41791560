#pragma once

#include <string_view>

#include "carillon/result.h"

namespace carillon::sql {

// What an error number of a MySQL or MariaDB server, or of its client library, asks of the caller.
inline constexpr int kUnknownDatabase = 1049;
inline constexpr int kReadOnly = 1290;

struct MysqlFailure {
  ErrorCode code = ErrorCode::kInvalidArgument;
  bool connection_lost = false;  // nothing more can be done on this connection
  const char* advice = "";       // what a person should do; empty where the server's text says it
};

// `text` is the server's message: some numbers mean several things.
MysqlFailure mysql_failure(int number, std::string_view text);

}  // namespace carillon::sql
