#pragma once

#include <string>

#include "carillon/result.h"

namespace carillon {

// A lock on a file against other processes; its content names the holder. The system releases it
// when this process ends in any way; the file stays. Thread: any, one at a time.
class FileLock {
 public:
  // Errors: kConflict if another process holds it; the message names the file and the process.
  // kInvalidArgument or kDenied if the file cannot be created.
  static Result<FileLock> take(const std::string& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;  // -1: moved from
};

}  // namespace carillon
