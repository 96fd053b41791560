#pragma once

#include <string_view>

#include "carillon/result.h"

namespace carillon::sql {

// The meaning of an error number of a MySQL or MariaDB server, or of its client library.
inline constexpr int kUnknownDatabase = 1049;
inline constexpr int kReadOnly = 1290;

struct MysqlFailure {
  ErrorCode code = ErrorCode::kInvalidArgument;
  bool connection_lost = false;  // the connection is unusable
  const char* advice = "";       // advice for people; empty if the server's text is enough
};

// `text`: the server's message; some numbers have several meanings.
MysqlFailure mysql_failure(int number, std::string_view text);

}  // namespace carillon::sql
