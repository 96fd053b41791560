#include "shared/net/zmq/curve_keys.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

namespace carillon::net {
namespace {

namespace fs = std::filesystem;

using KeyText = std::array<char, kCurveKeyCharacters + 1>;

Result<std::string> read_key(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  if (!file) {
    return Error{ErrorCode::kNotFound, "cannot read " + path.string() + ": " +
                                           std::strerror(errno) +
                                           " (create keys with: jobclient keys new DIR)"};
  }
  file >> text;
  if (!is_curve_key(text)) {
    return Error{ErrorCode::kInvalidArgument,
                 path.string() + " contains no CURVE key of 40 characters"};
  }
  return text;
}

Error denied(const fs::path& path, const std::string& why, const std::string& command) {
  return {ErrorCode::kDenied,
          path.string() + " " + why + " (run " + command + " '" + path.string() + "')"};
}

// This process's user or root.
Status check_owner(const fs::path& path, uid_t owner) {
  if (owner == ::geteuid() || owner == 0) return {};
  return denied(path, "belongs to user " + std::to_string(owner),
                "chown " + std::to_string(::geteuid()));
}

// Who may write into the folder may replace keys. A missing folder is reported by the read.
Status check_folder(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (!S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::kDenied, path.string() + " is not a folder (give the folder of keys)"};
  }
  CARILLON_TRY(check_owner(path, status.st_uid));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return denied(path, "is writable by other users", "chmod go-w");
}

// Whether only this process's user and root can write to a file.
bool is_closed(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && check_owner(path, status.st_uid).ok() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Result<std::string> read_secret(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    CARILLON_TRY(check_owner(path, status.st_uid));
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      return denied(path, "is readable or writable by other users", "chmod go=");
    }
  }
  return read_key(path);
}

Status write_key(const fs::path& path, const std::string& key, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  const std::string text = key + "\n";
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  if (written) return {};
  return Error{ErrorCode::kUnavailable,
               "cannot write " + path.string() + ": " + std::strerror(reason)};
}

// Keys in use are never overwritten: that would lock out programs that use them.
Status check_has_no_keys(const fs::path& root) {
  for (const char* name :
       {"server.key", "server.pub", "client.key", "client.pub", "clients/client.pub"}) {
    const fs::path path = root / name;
    std::error_code failure;
    if (!fs::exists(fs::symlink_status(path, failure))) continue;
    return Error{ErrorCode::kConflict,
                 path.string() +
                     " already exists, so no key was created (give another folder, or remove the "
                     "old keys if no program needs them)"};
  }
  return {};
}

Status write_pair(const fs::path& folder, const std::string& name, std::string& public_key) {
  const KeyPair pair = CARILLON_TRY(make_key_pair());
  public_key = pair.own;
  CARILLON_TRY(write_key(folder / (name + ".key"), pair.secret, 0600));
  return write_key(folder / (name + ".pub"), public_key, 0644);
}

}  // namespace

Result<KeyPair> make_key_pair() {
  KeyText own{};
  KeyText secret{};
  if (zmq_curve_keypair(own.data(), secret.data()) != 0) {
    return Error{ErrorCode::kUnavailable,
                 std::string{"cannot create CURVE keys: "} + zmq_strerror(zmq_errno())};
  }
  return KeyPair{.secret = secret.data(), .own = own.data()};
}

bool is_curve_key(const std::string& text) {
  std::array<std::uint8_t, 32> raw{};
  return text.size() == kCurveKeyCharacters && zmq_z85_decode(raw.data(), text.c_str()) != nullptr;
}

Result<std::string> public_key_of(const std::string& secret) {
  KeyText own{};
  if (zmq_curve_public(own.data(), secret.c_str()) != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string{"cannot use a CURVE key: "} + zmq_strerror(zmq_errno())};
  }
  return std::string{own.data()};
}

Status make_keys(const std::string& folder) {
  const fs::path root{folder};
  CARILLON_TRY(check_has_no_keys(root));
  std::error_code failure;
  fs::create_directories(root / "clients", failure);
  if (failure) {
    return Error{ErrorCode::kUnavailable,
                 "cannot create " + (root / "clients").string() + ": " + failure.message()};
  }
  fs::permissions(root, fs::perms::owner_all, failure);
  std::string server;
  std::string client;
  CARILLON_TRY(write_pair(root, "server", server));
  CARILLON_TRY(write_pair(root, "client", client));
  return write_key(root / "clients" / "client.pub", client, 0644);
}

Result<ServerKeys> read_server_keys(const std::string& folder) {
  CARILLON_TRY(check_folder(folder));
  CARILLON_TRY(check_folder(fs::path{folder} / "clients"));
  ServerKeys keys;
  keys.secret = CARILLON_TRY(read_secret(fs::path{folder} / "server.key"));
  return keys;
}

Result<ClientKeys> read_client_keys(const std::string& folder) {
  const fs::path root{folder};
  CARILLON_TRY(check_folder(root));
  ClientKeys keys;
  keys.secret = CARILLON_TRY(read_secret(root / "client.key"));
  keys.own = CARILLON_TRY(read_key(root / "client.pub"));
  keys.server = CARILLON_TRY(read_key(root / "server.pub"));
  return keys;
}

Status write_client_keys(const std::string& folder, const ClientKeys& keys) {
  const fs::path root{folder};
  CARILLON_TRY(check_has_no_keys(root));
  std::error_code failure;
  fs::create_directories(root, failure);
  if (failure)
    return Error{ErrorCode::kUnavailable, "cannot create " + folder + ": " + failure.message()};
  fs::permissions(root, fs::perms::owner_all, failure);
  CARILLON_TRY(write_key(root / "client.key", keys.secret, 0600));
  CARILLON_TRY(write_key(root / "client.pub", keys.own, 0644));
  return write_key(root / "server.pub", keys.server, 0644);
}

void remove_client_keys(const std::string& folder) {
  const fs::path root{folder};
  std::error_code failure;  // what stays is of no use to anybody
  for (const char* name : {"client.key", "client.pub", "server.pub"})
    fs::remove(root / name, failure);
  fs::remove(root, failure);
}

std::map<std::string, std::string> read_allowed_clients(const std::string& folder) {
  std::map<std::string, std::string> keys;
  std::error_code failure;
  for (fs::directory_iterator next(fs::path{folder} / "clients", failure), end;
       !failure && next != end; next.increment(failure)) {
    if (next->path().extension() != ".pub" || !is_closed(next->path())) continue;
    auto key = read_key(next->path());
    if (key.ok()) keys.emplace(std::move(key).value(), next->path().stem().string());
  }
  return keys;
}

}  // namespace carillon::net
