#include "jobtracker/api/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void nothing(Api&, const ExchangePtr&) {}

Router test_router() {
  return Router({Route{"GET", "/jobs", nothing, Right::kRead},
                 Route{"POST", "/jobs", nothing, Right::kEdit},
                 Route{"POST", "/jobs:suspend", nothing, Right::kEdit},
                 Route{"GET", "/jobs/{}/{}", nothing, Right::kRead},
                 Route{"POST", "/jobs/{}/{}:trigger", nothing, Right::kOperate},
                 Route{"GET", "/runs/waiting", nothing, Right::kRead},
                 Route{"GET", "/runs/{}", nothing, Right::kRead}});
}

struct Found {
  std::string path{};
  std::vector<std::string> parts{};
  std::vector<std::string> methods{};
};

Found found(const std::string& method, const std::string& path) {
  static const Router kRouter = test_router();
  const auto match = kRouter.match(method, path);
  if (!match.ok()) return {.path = match.error().message};
  return {.path = match.value().route == nullptr ? "" : std::string{match.value().route->path},
          .parts = match.value().parts,
          .methods = match.value().methods};
}

TEST(Router, TakesPartsOutOfThePath) {
  const Found job = found("GET", "/api/v1/jobs/ops/nightly");
  EXPECT_EQ(job.path, "/jobs/{}/{}");
  EXPECT_THAT(job.parts, ElementsAre("ops", "nightly"));
}

TEST(Router, DecodesParts) {
  EXPECT_THAT(found("GET", "/api/v1/jobs/ops/a%2Fb%3Ac%20d").parts, ElementsAre("ops", "a/b:c d"));
}

TEST(Router, AnActionFollowsAfterTheLastColon) {
  const Found action = found("POST", "/api/v1/jobs/ops/a:b:trigger");
  EXPECT_EQ(action.path, "/jobs/{}/{}:trigger");
  EXPECT_THAT(action.parts, ElementsAre("ops", "a:b"));
  EXPECT_EQ(found("POST", "/api/v1/jobs:suspend").path, "/jobs:suspend");
}

TEST(Router, AColonWithoutAnActionBelongsToTheName) {
  EXPECT_THAT(found("GET", "/api/v1/jobs/ops/a:b").parts, ElementsAre("ops", "a:b"));
}

TEST(Router, AWordOfThePathIsBetterThanABlank) {
  EXPECT_EQ(found("GET", "/api/v1/runs/waiting").path, "/runs/waiting");
  EXPECT_EQ(found("GET", "/api/v1/runs/7").path, "/runs/{}");
}

TEST(Router, NamesTheMethodsOfAPath) {
  EXPECT_THAT(found("DELETE", "/api/v1/jobs").methods, ElementsAre("GET", "POST"));
  EXPECT_THAT(found("GET", "/api/v1/nowhere").methods, IsEmpty());
}

TEST(Router, EmptyPartsFitNothing) {
  EXPECT_EQ(found("GET", "/api/v1/jobs//nightly").path, "");
  EXPECT_EQ(found("GET", "/api/v1/jobs/ops/").path, "");
}

TEST(Router, BadEscapesAreErrors) {
  EXPECT_THAT(found("GET", "/api/v1/runs/%zz").path, ::testing::HasSubstr("%"));
  EXPECT_THAT(found("GET", "/api/v1/runs/%ff").path, ::testing::HasSubstr("UTF-8"));
}

TEST(Router, KnowsWhichTargetsAreItsOwn) {
  EXPECT_TRUE(is_api_target("/api/v1"));
  EXPECT_TRUE(is_api_target("/api/v1/jobs?x=1"));
  EXPECT_FALSE(is_api_target("/api/v10/jobs"));
  EXPECT_FALSE(is_api_target("/api/registry"));
}

}  // namespace
}  // namespace carillon::jobtracker::api
