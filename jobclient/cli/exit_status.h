#pragma once

#include "carillon/result.h"

// What jobclient's exit status says; scripts rely on the numbers.
namespace carillon::cli {

enum ExitStatus : int {
  kDone = 0,
  kRefused = 1,     // the job tracker said no, to one of several things at least
  kWrongInput = 2,  // usage, or something in what was given
  kNoTracker = 3,   // none reachable in time
  kNotFound = 4,    // what was named does not exist
  // --wait: the job was refused, never ran, was lost sight of, or its output cannot be written.
  kWaitFailed = 125
};

// For an error that came from a job tracker, or on the way to it.
constexpr ExitStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return kNotFound;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      return kNoTracker;
    default:
      return kRefused;
  }
}

}  // namespace carillon::cli
