#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Random bytes, hashes and message authentication codes, as raw bytes. Uses libsodium. Thread: any.
namespace carillon {

// From the operating system's generator for secrets.
std::string random_bytes(std::size_t count);

// 32 bytes each.
std::string sha256_bytes(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);

// A-Za-z0-9_- without padding (RFC 4648, section 5).
std::string to_base64url(std::string_view bytes);
// None: not base64url, or with padding.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace carillon
