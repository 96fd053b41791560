#include "jobtracker/api/console_session.h"

#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

constexpr const char* kKey = "0123456789abcdef";
constexpr WallTime kNow{std::chrono::hours{500'000}};

ConsoleSession session() { return make_session("user", "anna", kNow, std::chrono::hours{12}); }

TEST(ConsoleSession, ACookieContainsAllOfIt) {
  ConsoleSession made = session();
  made.password_mark = "0123";
  EXPECT_EQ(read_session(sign_session(made, kKey), kKey), made);
  made.own_role = {.role = Role::kAdmin, .groups = {"billing-*", "mail"}};
  EXPECT_EQ(read_session(sign_session(made, kKey), kKey), made);
}

TEST(ConsoleSession, NeedsTheKey) {
  EXPECT_FALSE(read_session(sign_session(session(), kKey), "another key"));
}

TEST(ConsoleSession, IsNotForged) {
  const std::string cookie = sign_session(session(), kKey);
  const std::string other =
      sign_session(make_session("user", "admin", kNow, std::chrono::hours{12}), "guess");
  const std::string mixed = other.substr(0, other.find('.')) + cookie.substr(cookie.find('.'));
  EXPECT_FALSE(read_session(mixed, kKey));
  for (const char* text : {"", ".", "a", "a.b", "=.="}) EXPECT_FALSE(read_session(text, kKey));
}

TEST(ConsoleSession, ASignatureHoldsForOnePurpose) {
  const std::string signed_text = sign_text("oidc state", "text", kKey);
  EXPECT_EQ(read_signed("oidc state", signed_text, kKey), "text");
  EXPECT_FALSE(read_signed("session", signed_text, kKey));
}

TEST(ConsoleSession, EachHasATokenOfItsOwn) {
  const ConsoleSession one = session();
  const ConsoleSession two = session();
  EXPECT_NE(one.id, two.id);
  EXPECT_NE(csrf_token_of(one, kKey), csrf_token_of(two, kKey));
  EXPECT_EQ(csrf_token_of(one, kKey), csrf_token_of(one, kKey));
}

}  // namespace
}  // namespace carillon::jobtracker
