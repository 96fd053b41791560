#include "shared/net/zmq/token_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/net/zmq/curve_keys.h"

namespace carillon::net {
namespace {

constexpr std::size_t kTokenFileBytesMax = 4096;

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error system_error(const std::string& what, const std::string& path) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT                      ? ErrorCode::kNotFound
                         : reason == ELOOP || reason == EACCES ? ErrorCode::kDenied
                                                               : ErrorCode::kUnavailable;
  return {code, "cannot " + what + " " + path + ": " + std::strerror(reason) +
                    (reason == ELOOP ? " (symbolic links are not followed)" : "")};
}

Status check_private(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error("inspect", path);
  if (status.st_uid != ::geteuid()) {
    return Error{ErrorCode::kDenied, path + " belongs to user " + std::to_string(status.st_uid) +
                                         ", must belong to user " + std::to_string(::geteuid()) +
                                         " (remove it)"};
  }
  if ((status.st_mode & 077U) != 0) {
    return Error{ErrorCode::kDenied,
                 path + " is readable or writable by other users (run chmod go= '" + path + "')"};
  }
  return {};
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path{path}.parent_path().string();
}
std::string name_of(const std::string& path) {
  return std::filesystem::path{path}.filename().string();
}

Result<Descriptor> open_folder(const std::string& folder) {
  Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  // For a link to a folder the system reports that it is not a folder.
  if (descriptor.get() < 0 && errno == ENOTDIR) errno = ELOOP;
  if (descriptor.get() < 0) return system_error("open", folder);
  CARILLON_TRY(check_private(descriptor.get(), folder));
  return descriptor;
}

// `fix`: the remedy for a file without a token.
Result<Token> take_token(int fd, const std::string& path, const char* fix) {
  std::string text(kTokenFileBytesMax, '\0');
  const auto got = ::read(fd, text.data(), text.size());
  if (got < 0) return system_error("read", path);
  text.resize(static_cast<std::size_t>(got));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  Token token{.server = text.substr(0, kCurveKeyCharacters)};
  if (text.size() > kCurveKeyCharacters) token.client_secret = text.substr(kCurveKeyCharacters);
  if (!is_curve_key(token.server) || !is_curve_key(token.client_secret)) {
    return Error{ErrorCode::kInvalidArgument, path + " contains no token (" + fix + ")"};
  }
  return token;
}

Result<Token> read_token_in(int folder, const std::string& path) {
  const Descriptor file(
      ::openat(folder, name_of(path).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error("read", path);
  CARILLON_TRY(check_private(file.get(), path));
  return take_token(file.get(), path, "remove it and restart the job tracker");
}

Status write_token_in(int folder, const std::string& path, const Token& token) {
  const std::string beside = name_of(path) + "." + std::to_string(::getpid());
  ::unlinkat(folder, beside.c_str(), 0);
  const std::string text = token.server + token.client_secret + "\n";
  {
    const Descriptor file(::openat(folder, beside.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0 ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      return system_error("write", path);
    }
  }
  if (::renameat(folder, beside.c_str(), folder, name_of(path).c_str()) != 0) {
    return system_error("write", path);
  }
  return {};
}

}  // namespace

std::string token_path(const Environment& environment, std::uint16_t port) {
  const auto runtime = environment.get("XDG_RUNTIME_DIR");
  const std::string folder =
      runtime ? *runtime + "/carillon" : "/tmp/carillon-" + std::to_string(::geteuid());
  return folder + "/" + std::to_string(port) + ".token";
}

std::string service_token_path(std::uint16_t port) {
  return "/run/carillon/" + std::to_string(port) + ".token";
}

Status write_token(const std::string& path, const Token& token) {
  const std::string folder = folder_of(path);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    Error failure = system_error("make", folder);
    failure.message += " (does XDG_RUNTIME_DIR belong to this user?)";
    return failure;
  }
  const Descriptor descriptor = CARILLON_TRY(open_folder(folder));
  return write_token_in(descriptor.get(), path, token);
}

Result<Token> read_token(const std::string& path) {
  const std::string folder = folder_of(path);
  const Descriptor descriptor = CARILLON_TRY(open_folder(folder.empty() ? "." : folder));
  return read_token_in(descriptor.get(), path);
}

Result<Token> read_given_token(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error("read", path);
  // A user-chosen file may be any file.
  constexpr const char* kFix = "give the file that the job tracker wrote, or a copy of it";
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("inspect", path);
  if (!S_ISREG(status.st_mode)) {
    return Error{
        ErrorCode::kInvalidArgument,
        path + (S_ISDIR(status.st_mode) ? " is a folder (" : " is not a file (") + kFix + ")"};
  }
  if ((status.st_mode & 07U) != 0) {
    return Error{ErrorCode::kDenied,
                 path + " is readable or writable by every user (run chmod o= '" + path + "')"};
  }
  return take_token(file.get(), path, kFix);
}

Result<FoundToken> find_token(const std::string& own, const std::string& of_service) {
  auto token = read_token(own);
  if (token.ok()) return FoundToken{own, std::move(token).value()};
  auto other = read_given_token(of_service);
  if (other.ok()) return FoundToken{of_service, std::move(other).value()};
  Error failure = std::move(token).error();
  if (other.error().code != ErrorCode::kNotFound && of_service != own) {
    failure.message += "; " + other.error().message;
  }
  return failure;
}

void remove_token(const std::string& path, const Token& token) {
  const auto found = read_token(path);
  if (found.ok() && found.value() == token) ::unlink(path.c_str());
}

}  // namespace carillon::net
