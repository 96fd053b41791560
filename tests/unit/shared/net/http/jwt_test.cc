#include "shared/net/http/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/signing.h"
#include "tests/support/jwt_signer.h"

namespace carillon::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kClaims =
    R"({"iss":"https://id.example.com","aud":"carillon","exp":2000,"nonce":"n-1","sub":"42",)"
    R"("groups":["ops","mail"],"email_verified":true})";

const JwtExpectation kExpected{.issuer = "https://id.example.com",
                               .audience = "carillon",
                               .nonce = "n-1",
                               .now = WallTime{std::chrono::seconds{1900}}};

const JwtSigner& rsa() {
  static const JwtSigner kSigner = JwtSigner::rsa("r1");
  return kSigner;
}

const JwtSigner& elliptic() {
  static const JwtSigner kSigner = JwtSigner::elliptic("e1");
  return kSigner;
}

std::vector<Jwk> keys() {
  return parse_jwk_set(R"({"keys":[)" + rsa().jwk() + "," + elliptic().jwk() + "]}").value();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string failure(const std::string& token, const JwtExpectation& expected = kExpected) {
  const auto claims = verify_jwt(token, keys(), expected);
  return claims.ok() ? "verified" : claims.error().message;
}

TEST(Jwt, VerifiesRs256AndEs256) {
  for (const JwtSigner* signer : {&rsa(), &elliptic()}) {
    const auto claims = verify_jwt(signer->token(kClaims), keys(), kExpected);
    ASSERT_TRUE(claims.ok()) << claims.error().message;
    EXPECT_EQ(claim_text(claims.value(), "sub"), "42");
    EXPECT_EQ(claim_text(claims.value(), "email_verified"), "true");
    EXPECT_THAT(claims.value().at("groups"), ElementsAre("ops", "mail"));
  }
}

TEST(Jwt, RefusesATokenWithoutASignature) {
  const std::string unsigned_token =
      to_base64url(R"({"alg":"none"})") + "." + to_base64url(kClaims) + ".";
  EXPECT_THAT(failure(unsigned_token), HasSubstr("not signed with RS256 or ES256"));
}

TEST(Jwt, RefusesHmacWithThePublicKeyAsItsSecret) {
  const std::string head = R"({"alg":"HS256","kid":"r1"})";
  const std::string text = to_base64url(head) + "." + to_base64url(kClaims);
  const std::string forged = text + "." + to_base64url(hmac_sha256(rsa().jwk(), text));
  EXPECT_THAT(failure(forged), HasSubstr("not signed with RS256 or ES256"));
}

TEST(Jwt, UsesAKeyWithItsOwnAlgorithmOnly) {
  EXPECT_THAT(failure(elliptic().token(R"({"alg":"RS256","kid":"e1"})", kClaims)),
              HasSubstr("wrong signature"));
  EXPECT_THAT(failure(rsa().token(R"({"alg":"ES256","kid":"r1"})", kClaims)),
              HasSubstr("wrong signature"));
}

TEST(Jwt, RefusesChangedClaims) {
  const std::string token = rsa().token(kClaims);
  const std::string other = to_base64url(replaced(kClaims, "\"42\"", "\"43\""));
  const std::string forged =
      token.substr(0, token.find('.') + 1) + other + token.substr(token.rfind('.'));
  EXPECT_THAT(failure(forged), HasSubstr("wrong signature"));
}

TEST(Jwt, RefusesTheSignatureOfAnotherKey) {
  EXPECT_THAT(failure(JwtSigner::elliptic("e1").token(kClaims)), HasSubstr("wrong signature"));
}

TEST(Jwt, AsksForOtherKeysIfTheKeyIsUnknown) {
  const auto claims = verify_jwt(JwtSigner::elliptic("e2").token(kClaims), keys(), kExpected);
  ASSERT_FALSE(claims.ok());
  EXPECT_EQ(claims.error().code, ErrorCode::kNotFound);
}

TEST(Jwt, TriesAllKeysForATokenWithoutAKeyId) {
  EXPECT_EQ(failure(rsa().token(R"({"alg":"RS256"})", kClaims)), "verified");
}

TEST(Jwt, RefusesAnExpiredToken) {
  JwtExpectation later = kExpected;
  later.now = WallTime{std::chrono::seconds{2059}};
  EXPECT_EQ(failure(rsa().token(kClaims), later), "verified") << "clocks may differ a little";
  later.now = WallTime{std::chrono::seconds{2060}};
  EXPECT_THAT(failure(rsa().token(kClaims), later), HasSubstr("expired"));
}

TEST(Jwt, RefusesATokenWithoutAnEnd) {
  EXPECT_THAT(failure(rsa().token(replaced(kClaims, "\"exp\":2000,", ""))),
              HasSubstr("when it expires"));
  EXPECT_THAT(failure(rsa().token(replaced(kClaims, "2000", "\"2000\""))),
              HasSubstr("when it expires"));
}

TEST(Jwt, RefusesATokenThatIsNotValidYet) {
  EXPECT_THAT(failure(rsa().token(replaced(kClaims, "\"exp\":2000", "\"exp\":3000,\"nbf\":1961"))),
              HasSubstr("not valid yet"));
}

TEST(Jwt, RefusesAnotherIssuer) {
  EXPECT_THAT(failure(rsa().token(replaced(kClaims, "id.example", "id.evil"))),
              HasSubstr("another issuer"));
}

TEST(Jwt, RefusesAnotherAudience) {
  EXPECT_THAT(failure(rsa().token(replaced(kClaims, "\"aud\":\"carillon\"", "\"aud\":\"wiki\""))),
              HasSubstr("another client"));
}

TEST(Jwt, OfSeveralAudiencesIsForTheAuthorizedParty) {
  const std::string several = R"("aud":["wiki","carillon"])";
  const std::string claims = replaced(kClaims, R"("aud":"carillon")", several);
  EXPECT_THAT(failure(rsa().token(claims)), HasSubstr("authorized for another client"));
  EXPECT_EQ(failure(rsa().token(replaced(claims, several, several + R"(,"azp":"carillon")"))),
            "verified");
  EXPECT_THAT(failure(rsa().token(replaced(claims, several, several + R"(,"azp":"wiki")"))),
              HasSubstr("authorized for another client"));
}

TEST(Jwt, RefusesTheNonceOfAnotherSignIn) {
  EXPECT_THAT(failure(rsa().token(replaced(kClaims, "n-1", "n-2"))), HasSubstr("another sign-in"));
  EXPECT_THAT(failure(rsa().token(replaced(kClaims, "\"nonce\":\"n-1\",", ""))),
              HasSubstr("another sign-in"));
}

TEST(Jwt, RefusesWhatIsNoToken) {
  EXPECT_THAT(failure(""), HasSubstr("no signed JSON Web Token"));
  EXPECT_THAT(failure("a.b"), HasSubstr("no signed JSON Web Token"));
  EXPECT_THAT(failure("a.b.c.d.e"), HasSubstr("no signed JSON Web Token"));
  EXPECT_THAT(failure(std::string(kJwtBytesMax, 'a') + ".b.c"),
              HasSubstr("no signed JSON Web Token"));
}

TEST(Jwt, RefusesCriticalExtensions) {
  EXPECT_THAT(failure(rsa().token(R"({"alg":"RS256","kid":"r1","crit":["b64"]})", kClaims)),
              HasSubstr("critical"));
}

TEST(Jwt, LeavesOutKeysThatItCannotUse) {
  const std::string encryption = replaced(rsa().jwk(), "\"sig\"", "\"enc\"");
  const std::string weak = JwtSigner::rsa("weak", 1024).jwk();
  const auto found = parse_jwk_set(R"({"keys":[)" + encryption + "," + weak +
                                   R"(,{"kty":"oct","k":"c2VjcmV0"},{"kty":"OKP"},7]})");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found.value().empty());
  EXPECT_FALSE(parse_jwk_set("[]").ok());
  EXPECT_FALSE(parse_jwk_set(R"({"keys":{}})").ok());
}

}  // namespace
}  // namespace carillon::net
