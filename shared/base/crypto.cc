#include "shared/base/crypto.h"

#include <array>

#include <sodium.h>

#include "shared/base/assert.h"

namespace carillon {
namespace {

void start_sodium() { CARILLON_ASSERT(sodium_init() >= 0, "libsodium has random numbers"); }

}  // namespace

std::string make_access_token() {
  start_sodium();
  std::array<unsigned char, 32> random{};
  randombytes_buf(random.data(), random.size());
  std::array<char, 64> text{};
  sodium_bin2base64(text.data(), text.size(), random.data(), random.size(),
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  return std::string{"crl_"} + text.data();
}

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes for libsodium
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), hash.data(), hash.size());
  return hex.data();
}

std::string hash_password(std::string_view password) {
  start_sodium();
  std::array<char, crypto_pwhash_STRBYTES> hash{};
  const int made =
      crypto_pwhash_str(hash.data(), password.data(), password.size(),
                        crypto_pwhash_OPSLIMIT_INTERACTIVE, crypto_pwhash_MEMLIMIT_INTERACTIVE);
  CARILLON_ASSERT(made == 0, "there is memory to hash a password");
  return hash.data();
}

bool is_password(std::string_view password, const std::string& hash) {
  start_sodium();
  return hash.size() < crypto_pwhash_STRBYTES &&
         crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

}  // namespace carillon
