#include "jobtracker/waiting_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

// A server that nobody reaches but the test.
struct RoomTransport final : net::ServerTransport {
  void set_receiver(net::ServerReceiver* to) override { receiver = to; }
  Status send(const net::Peer& peer, std::string frame) override {
    sent.emplace_back(peer, wire::decode(frame).value());
    return {};
  }
  std::string endpoint() const override { return "test"; }

  net::ServerReceiver* receiver = nullptr;
  std::vector<std::pair<net::Peer, wire::Envelope>> sent{};
};

TEST(WaitingRoom, AnswersEverybodyWhyItDoesNotServe) {
  RoomTransport transport;
  WaitingRoom room(transport);
  room.set_reason("this job tracker stands by");
  transport.receiver->on_frame(
      "ann", wire::encode({.correlation = 7, .message = wire::Query{.what = "stats"}}));
  transport.receiver->on_frame("bob", "no frame at all");
  ASSERT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(transport.sent[0].first, "ann");
  EXPECT_EQ(transport.sent[0].second.correlation, 7u);
  for (const auto& [peer, envelope] : transport.sent) {
    EXPECT_EQ(std::get<wire::ErrorReply>(envelope.message).error,
              (Error{ErrorCode::kUnavailable, "this job tracker stands by"}))
        << peer;
  }
}

TEST(WaitingRoom, LeavesTheDoorToTheJobTracker) {
  RoomTransport transport;
  { const WaitingRoom room(transport); }
  EXPECT_EQ(transport.receiver, nullptr);
}

}  // namespace
}  // namespace carillon::jobtracker
