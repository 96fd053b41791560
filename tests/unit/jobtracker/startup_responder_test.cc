#include "jobtracker/startup_responder.h"

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

TEST(StartupResponder, TellsEveryPeerWhyItDoesNotServe) {
  RoomTransport transport;
  StartupResponder room(transport);
  room.set_reason("this job tracker stands by");
  transport.receiver->on_frame(
      {"ann"}, wire::encode({.correlation = 7, .message = wire::Query{.what = "stats"}}));
  transport.receiver->on_frame({"bob"}, "no frame at all");
  ASSERT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(transport.sent[0].first, "ann");
  EXPECT_EQ(transport.sent[0].second.correlation, 7u);
  for (const auto& [peer, envelope] : transport.sent) {
    EXPECT_EQ(std::get<wire::ErrorReply>(envelope.message).error,
              (Error{ErrorCode::kUnavailable, "this job tracker stands by"}))
        << peer;
  }
}

TEST(StartupResponder, LeavesTheTransportToTheJobTracker) {
  RoomTransport transport;
  { const StartupResponder room(transport); }
  EXPECT_EQ(transport.receiver, nullptr);
}

// Notes what it is given.
struct NotingReceiver final : net::ServerReceiver {
  void on_frame(const net::Sender& sender, std::string_view frame) override {
    const net::Peer& peer = sender.peer;
    got.emplace_back(peer, frame);
  }
  std::vector<std::pair<net::Peer, std::string>> got{};
};

TEST(StartupResponder, KeepsRequestsForTheNextSession) {
  RoomTransport transport;
  NotingReceiver next;
  {
    StartupResponder room(transport);
    room.keep();
    transport.receiver->on_frame({"ann"}, "one");
    transport.receiver->on_frame({"bob"}, "two");
    EXPECT_TRUE(transport.sent.empty());
    room.pass_to(next);
    transport.receiver->on_frame({"ann"}, "three");
  }
  EXPECT_THAT(next.got,
              ::testing::ElementsAre(::testing::Pair("ann", "one"), ::testing::Pair("bob", "two"),
                                     ::testing::Pair("ann", "three")));
  EXPECT_EQ(transport.receiver, &next) << "the door is the next session's";
}

TEST(StartupResponder, KeepsRequestsOnlyUpToItsCapacity) {
  RoomTransport transport;
  StartupResponder room(transport);
  room.keep();
  const std::string large(40'000'000, 'x');
  transport.receiver->on_frame({"ann"}, large);
  EXPECT_TRUE(transport.sent.empty());
  transport.receiver->on_frame({"bob"}, large);
  EXPECT_EQ(transport.sent.size(), 1u);
}

}  // namespace
}  // namespace carillon::jobtracker
