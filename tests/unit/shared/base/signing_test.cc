#include "shared/base/signing.h"

#include <gtest/gtest.h>

#include "shared/base/crypto.h"

namespace carillon {
namespace {

std::string hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xF];
  }
  return text;
}

// RFC 4231, test case 2.
TEST(Signing, ComputesHmacSha256) {
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// RFC 4231, test case 6.
TEST(Signing, ComputesHmacSha256WithALongKey) {
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Signing, HashesLikeTheTextOfAHash) { EXPECT_EQ(hex(sha256_bytes("abc")), sha256_hex("abc")); }

TEST(Signing, EncodesBase64ForUrls) {
  EXPECT_EQ(to_base64url("\xfb\xff\xfe?"), "-__-Pw");
  EXPECT_EQ(from_base64url("-__-Pw"), "\xfb\xff\xfe?");
  EXPECT_EQ(to_base64url(""), "");
  EXPECT_EQ(from_base64url(""), "");
}

TEST(Signing, RefusesWhatIsNotBase64ForUrls) {
  EXPECT_FALSE(from_base64url("+//+Pw"));
  EXPECT_FALSE(from_base64url("Pw=="));
  EXPECT_FALSE(from_base64url("P"));
  EXPECT_FALSE(from_base64url("Pw\n"));
}

TEST(Signing, DrawsOtherBytesEachTime) {
  EXPECT_EQ(random_bytes(16).size(), 16U);
  EXPECT_NE(random_bytes(16), random_bytes(16));
}

}  // namespace
}  // namespace carillon
