#pragma once

#include <string>
#include <string_view>

// Secrets that are drawn, and what is stored of them. Uses libsodium. Thread: any.
namespace carillon {

// A new access token: "crl_" and 43 random characters of A-Za-z0-9_-, with 256 bits.
std::string make_access_token();
// SHA-256, in hex. For secrets that are random, and so need no slow hash.
std::string sha256_hex(std::string_view text);

// Argon2id with a random salt, as a text that contains its parameters. Takes about 0.1 s and
// 64 MiB.
std::string hash_password(std::string_view password);
// Takes as long as hash_password().
bool is_password(std::string_view password, const std::string& hash);

}  // namespace carillon
