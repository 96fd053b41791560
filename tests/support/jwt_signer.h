#pragma once

#include <memory>
#include <string>

#include <openssl/evp.h>

namespace carillon {

// A provider's key for ID tokens: signs tokens for tests. Thread: any.
class JwtSigner {
 public:
  static JwtSigner rsa(std::string id, int bits = 2048);
  static JwtSigner elliptic(std::string id);

  // The public key as a JSON Web Key.
  std::string jwk() const;
  // A set with this key only.
  std::string jwk_set() const { return R"({"keys":[)" + jwk() + "]}"; }

  // A token with these claims, a JSON object.
  std::string token(const std::string& claims) const;
  // The same with another head, also a JSON object. The signature is this key's.
  std::string token(const std::string& head, const std::string& claims) const;

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };
  JwtSigner(std::string id, EVP_PKEY* key, bool is_rsa)
      : id_(std::move(id)), key_(key), is_rsa_(is_rsa) {}

  std::string id_;
  std::unique_ptr<EVP_PKEY, Free> key_;
  bool is_rsa_;
};

}  // namespace carillon
