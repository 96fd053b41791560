#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

// The check of ID tokens of OpenID Connect: JSON Web Tokens (RFC 7519) that are signed with RS256
// or ES256, by keys of a JSON Web Key set (RFC 7517). Other algorithms, and tokens without a
// signature, are refused.
//
// Thread: any.
namespace carillon::net {

inline constexpr std::size_t kJwtBytesMax = 64 * 1024;

// A public key for signatures.
struct Jwk {
  std::string id{};         // empty: it has none
  std::string algorithm{};  // "RS256" or "ES256"
  // RS256: modulus and exponent. ES256: the coordinates of the point. As bytes, the highest first.
  std::string first{};
  std::string second{};

  bool operator==(const Jwk&) const = default;
};

// The usable keys of a set; others are left out. Error: kInvalidArgument: it is no set of keys.
Result<std::vector<Jwk>> parse_jwk_set(const std::string& json);

// The claims of a token: texts, numbers and booleans as text, lists of them as several texts.
// Objects are left out.
using JwtClaims = std::map<std::string, std::vector<std::string>>;

// The only text of a claim; empty: it is missing or a list.
std::string claim_text(const JwtClaims& claims, const std::string& name);

struct JwtExpectation {
  std::string issuer{};
  std::string audience{};  // one of the token's audiences; of several, also its authorized party
  std::string nonce{};
  WallTime now{};
  Duration leeway = std::chrono::seconds{60};  // for clocks that differ
};

// The claims of a token whose signature and claims are right. Errors: kNotFound if no key has the
// token's key id, so that the keys should be fetched again; otherwise kDenied.
Result<JwtClaims> verify_jwt(std::string_view token, const std::vector<Jwk>& keys,
                             const JwtExpectation& expectation);

}  // namespace carillon::net
