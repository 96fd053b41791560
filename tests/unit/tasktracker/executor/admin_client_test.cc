#include "tasktracker/executor/admin_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tasktracker/executor/fake_admin.h"

namespace carillon::tasktracker {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

struct AdminBundle {
  FakeAdmin admin;
  std::atomic<bool> cancelled{false};

  AdminClient client(std::string token = "t") {
    return {{.admins = {"http://one:1/xxl-job-admin/", "http://two:2"},
             .app_name = "billing",
             .token = std::move(token)},
            admin.send,
            cancelled};
  }
  std::vector<std::string> urls() const {
    std::vector<std::string> all;
    for (const HttpRequest& request : admin.requests) all.push_back(request.url);
    return all;
  }
  std::vector<std::string> bodies() const {
    std::vector<std::string> all;
    for (const HttpRequest& request : admin.requests) all.push_back(request.body);
    return all;
  }
};

TEST(AdminClient, RegistersWithTheFirstAdmin) {
  AdminBundle b;
  EXPECT_TRUE(b.client().register_at("http://me:9999/").ok());
  ASSERT_THAT(b.urls(), ElementsAre("http://one:1/xxl-job-admin/api/registry"));
  const HttpRequest& request = b.admin.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, R"({"registryGroup":"EXECUTOR","registryKey":"billing",)"
                          R"("registryValue":"http://me:9999/"})");
  EXPECT_THAT(request.headers, Contains(Pair("XXL-JOB-ACCESS-TOKEN", "t")));
  EXPECT_THAT(request.headers, Contains(Pair("XXL-JOB-APPNAME", "billing")));
  EXPECT_THAT(request.headers, Contains(Pair("Content-Type", "application/json;charset=UTF-8")));
}

TEST(AdminClient, SendsNoEmptyToken) {
  AdminBundle b;
  EXPECT_TRUE(b.client("").deregister("http://me:9999/").ok());
  EXPECT_THAT(b.urls(), ElementsAre("http://one:1/xxl-job-admin/api/registryRemove"));
  EXPECT_THAT(b.admin.requests[0].headers, Not(Contains(Key("XXL-JOB-ACCESS-TOKEN"))));
}

TEST(AdminClient, TriesTheNextAdminWhenOneIsAwayOrRefuses) {
  AdminBundle b;
  b.admin.answer = [](const HttpRequest& request) {
    return request.url.starts_with("http://one") ? FakeAdmin::away() : FakeAdmin::code(200);
  };
  EXPECT_TRUE(b.client().register_at("a").ok());
  b.admin.answer = [](const HttpRequest& request) {
    return FakeAdmin::code(request.url.starts_with("http://one") ? 500 : 200);
  };
  EXPECT_TRUE(b.client().register_at("a").ok());
  EXPECT_THAT(b.urls(),
              ElementsAre("http://one:1/xxl-job-admin/api/registry", "http://two:2/api/registry",
                          "http://one:1/xxl-job-admin/api/registry", "http://two:2/api/registry"));
}

TEST(AdminClient, StartsWithTheAdminThatAnsweredLast) {
  AdminBundle b;
  AdminClient client = b.client();
  b.admin.answer = [](const HttpRequest& request) {
    return request.url.starts_with("http://one") ? FakeAdmin::away() : FakeAdmin::code(200);
  };
  EXPECT_TRUE(client.register_at("a").ok());
  b.admin.requests.clear();
  EXPECT_TRUE(client.send_results({"{}"}).ok());
  EXPECT_THAT(b.urls(), ElementsAre("http://two:2/api/callback"));
  b.admin.requests.clear();
  b.admin.answer = [](const HttpRequest& request) {
    return request.url.starts_with("http://two") ? FakeAdmin::away() : FakeAdmin::code(200);
  };
  EXPECT_TRUE(client.deregister("a").ok());
  EXPECT_TRUE(client.deregister("a").ok());
  EXPECT_THAT(b.urls(), ElementsAre("http://two:2/api/registryRemove",
                                    "http://one:1/xxl-job-admin/api/registryRemove",
                                    "http://one:1/xxl-job-admin/api/registryRemove"));
}

TEST(AdminClient, ReportsTheErrorOfTheLastAdmin) {
  AdminBundle b;
  b.admin.answer = [](const HttpRequest&) { return FakeAdmin::code(500); };
  const Status refused = b.client().register_at("a");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error(),
            (Error{ErrorCode::kDenied, "http://two:2/api/registry: code 500, said so"}));

  b.admin.answer = [](const HttpRequest&) { return FakeAdmin::away(); };
  EXPECT_EQ(b.client().register_at("a").error(),
            (Error{ErrorCode::kUnavailable, "http://two:2/api/registry: connection refused"}));

  b.admin.answer = [](const HttpRequest&) -> Result<HttpAnswer> {
    return HttpAnswer{.status = 502, .body = "<html>"};
  };
  EXPECT_EQ(
      b.client().register_at("a").error(),
      (Error{ErrorCode::kUnavailable,
             "http://two:2/api/registry: http status 502: the answer is not JSON: '<html>'"}));
}

// What is JSON but not from an admin is no success either.
TEST(AdminClient, RequiresHttpStatus200AndCode200) {
  AdminBundle b;
  b.admin.answer = [](const HttpRequest&) -> Result<HttpAnswer> {
    return HttpAnswer{.status = 500, .body = R"({"code":200})"};
  };
  EXPECT_FALSE(b.client().register_at("a").ok());
  b.admin.answer = [](const HttpRequest&) -> Result<HttpAnswer> {
    return HttpAnswer{.status = 200, .body = "{}"};
  };
  EXPECT_FALSE(b.client().register_at("a").ok());
}

TEST(AdminClient, LearnsWhichResultFormAnAdminAccepts) {
  AdminBundle b;
  b.admin.answer = [](const HttpRequest& request) {
    return FakeAdmin::code(request.body.starts_with('{') ? 200 : 500);
  };
  AdminClient client = b.client();
  EXPECT_TRUE(client.send_results({"{1}", "{2}"}).ok());
  EXPECT_TRUE(client.send_results({"{3}"}).ok());
  EXPECT_THAT(b.bodies(), ElementsAre("[{1},{2}]", R"({"callbackList":[{1},{2}]})",
                                      R"({"callbackList":[{3}]})"));
}

TEST(AdminClient, TriesNoOtherResultFormWithoutAnAnswer) {
  AdminBundle b;
  b.admin.answer = [](const HttpRequest&) { return FakeAdmin::away(); };
  EXPECT_EQ(b.client().send_results({"{1}"}).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(b.urls(),
              ElementsAre("http://one:1/xxl-job-admin/api/callback", "http://two:2/api/callback"));
}

}  // namespace
}  // namespace carillon::tasktracker
