#pragma once

#include <cstdint>
#include <string>

#include "carillon/result.h"
#include "shared/base/environment.h"

// The access token of a job tracker on a loopback address: a file that only its user can read, so
// that programs of this user connect without configuration, and others cannot. It contains CURVE
// keys, which the job tracker draws at each start: its own public key, by which clients recognize
// it, and the secret key of its clients.
//
// The folder must belong to the user and be closed to others; otherwise it is rejected, because in
// /tmp any user could have created it. Symbolic links are not followed.
//
// Thread: any.
namespace carillon::net {

// "$XDG_RUNTIME_DIR/carillon/PORT.token", or "/tmp/carillon-UID/PORT.token".
std::string token_path(const Environment& environment, std::uint16_t port);

// The token file of the packaged service: "/run/carillon/PORT.token". Only its user and root can
// read it, and only root can create its folder.
std::string service_token_path(std::uint16_t port);

struct Token {
  std::string server{};         // public key
  std::string client_secret{};  // secret key

  bool operator==(const Token&) const = default;
};

// Replaces the file at once, so that no reader sees a part of it. Creates a missing folder.
Status write_token(const std::string& path, const Token& token);

// Errors: kNotFound. kDenied if another user could have written or read the file.
Result<Token> read_token(const std::string& path);

struct FoundToken {
  std::string path{};
  Token token{};
};

// The token in `own` by the rules of read_token(), otherwise that of the service. The error also
// names the service's file if it exists.
Result<FoundToken> find_token(const std::string& own, const std::string& of_service);

// The token in a file that the user named: it may be a link and belong to another user, but must
// not be readable by every user.
Result<Token> read_given_token(const std::string& path);

// Deletes the file if it still contains this token.
void remove_token(const std::string& path, const Token& token);

}  // namespace carillon::net
