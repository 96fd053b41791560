#include "shared/sql/sqlite/sqlite_error.h"

#include <cerrno>

#include <sqlite3.h>

namespace carillon::sql {
namespace {

constexpr const char* kFreeSpace = "free space on its disk";

// A write that failed for lack of space, or for a quota or limit. A failed flush does not count:
// its pages may be in the log.
bool is_lack_of_space(int code, int system_error) {
  return code == SQLITE_IOERR_WRITE &&
         (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG);
}

SqliteFailure cannot_open(int system_error) {
  if (system_error == EACCES || system_error == EPERM || system_error == EROFS) {
    return {ErrorCode::kDenied, "give this user read and write permission"};
  }
  return {ErrorCode::kInvalidArgument, "create its folder first, or correct the path"};
}

}  // namespace

SqliteFailure sqlite_failure(int code, int system_error) {
  if (is_lack_of_space(code, system_error)) return {ErrorCode::kLimit, kFreeSpace};
  switch (code & 0xff) {
    case SQLITE_BUSY:
      return {ErrorCode::kConflict, "another connection holds the lock"};
    case SQLITE_LOCKED:
      return {ErrorCode::kConflict, ""};
    case SQLITE_FULL:
      return {ErrorCode::kLimit, kFreeSpace};
    case SQLITE_NOMEM:
      return {ErrorCode::kLimit, "the machine has too little memory"};
    case SQLITE_NOTADB:
      return {ErrorCode::kCorrupt, "the file is not an SQLite database, give another one"};
    case SQLITE_CORRUPT:
      return {ErrorCode::kCorrupt, "the file is damaged, restore it from a backup"};
    case SQLITE_READONLY:
      return {ErrorCode::kDenied, "give this user write permission on the file and its folder"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kDenied, ""};
    case SQLITE_CANTOPEN:
      return cannot_open(system_error);
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
      return {ErrorCode::kUnavailable, ""};
    default:
      return {};
  }
}

}  // namespace carillon::sql
