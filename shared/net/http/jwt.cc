#include "shared/net/http/jwt.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "shared/base/secret.h"
#include "shared/base/signing.h"

namespace carillon::net {
namespace {

using Json = nlohmann::json;

constexpr const char* kRsa = "RS256";
constexpr const char* kEcdsa = "ES256";
constexpr std::size_t kRsaBytesMin = 256;  // 2048 bits
constexpr std::size_t kRsaBytesMax = 1024;
constexpr std::size_t kCoordinateBytes = 32;
constexpr std::size_t kKeysMax = 100;

template <auto free_it>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free_it(object);
  }
};
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;

Error denied(const std::string& why) { return {ErrorCode::kDenied, "the ID token " + why}; }

const unsigned char* raw(std::string_view text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes for OpenSSL
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_of(std::string_view bytes) {
  return Number{BN_bin2bn(raw(bytes), static_cast<int>(bytes.size()), nullptr)};
}

std::optional<Json> parse_object(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  return parsed;
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::optional<Jwk> read_key(const Json& object) {
  const std::string type = text_of(object, "kty");
  const std::string use = text_of(object, "use");
  if (!use.empty() && use != "sig") return std::nullopt;
  Jwk key{.id = text_of(object, "kid")};
  std::optional<std::string> first;
  std::optional<std::string> second;
  if (type == "RSA") {
    key.algorithm = kRsa;
    first = from_base64url(text_of(object, "n"));
    second = from_base64url(text_of(object, "e"));
    if (!first || first->size() < kRsaBytesMin || first->size() > kRsaBytesMax) return std::nullopt;
    if (!second || second->empty() || second->size() > sizeof(std::uint64_t)) return std::nullopt;
  } else if (type == "EC" && text_of(object, "crv") == "P-256") {
    key.algorithm = kEcdsa;
    first = from_base64url(text_of(object, "x"));
    second = from_base64url(text_of(object, "y"));
    if (!first || first->size() != kCoordinateBytes) return std::nullopt;
    if (!second || second->size() != kCoordinateBytes) return std::nullopt;
  } else {
    return std::nullopt;
  }
  const std::string algorithm = text_of(object, "alg");
  if (!algorithm.empty() && algorithm != key.algorithm) return std::nullopt;
  key.first = *std::move(first);
  key.second = *std::move(second);
  return key;
}

Key key_from(const char* type, OSSL_PARAM_BLD& builder) {
  const Parameters parameters{OSSL_PARAM_BLD_to_param(&builder)};
  const KeyContext context{EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr)};
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) <= 0 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) <= 0)
    return nullptr;
  return Key{key};
}

Key public_key(const Jwk& key) {
  const Builder builder{OSSL_PARAM_BLD_new()};
  if (!builder) return nullptr;
  if (key.algorithm == kRsa) {
    const Number modulus = number_of(key.first);
    const Number exponent = number_of(key.second);
    const bool is_built =
        modulus && exponent &&
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) == 1;
    return is_built ? key_from("RSA", *builder) : nullptr;
  }
  const std::string point = '\x04' + key.first + key.second;  // uncompressed
  const bool is_built = OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                                        "prime256v1", 0) == 1 &&
                        OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                                         point.data(), point.size()) == 1;
  return is_built ? key_from("EC", *builder) : nullptr;
}

// The two numbers of a signature, in the encoding that OpenSSL reads. Empty: it is none.
std::string der_signature(std::string_view numbers) {
  if (numbers.size() != 2 * kCoordinateBytes) return {};
  const Signature signature{ECDSA_SIG_new()};
  Number first = number_of(numbers.substr(0, kCoordinateBytes));
  Number second = number_of(numbers.substr(kCoordinateBytes));
  if (!signature || !first || !second ||
      ECDSA_SIG_set0(signature.get(), first.get(), second.get()) != 1)
    return {};
  (void)first.release();  // The signature owns both now.
  (void)second.release();
  const int size = i2d_ECDSA_SIG(signature.get(), nullptr);
  if (size <= 0) return {};
  std::string encoded(static_cast<std::size_t>(size), '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes from OpenSSL
  auto* out = reinterpret_cast<unsigned char*>(encoded.data());
  i2d_ECDSA_SIG(signature.get(), &out);
  return encoded;
}

bool is_signed_by(const Jwk& jwk, std::string_view text, const std::string& signature) {
  const Key key = public_key(jwk);
  const std::string encoded = jwk.algorithm == kEcdsa ? der_signature(signature) : signature;
  const Digest digest{EVP_MD_CTX_new()};
  if (!key || !digest || encoded.empty()) return false;
  return EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
         EVP_DigestVerify(digest.get(), raw(encoded), encoded.size(), raw(text), text.size()) == 1;
}

std::optional<std::string> scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

JwtClaims read_claims(const Json& object) {
  JwtClaims claims;
  for (const auto& [name, value] : object.items()) {
    std::vector<std::string> texts;
    if (value.is_array()) {
      for (const Json& item : value) {
        if (auto text = scalar_text(item)) texts.push_back(*std::move(text));
      }
    } else if (auto text = scalar_text(value)) {
      texts.push_back(*std::move(text));
    } else {
      continue;
    }
    claims.emplace(name, std::move(texts));
  }
  return claims;
}

bool contains(const JwtClaims& claims, const std::string& name, const std::string& text) {
  const auto found = claims.find(name);
  return found != claims.end() &&
         std::find(found->second.begin(), found->second.end(), text) != found->second.end();
}

// Seconds since 1970, perhaps with a fraction.
std::optional<double> time_claim(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  return std::isfinite(seconds) ? std::optional{seconds} : std::nullopt;
}

Status check_times(const Json& object, const JwtExpectation& expectation) {
  using Seconds = std::chrono::duration<double>;
  const double now = Seconds{expectation.now.time_since_epoch()}.count();
  const double leeway = Seconds{expectation.leeway}.count();
  const auto expires = time_claim(object, "exp");
  if (!expires) return denied("does not say when it expires");
  if (*expires + leeway <= now) return denied("has expired");
  const auto begins = time_claim(object, "nbf");
  if (begins && *begins - leeway > now) return denied("is not valid yet (check the clocks)");
  return {};
}

Status check_claims(const JwtClaims& claims, const JwtExpectation& expectation) {
  if (claim_text(claims, "iss") != expectation.issuer)
    return denied("is of another issuer, '" + claim_text(claims, "iss") + "'");
  if (!contains(claims, "aud", expectation.audience)) return denied("is for another client");
  const bool has_several = claims.at("aud").size() > 1;
  const bool names_party = claims.contains("azp");
  if ((has_several || names_party) && claim_text(claims, "azp") != expectation.audience)
    return denied("is authorized for another client");
  if (expectation.nonce.empty() || !is_same_secret(claim_text(claims, "nonce"), expectation.nonce))
    return denied("belongs to another sign-in");
  if (claim_text(claims, "sub").empty()) return denied("names no subject");
  return {};
}

}  // namespace

Result<std::vector<Jwk>> parse_jwk_set(const std::string& json) {
  const auto object = parse_object(json);
  const auto list = object ? object->find("keys") : Json::const_iterator{};
  if (!object || list == object->end() || !list->is_array())
    return Error{ErrorCode::kInvalidArgument, "the answer is no JSON Web Key set"};
  std::vector<Jwk> keys;
  for (const Json& item : *list) {
    if (!item.is_object() || keys.size() >= kKeysMax) continue;
    if (auto key = read_key(item)) keys.push_back(*std::move(key));
  }
  return keys;
}

std::string claim_text(const JwtClaims& claims, const std::string& name) {
  const auto found = claims.find(name);
  return found != claims.end() && found->second.size() == 1 ? found->second.front() : std::string{};
}

Result<JwtClaims> verify_jwt(std::string_view token, const std::vector<Jwk>& keys,
                             const JwtExpectation& expectation) {
  const std::size_t head_end = token.find('.');
  const std::size_t body_end = token.rfind('.');
  if (token.size() > kJwtBytesMax || head_end == std::string_view::npos || head_end == body_end)
    return denied("is no signed JSON Web Token");
  const std::string_view body_text = token.substr(head_end + 1, body_end - head_end - 1);
  const auto head_bytes = from_base64url(token.substr(0, head_end));
  const auto body_bytes = from_base64url(body_text);
  const auto signature = from_base64url(token.substr(body_end + 1));
  const auto head = head_bytes ? parse_object(*head_bytes) : std::nullopt;
  const auto body = body_bytes ? parse_object(*body_bytes) : std::nullopt;
  if (!head || !body || !signature) return denied("is no signed JSON Web Token");
  const std::string algorithm = text_of(*head, "alg");
  if (algorithm != kRsa && algorithm != kEcdsa)
    return denied("is not signed with RS256 or ES256, but '" + algorithm + "'");
  if (head->contains("crit")) return denied("has critical extensions");
  const std::string id = text_of(*head, "kid");
  bool is_known = false;
  bool is_signed = false;
  for (const Jwk& key : keys) {
    if (!id.empty() && key.id != id) continue;
    is_known = true;
    // A key is used with its own algorithm only.
    if (key.algorithm != algorithm) continue;
    is_signed = is_signed || is_signed_by(key, token.substr(0, body_end), *signature);
  }
  if (!is_known) return Error{ErrorCode::kNotFound, "the provider has no key '" + id + "'"};
  if (!is_signed) return denied("has a wrong signature");
  CARILLON_TRY(check_times(*body, expectation));
  JwtClaims claims = read_claims(*body);
  CARILLON_TRY(check_claims(claims, expectation));
  return claims;
}

}  // namespace carillon::net
