#include "shared/base/file_lock.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace carillon {
namespace {

Error cannot_make(const std::string& path, int number) {
  const bool denied = number == EACCES || number == EPERM || number == EROFS;
  return {denied             ? ErrorCode::kDenied
          : number == ENOSPC ? ErrorCode::kLimit
                             : ErrorCode::kInvalidArgument,
          "cannot create lock file " + path + ": " + std::strerror(number) +
              (denied             ? " (give this user write permission on its folder)"
               : number == ENOENT ? " (create its folder first, or correct the path)"
                                  : "")};
}

std::string holder_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  std::string pid{text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  pid.erase(pid.find_last_not_of('\n') + 1);
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return cannot_make(path, errno);
  FileLock lock{descriptor};
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::kConflict, path + " is held by " + holder_of(descriptor)};
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  // Without the number in it, the lock works nevertheless.
  const bool written =
      ftruncate(descriptor, 0) == 0 &&
      pwrite(descriptor, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  if (!written) return cannot_make(path, errno);
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace carillon
