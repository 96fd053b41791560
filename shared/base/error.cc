#include <cstdio>
#include <cstdlib>

#include "carillon/abort.h"
#include "carillon/result.h"

namespace carillon {

void abort_with(const char* what, const char* detail) {
  std::fprintf(stderr, "carillon: bug: %s: %s\n", what, detail);
  std::fflush(stderr);
  std::abort();
}

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kLimit:
      return "limit";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kDenied:
      return "denied";
  }
  return "unknown";
}

}  // namespace carillon
