#pragma once

#include <cstdint>
#include <string>

#include "carillon/result.h"
#include "shared/base/environment.h"

// The access token of a job tracker that listens on loopback: a file that only its user can read,
// so that this user's programs get in without asking and nobody else does.
//
// The folder must belong to the user and be closed to others, or it is refused: in /tmp anybody
// could have made it before. Links are not followed.
//
// Thread: any.
namespace carillon::net {

// "$XDG_RUNTIME_DIR/carillon/PORT.token", or "/tmp/carillon-UID/PORT.token".
std::string token_path(const Environment& environment, std::uint16_t port);

// Of a job tracker that runs as the packaged service: "/run/carillon/PORT.token". Only its user and
// root can read it, and only root can make its folder.
std::string service_token_path(std::uint16_t port);

// The token of the last tracker at this port, if its file still lies there after a crash (its
// clients then get in again with the one they know); otherwise a new one, drawn at random. Makes
// the folder where it is missing.
Result<std::string> make_token(const std::string& path);

// kNotFound: there is no such file. kDenied: somebody else could have written or read it.
Result<std::string> read_token(const std::string& path);

struct FoundToken {
  std::string path{};
  std::string token{};
};

// The token at `own` by the rules of read_token(), or else that of the service. The error names the
// latter too if there is one.
Result<FoundToken> find_token(const std::string& own, const std::string& of_service);

// The token in a file that the user named: it may be a link and another user's, but not readable by
// everybody.
Result<std::string> read_given_token(const std::string& path);

// Takes the file away, if it still holds this token.
void remove_token(const std::string& path, const std::string& token);

}  // namespace carillon::net
