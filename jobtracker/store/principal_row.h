#pragma once

#include <string>

#include "carillon/time.h"
#include "shared/base/principal.h"

// The rows of lts_principal.
namespace carillon::jobtracker {

// No principals, but kept like them: a link that signs in once, a session of the console that has
// ended early, and the secret key of the job trackers for cookies.
inline constexpr const char* kLinkKind = "link";
inline constexpr const char* kSessionKind = "session";
inline constexpr const char* kSecretKind = "secret";

// A principal that the store keeps.
struct PrincipalRow {
  Principal principal{};
  // key: the public CURVE key; token and link: its SHA-256 in hex; user: the hash of the password;
  // secret: itself.
  std::string secret{};
  WallTime created_at{};
  std::string created_by{};  // the name of a principal
  WallTime expires_at{};     // WallTime{}: never
  // user: of the console; empty: the browser's. link: "key" if a key of the store made it.
  std::string language{};

  bool operator==(const PrincipalRow&) const = default;
};

}  // namespace carillon::jobtracker
