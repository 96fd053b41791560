#include "shared/net/http/handshake_queue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::net {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kPeerMax = HandshakeQueue::kPerPeerMax;

struct Bundle {
  bool enter(const std::string& peer, const std::string& name, bool is_in_time = true) {
    return queue.enter(peer, [this, name, is_in_time](SteadyTime) {
      if (is_in_time) begun.push_back(name);
      return is_in_time;
    });
  }
  void fill(const std::string& peer) {
    for (std::size_t i = 0; i < kPeerMax; ++i) ASSERT_TRUE(enter(peer, "fills"));
  }
  void leave(const std::string& peer) { queue.leave(peer, SteadyTime{}); }

  std::vector<std::string> begun;
  HandshakeQueue queue;
};

TEST(HandshakeQueue, OneAddressCannotTakeAllPlaces) {
  Bundle b;
  b.fill("a");
  EXPECT_FALSE(b.enter("a", "one more"));
  EXPECT_TRUE(b.enter("b", "of another"));
  EXPECT_THAT(b.begun, IsEmpty());
}

TEST(HandshakeQueue, WaitingOnesBeginInTheirOrder) {
  Bundle b;
  b.fill("a");
  b.fill("b");
  EXPECT_FALSE(b.enter("c", "first"));
  EXPECT_FALSE(b.enter("d", "second"));
  b.leave("a");
  EXPECT_THAT(b.begun, ElementsAre("first"));
  b.leave("c");
  EXPECT_THAT(b.begun, ElementsAre("first", "second"));
}

TEST(HandshakeQueue, OthersOvertakeAnAddressWithAllItsPlaces) {
  Bundle b;
  b.fill("a");
  b.fill("b");
  EXPECT_FALSE(b.enter("a", "of a"));
  EXPECT_FALSE(b.enter("c", "of c"));
  b.leave("b");
  EXPECT_THAT(b.begun, ElementsAre("of c"));
  b.leave("a");
  EXPECT_THAT(b.begun, ElementsAre("of c", "of a"));
}

TEST(HandshakeQueue, ThoseThatWaitedTooLongLeaveTheirPlace) {
  Bundle b;
  b.fill("a");
  b.fill("b");
  EXPECT_FALSE(b.enter("c", "late", false));
  EXPECT_FALSE(b.enter("c", "in time"));
  b.leave("a");
  EXPECT_THAT(b.begun, ElementsAre("in time"));
  EXPECT_FALSE(b.enter("c", "no place"));
}

}  // namespace
}  // namespace carillon::net
