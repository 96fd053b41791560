#include "shared/base/secret_file.h"

#include <cerrno>
#include <cstring>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carillon {
namespace {

constexpr std::size_t kSecretBytesMax = 64 * 1024;

Error cannot_use(const std::string& path, const std::string& why) {
  return {ErrorCode::kInvalidArgument, path + " " + why};
}

Status check_secret_file(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return cannot_use(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return cannot_use(path, "is not a file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return cannot_use(path, "belongs to user " + std::to_string(status.st_uid) +
                                ", must belong to user " + std::to_string(::geteuid()) +
                                " or root");
  }
  if ((status.st_mode & S_IRWXO) != 0) {
    return cannot_use(path, "is readable or writable by every user (run chmod o= '" + path + "')");
  }
  if ((status.st_mode & S_IWGRP) != 0) {
    return cannot_use(path, "is writable by its group (run chmod g-w '" + path + "')");
  }
  return {};
}

Result<std::string> read_checked(int fd, const std::string& path) {
  CARILLON_TRY(check_secret_file(fd, path));
  std::string text(kSecretBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_use(path, std::string{"cannot be read: "} + std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kSecretBytesMax) return cannot_use(path, "is larger than 64 KiB");
  text.resize(size);
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty()) return cannot_use(path, "is empty");
  return text;
}

// Whether the file is to be read; an error where the value is given, too.
Result<bool> uses_file(const Configuration& configuration, const std::string& name) {
  const std::string file = name + "-file";
  if (configuration.text(file).empty()) return false;
  if (!configuration.was_given(name)) return true;
  return Error{ErrorCode::kInvalidArgument, configuration.source(file) + " and " +
                                                configuration.source(name) +
                                                " contradict each other (give one)"};
}

Result<std::string> read_file_of(const Configuration& configuration, const std::string& name) {
  const std::string file = name + "-file";
  auto text = read_secret_file(configuration.text(file));
  if (!text.ok()) return text.error().with_context(configuration.source(file));
  return text;
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return cannot_use(path, std::string{"cannot be read: "} + std::strerror(errno));
  auto text = read_checked(fd, path);
  ::close(fd);
  return text;
}

Result<std::string> text_or_file(const Configuration& configuration, const std::string& name) {
  if (!CARILLON_TRY(uses_file(configuration, name))) return configuration.text(name);
  std::string text = CARILLON_TRY(read_file_of(configuration, name));
  if (text.find('\n') == std::string::npos) return text;
  return Error{ErrorCode::kInvalidArgument, configuration.source(name + "-file") + ": " +
                                                configuration.text(name + "-file") +
                                                " has more than one line"};
}

Result<std::vector<std::string>> list_or_file(const Configuration& configuration,
                                              const std::string& name,
                                              Status (*check)(const std::string& text)) {
  if (!CARILLON_TRY(uses_file(configuration, name))) return configuration.list(name);
  std::istringstream text(CARILLON_TRY(read_file_of(configuration, name)));
  std::vector<std::string> items;
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (const Status checked = check(line); !checked.ok()) {
      return checked.error().with_context(configuration.source(name + "-file"));
    }
    items.push_back(std::move(line));
  }
  return items;
}

}  // namespace carillon
