#include "tests/support/jwt_signer.h"

#include <array>
#include <cstdlib>
#include <utility>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/rsa.h>

#include "shared/base/signing.h"

namespace carillon {
namespace {

constexpr int kCoordinateBytes = 32;

void require(bool is_so) {
  if (!is_so) std::abort();
}

std::string number_text(const EVP_PKEY* key, const char* name, int bytes) {
  BIGNUM* number = nullptr;
  require(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  const int size = bytes > 0 ? bytes : BN_num_bytes(number);
  std::string text(static_cast<std::size_t>(size), '\0');
  require(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()), size) == size);
  BN_free(number);
  return to_base64url(text);
}

// The two numbers of an ECDSA signature, one after the other.
std::string plain_signature(const std::string& encoded) {
  const auto* in = reinterpret_cast<const unsigned char*>(encoded.data());
  ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &in, static_cast<long>(encoded.size()));
  require(signature != nullptr);
  std::array<unsigned char, 2 * kCoordinateBytes> both{};
  BN_bn2binpad(ECDSA_SIG_get0_r(signature), both.data(), kCoordinateBytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature), both.data() + kCoordinateBytes, kCoordinateBytes);
  ECDSA_SIG_free(signature);
  return {reinterpret_cast<const char*>(both.data()), both.size()};
}

}  // namespace

JwtSigner JwtSigner::rsa(std::string id, int bits) {
  EVP_PKEY* const key = EVP_RSA_gen(static_cast<unsigned>(bits));
  require(key != nullptr);
  return {std::move(id), key, true};
}

JwtSigner JwtSigner::elliptic(std::string id) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  require(key != nullptr);
  return {std::move(id), key, false};
}

std::string JwtSigner::jwk() const {
  const std::string id = R"("kid":")" + id_ + R"(","use":"sig")";
  if (is_rsa_) {
    return R"({"kty":"RSA","alg":"RS256",)" + id + R"(,"n":")" +
           number_text(key_.get(), OSSL_PKEY_PARAM_RSA_N, 0) + R"(","e":")" +
           number_text(key_.get(), OSSL_PKEY_PARAM_RSA_E, 0) + R"("})";
  }
  return R"({"kty":"EC","crv":"P-256","alg":"ES256",)" + id + R"(,"x":")" +
         number_text(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, kCoordinateBytes) + R"(","y":")" +
         number_text(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, kCoordinateBytes) + R"("})";
}

std::string JwtSigner::token(const std::string& claims) const {
  return token(
      R"({"alg":")" + std::string{is_rsa_ ? "RS256" : "ES256"} + R"(","kid":")" + id_ + R"("})",
      claims);
}

std::string JwtSigner::token(const std::string& head, const std::string& claims) const {
  const std::string text = to_base64url(head) + "." + to_base64url(claims);
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  const auto* const in = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  require(EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get()) == 1);
  require(EVP_DigestSign(context, nullptr, &size, in, text.size()) == 1);
  std::string signature(size, '\0');
  require(EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size, in,
                         text.size()) == 1);
  EVP_MD_CTX_free(context);
  signature.resize(size);
  return text + "." + to_base64url(is_rsa_ ? signature : plain_signature(signature));
}

}  // namespace carillon
