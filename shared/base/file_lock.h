#pragma once

#include <string>

#include "carillon/result.h"

namespace carillon {

// Holds a file against other processes, and tells them who holds it. The system lets go of it when
// this process ends, however it ends; the file itself stays.
// Thread: any, one at a time.
class FileLock {
 public:
  // kConflict: another process holds it; the message names the file and the process.
  // kInvalidArgument, kDenied: the file cannot be made.
  static Result<FileLock> take(const std::string& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;  // -1: moved away
};

}  // namespace carillon
