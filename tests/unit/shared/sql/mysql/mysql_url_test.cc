#include "shared/sql/mysql/mysql_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::sql {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MysqlUrl, ReadsAllParts) {
  const auto url = parse_mysql_url("mysql://ann:secret@db.example:3307/carillon");
  ASSERT_TRUE(url.ok()) << url.error().message;
  EXPECT_EQ(url.value(), (MysqlUrl{.user = "ann",
                                   .password = "secret",
                                   .hosts = {{.name = "db.example", .port = 3307}},
                                   .database = "carillon"}));
}

TEST(MysqlUrl, DefaultsPortAndPassword) {
  const auto url = parse_mysql_url("mysql://ann@db/carillon").value();
  EXPECT_EQ(url.hosts.front().port, 3306);
  EXPECT_EQ(url.password, "");
}

TEST(MysqlUrl, DecodesPercentEncoding) {
  const auto url = parse_mysql_url("mysql://a%40b:p%3a%2F%25%20@db/my%2Fdata").value();
  EXPECT_EQ(url.user, "a@b");
  EXPECT_EQ(url.password, "p:/% ");
  EXPECT_EQ(url.database, "my/data");
}

TEST(MysqlUrl, AcceptsAPasswordWithAnAtSign) {
  const auto url = parse_mysql_url("mysql://ann:p@ss:word@db/carillon").value();
  EXPECT_EQ(url.password, "p@ss:word");
  EXPECT_EQ(url.hosts.front().name, "db");
}

TEST(MysqlUrl, AcceptsIpv6AddressesInBrackets) {
  const auto url = parse_mysql_url("mysql://ann@[::1]:3307/carillon").value();
  EXPECT_EQ(url.hosts.front().name, "::1");
  EXPECT_EQ(url.hosts.front().port, 3307);
  EXPECT_EQ(parse_mysql_url("mysql://ann@[::1]/carillon").value().hosts.front().port, 3306);
  EXPECT_EQ(url.masked(), "mysql://ann@[::1]:3307/carillon");
}

TEST(MysqlUrl, ReadsAListOfHosts) {
  const auto url = parse_mysql_url("mysql://ann:secret@db1:3307,[::1]:3308,db3/carillon");
  ASSERT_TRUE(url.ok()) << url.error().message;
  EXPECT_THAT(url.value().hosts, ElementsAre(MysqlHost{.name = "db1", .port = 3307},
                                             MysqlHost{.name = "::1", .port = 3308},
                                             MysqlHost{.name = "db3", .port = 3306}));
  EXPECT_EQ(url.value().masked(), "mysql://ann:***@db1:3307,[::1]:3308,db3:3306/carillon");
}

TEST(MysqlUrl, MasksThePassword) {
  const auto url = parse_mysql_url("mysql://ann:secret@db/carillon").value();
  EXPECT_EQ(url.masked(), "mysql://ann:***@db:3306/carillon");
}

TEST(MysqlUrl, ReadsTheAuthoritiesForTls) {
  const auto url =
      parse_mysql_url("mysql://ann:p?w@db/a?ssl-mode=verify_identity&ssl-ca=/a/%26.pem");
  ASSERT_TRUE(url.ok()) << url.error().message;
  EXPECT_EQ(url.value().ssl_ca, "/a/&.pem");
  EXPECT_EQ(url.value().password, "p?w");
  EXPECT_EQ(url.value().database, "a");
}

struct Refusal {
  const char* url;
  const char* reason;
};

class MysqlUrlRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(MysqlUrlRefusal, NamesTheInvalidPart) {
  const auto url = parse_mysql_url(GetParam().url);
  ASSERT_FALSE(url.ok());
  EXPECT_EQ(url.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(url.error().message, AllOf(HasSubstr(GetParam().reason),
                                         HasSubstr("expected mysql://"), Not(HasSubstr("secret"))));
}

INSTANTIATE_TEST_SUITE_P(
    Urls, MysqlUrlRefusal,
    ::testing::Values(Refusal{"", "does not start with mysql://"},
                      Refusal{"postgres://ann@db/x", "does not start with mysql://"},
                      Refusal{"mysql://", "the user is missing"},
                      Refusal{"mysql://db/carillon", "the user is missing"},
                      Refusal{"mysql://:secret@db/carillon", "the user is missing"},
                      Refusal{"mysql://ann:secret@/carillon", "the host is missing"},
                      Refusal{"mysql://ann:secret@:3306/carillon", "the host is missing"},
                      Refusal{"mysql://ann:secret@db1,/carillon", "the host is missing"},
                      Refusal{"mysql://ann:secret@db", "the database is missing"},
                      Refusal{"mysql://ann:secret@db/", "the database is missing"},
                      Refusal{"mysql://ann:secret@db:/carillon", "port \"\""},
                      Refusal{"mysql://ann:secret@db:0/carillon", "port \"0\""},
                      Refusal{"mysql://ann:secret@db:65536/carillon", "port \"65536\""},
                      Refusal{"mysql://ann:secret@db:33x/carillon", "port \"33x\""},
                      Refusal{"mysql://ann:secret@[::1/carillon", "is not closed"},
                      Refusal{"mysql://ann:secret@[::1]x/carillon", "after \"]\""},
                      Refusal{"mysql://ann:secret%4@db/carillon", "in the password"},
                      Refusal{"mysql://ann%zz:secret@db/carillon", "in the user"},
                      Refusal{"mysql://ann:secret@db/a/b", "the database \"a/b\""},
                      Refusal{"mysql://ann:secret@db/a?tls=1", "unknown parameter \"tls\""},
                      Refusal{"mysql://ann:secret@db/a?ssl-ca=/ca", "need each other"},
                      Refusal{"mysql://ann:secret@db/a?ssl-mode=verify_identity",
                              "need each other"},
                      Refusal{"mysql://ann:secret@db/a?ssl-ca=/ca&ssl-mode=required",
                              "ssl-mode must be verify_identity"},
                      Refusal{"mysql://ann:secret@db/a?ssl-ca=/a&ssl-ca=/b", "given twice"},
                      Refusal{"mysql://ann:secret@db/a/b?ssl-ca=/ca&ssl-mode=verify_identity",
                              "the database \"a/b\""}));

}  // namespace
}  // namespace carillon::sql
