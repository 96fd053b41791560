#pragma once

#include "carillon/result.h"

namespace carillon::sql {

// What an extended result code of SQLite asks of the caller.
struct SqliteFailure {
  ErrorCode code = ErrorCode::kInvalidArgument;
  const char* advice = "";  // what a person should do; empty where SQLite's own words say it
};

// `system_error` is the errno behind it, or 0.
SqliteFailure sqlite_failure(int code, int system_error);

}  // namespace carillon::sql
