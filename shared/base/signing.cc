#include "shared/base/signing.h"

#include <array>

#include <sodium.h>

#include "shared/base/assert.h"

namespace carillon {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes for libsodium
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes from libsodium
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string random_bytes(std::size_t count) {
  CARILLON_ASSERT(sodium_init() >= 0, "libsodium has random numbers");
  std::string bytes(count, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

std::string sha256_bytes(std::string_view text) {
  std::string hash(crypto_hash_sha256_BYTES, '\0');
  crypto_hash_sha256(bytes_of(hash), bytes_of(text), text.size());
  return hash;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string code(crypto_auth_hmacsha256_BYTES, '\0');
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_of(key), key.size());
  crypto_auth_hmacsha256_update(&state, bytes_of(text), text.size());
  crypto_auth_hmacsha256_final(&state, bytes_of(code));
  return code;
}

std::string to_base64url(std::string_view bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes_of(bytes), bytes.size(), kVariant);
  text.pop_back();  // the terminating zero
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes(text.size(), '\0');
  std::size_t size = 0;
  const int failed =
      sodium_base642bin(bytes_of(bytes), bytes.size(), text.data(), text.size(), nullptr, &size,
                        nullptr, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  if (failed != 0) return std::nullopt;
  bytes.resize(size);
  return bytes;
}

}  // namespace carillon
