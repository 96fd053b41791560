#include "shared/net/internal_transport.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/runtime/event_loop.h"

namespace carillon::net {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ServerSide final : ServerReceiver {
  void on_frame(const Sender& sender, std::string_view frame) override {
    senders.push_back(sender);
    frames.emplace_back(frame);
  }
  std::vector<Sender> senders;
  std::vector<std::string> frames;
};

struct ClientSide final : ClientReceiver {
  void on_frame(std::string_view frame) override { frames.emplace_back(frame); }
  void on_connected() override {}
  void on_disconnected(const std::string&) override {}
  std::vector<std::string> frames;
};

// Both ends in one thread, each with its own loop.
struct InternalBundle {
  InternalBundle() {
    server = std::make_unique<InternalServer>(server_loop);
    server->set_receiver(&server_side);
    connect();
  }
  void connect() {
    client.reset();
    client = connect_internal(client_loop, server->channel());
    client->set_receiver(&client_side);
  }
  void turn() {
    server_loop.run_once(milliseconds{0});
    client_loop.run_once(milliseconds{0});
  }

  SystemClock clock;
  EventLoop server_loop{clock};
  EventLoop client_loop{clock};
  ServerSide server_side;
  ClientSide client_side;
  std::unique_ptr<InternalServer> server;
  std::unique_ptr<ClientTransport> client;
};

TEST(InternalTransport, FramesArriveInOrderAndAreMarkedAsInternal) {
  InternalBundle bundle;
  EXPECT_TRUE(bundle.client->is_connected());
  EXPECT_TRUE(bundle.client->send("one").ok());
  EXPECT_TRUE(bundle.client->send("two").ok());
  bundle.turn();
  EXPECT_THAT(bundle.server_side.frames, ElementsAre("one", "two"));
  EXPECT_TRUE(bundle.server_side.senders.front().is_internal);
}

TEST(InternalTransport, AnswersGoToTheClient) {
  InternalBundle bundle;
  ASSERT_TRUE(bundle.client->send("question").ok());
  bundle.turn();
  EXPECT_TRUE(bundle.server->send(bundle.server_side.senders.front().peer, "answer").ok());
  bundle.turn();
  EXPECT_THAT(bundle.client_side.frames, ElementsAre("answer"));
}

TEST(InternalTransport, AnswersToAnEarlierConnectionAreDropped) {
  InternalBundle bundle;
  ASSERT_TRUE(bundle.client->send("question").ok());
  bundle.turn();
  bundle.connect();
  EXPECT_TRUE(bundle.server->send(bundle.server_side.senders.front().peer, "late").ok());
  bundle.turn();
  EXPECT_THAT(bundle.client_side.frames, IsEmpty());
}

TEST(InternalTransport, AFullMailboxIsAnError) {
  InternalBundle bundle;
  Status sent;
  for (std::size_t i = 0; i <= kInternalFramesMax && sent.ok(); ++i)
    sent = bundle.client->send("x");
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code, ErrorCode::kLimit);
  bundle.turn();
  EXPECT_TRUE(bundle.client->send("x").ok());
}

}  // namespace
}  // namespace carillon::net
