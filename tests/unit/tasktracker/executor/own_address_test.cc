#include "tasktracker/executor/own_address.h"

#include <gtest/gtest.h>

namespace carillon::tasktracker {
namespace {

TEST(OwnAddress, IsLoopbackTowardsThisMachine) {
  const auto own = own_address_towards({.scheme = "http", .host = "127.0.0.1", .port = "8080"});
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_EQ(own.value(), "127.0.0.1");
}

}  // namespace
}  // namespace carillon::tasktracker
