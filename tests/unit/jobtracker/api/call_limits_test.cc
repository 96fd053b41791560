#include "jobtracker/api/call_limits.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace carillon::jobtracker::api {
namespace {

Principal token(const std::string& name) { return {.kind = "token", .name = name}; }

TEST(CallLimits, OnePrincipalLeavesRoomForOthers) {
  const CallLimits limits;
  std::vector<std::shared_ptr<CallPlace>> places;
  for (int i = 0; i < kCallLimits[0].of_principal; ++i) {
    places.push_back(limits.take(token("anna")));
    ASSERT_NE(places.back(), nullptr);
  }
  EXPECT_EQ(limits.take(token("anna")), nullptr);
  EXPECT_NE(limits.take(token("ben")), nullptr);
  places.pop_back();
  EXPECT_NE(limits.take(token("anna")), nullptr);
}

TEST(CallLimits, ALargeCallGivesItsSmallPlaceBack) {
  const CallLimits limits;
  std::vector<std::shared_ptr<CallPlace>> large;
  for (int i = 0; i < kCallLimits[2].of_principal; ++i) {
    large.push_back(limits.take(token("anna")));
    ASSERT_TRUE(large.back()->change_to(CallSize::kLarge));
  }
  const auto next = limits.take(token("anna"));
  EXPECT_FALSE(next->change_to(CallSize::kLarge));
  EXPECT_TRUE(limits.take(token("ben"))->change_to(CallSize::kLarge));
  large.clear();
  EXPECT_TRUE(next->change_to(CallSize::kLarge));
  std::vector<std::shared_ptr<CallPlace>> small;
  for (int i = 0; i < kCallLimits[0].of_principal; ++i) small.push_back(limits.take(token("anna")));
  EXPECT_NE(small.back(), nullptr);
}

TEST(CallLimits, APlaceMayOutliveThem) {
  auto limits = std::make_unique<CallLimits>();
  const auto place = limits->take(token("anna"));
  limits.reset();
  EXPECT_TRUE(place->change_to(CallSize::kOrdinary));
}

}  // namespace
}  // namespace carillon::jobtracker::api
