#include "jobclient/cli/console.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobclient/cli/web_page.h"
#include "shared/base/crypto.h"
#include "shared/base/principal.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A job tracker for which the client is an administrator.
FakeTracker::Answer administrator(const std::string& console = "http://host-1:8080") {
  return [console](const wire::Message& request) -> wire::Message {
    if (std::holds_alternative<wire::PutPrincipal>(request))
      return wire::Acted{.message = "stored"};
    return wire::Rows{.rows = {{{"kind", std::string{"local"}},
                                {"name", std::string{"ann"}},
                                {"role", std::string{"admin"}},
                                {"groups", std::string{"*"}},
                                {"console", console}}}};
  };
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(Console, PrintsAndOpensALinkThatTheJobTrackerKnows) {
  Cli cli(administrator());
  EXPECT_EQ(cli.run({"console"}), kDone);
  const std::string link = first_line(cli.out.str());
  ASSERT_THAT(link, StartsWith("http://host-1:8080/#/login?one_time="));
  EXPECT_THAT(cli.opened, ElementsAre(link));
  const auto puts = cli.tracker.asked<wire::PutPrincipal>();
  ASSERT_EQ(puts.size(), 1u);
  const std::string one_time = link.substr(link.find('=') + 1);
  const std::size_t dot = one_time.find('.');
  EXPECT_EQ(puts[0].kind, "link");
  EXPECT_EQ(puts[0].name, one_time.substr(0, dot));
  EXPECT_EQ(puts[0].secret, sha256_hex(one_time.substr(dot + 1)));
  EXPECT_EQ(puts[0].role, "admin");
  EXPECT_THAT(puts[0].groups, ElementsAre("*"));
  EXPECT_FALSE(puts[0].replaces);
  const ManualClock begin;
  EXPECT_EQ(puts[0].expires_us,
            (begin.wall_now() + std::chrono::minutes{5}).time_since_epoch().count());
}

TEST(Console, OnlyPrintsIfAsked) {
  Cli cli(administrator());
  EXPECT_EQ(cli.run({"console", "--print", "--url", "https://jobs.example.com/"}), kDone);
  EXPECT_THAT(cli.out.str(), StartsWith("https://jobs.example.com/#/login?one_time="));
  EXPECT_THAT(cli.opened, IsEmpty());
  EXPECT_EQ(cli.run({"console", "--url", "jobs"}), kWrongInput);
}

TEST(Console, KnowsTheDefaultAddress) {
  Cli cli(administrator(""));
  EXPECT_EQ(cli.run({"-o", "json", "console"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("http://127.0.0.1:8080/#/login?one_time="));
  EXPECT_THAT(cli.out.str(), HasSubstr("expires_at"));
}

TEST(Console, PrintsNoLinkIfTheJobTrackerRefuses) {
  Cli cli([](const wire::Message& request) -> wire::Message {
    if (std::holds_alternative<wire::Query>(request)) return wire::Rows{};
    return wire::ErrorReply{{ErrorCode::kDenied, "needs the role admin"}};
  });
  EXPECT_EQ(cli.run({"console"}), kRefused);
  EXPECT_EQ(cli.out.str(), "");
  EXPECT_THAT(cli.opened, IsEmpty());
}

TEST(UsersNew, MayHaveNoPassword) {
  Cli cli(administrator());
  EXPECT_EQ(cli.run({"users", "new", "carl", "--role", "viewer", "--group", "*", "--no-password"}),
            kDone);
  const auto puts = cli.tracker.asked<wire::PutPrincipal>();
  ASSERT_EQ(puts.size(), 1u);
  EXPECT_EQ(puts[0].secret, kNoPassword);
  EXPECT_EQ(cli.run({"users", "new", "carl", "--role", "viewer", "--group", "*", "--no-password",
                     "--password-file", "-"}),
            kWrongInput);
}

TEST(WebPage, LeadsToTheAddress) {
  const testing::TempFolder folder;
  const std::string path = write_web_page(folder.file("new"), "http://a/?x=1&y=\"<");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("url=http://a/?x=1&amp;y=&quot;&lt;"));
}

TEST(WebPage, IsReadableByTheUserOnly) {
  const testing::TempFolder folder;
  std::ofstream(folder.file("console.html")) << "of an earlier link";
  const std::string path = write_web_page(folder.path().string(), "http://a/");
  EXPECT_EQ(path, folder.file("console.html"));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(WebPage, IsNotWrittenWithoutADisplay) {
  const testing::TempFolder folder;
  open_web_page(Environment{}, folder.path().string(), "http://a/");
  EXPECT_FALSE(std::filesystem::exists(folder.file("console.html")));
}

}  // namespace
}  // namespace carillon::cli
