#pragma once

#include "carillon/result.h"

namespace carillon::sql {

// The meaning of an extended result code of SQLite.
struct SqliteFailure {
  ErrorCode code = ErrorCode::kInvalidArgument;
  const char* advice = "";  // advice for people; empty if SQLite's text is enough
};

// `system_error`: the related errno, or 0.
SqliteFailure sqlite_failure(int code, int system_error);

}  // namespace carillon::sql
