#include "tasktracker/tracker_choice.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::tasktracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A connection to one address that the test makes and breaks.
class LineToTracker final : public net::ClientTransport {
 public:
  void set_receiver(net::ClientReceiver* receiver) override { receiver_ = receiver; }
  bool is_connected() const override { return connected_; }
  Status send(std::string frame) override {
    sent.push_back(std::move(frame));
    return {};
  }

  void connect() {
    connected_ = true;
    receiver_->on_connected();
  }
  void disconnect() {
    connected_ = false;
    receiver_->on_disconnected("closed");
  }
  void say(const std::string& frame) { receiver_->on_frame(frame); }

  std::vector<std::string> sent{};

 private:
  net::ClientReceiver* receiver_ = nullptr;
  bool connected_ = false;
};

// Three addresses, and what is heard of the tracker that is chosen.
struct ChoiceBundle : net::ClientReceiver {
  ChoiceBundle() {
    std::vector<TrackerAddress> addresses;
    for (const std::string endpoint : {"a", "b", "c"}) {
      auto transport = std::make_unique<LineToTracker>();
      lines.push_back(transport.get());
      addresses.push_back({.endpoint = endpoint, .transport = std::move(transport)});
    }
    choice = std::make_unique<TrackerChoice>(std::move(addresses), *this);
  }

  void on_frame(std::string_view frame) override { heard.emplace_back(frame); }
  void on_connected() override { heard.push_back("connected to " + choice->endpoint()); }
  void on_disconnected(const std::string&) override {
    heard.push_back("lost " + choice->endpoint());
  }

  // A turn later, what was heard since the last call.
  std::vector<std::string> turn(Duration later = {}) {
    clock.advance(later);
    choice->choose(clock.steady_now());
    return std::exchange(heard, {});
  }
  // It is connected to a and b, and has chosen a.
  void choose_of_two() {
    a().connect();
    b().connect();
    (void)turn();
  }
  LineToTracker& a() { return *lines[0]; }
  LineToTracker& b() { return *lines[1]; }
  LineToTracker& c() { return *lines[2]; }

  ManualClock clock;
  std::vector<LineToTracker*> lines;
  std::vector<std::string> heard;
  std::unique_ptr<TrackerChoice> choice;
};

TEST(TrackerChoice, IsTheFirstConnectedAddress) {
  ChoiceBundle one;
  EXPECT_THAT(one.turn(), IsEmpty());
  EXPECT_FALSE(one.choice->is_connected());
  EXPECT_FALSE(one.choice->send("lost").ok());
  one.c().connect();
  one.b().connect();
  EXPECT_THAT(one.turn(), ElementsAre("connected to b"));
  EXPECT_TRUE(one.choice->send("hello").ok());
  EXPECT_THAT(one.b().sent, ElementsAre("hello"));
}

TEST(TrackerChoice, StaysWithAServingTrackerWhenABetterOneConnects) {
  ChoiceBundle one;
  one.b().connect();
  (void)one.turn();
  one.a().connect();
  EXPECT_THAT(one.turn(std::chrono::hours{1}), IsEmpty());
  EXPECT_EQ(one.choice->next_time(), std::nullopt);
}

TEST(TrackerChoice, MovesToTheNextAddressWhenAConnectionIsLost) {
  ChoiceBundle one;
  for (LineToTracker* line : one.lines) line->connect();
  (void)one.turn();
  one.a().disconnect();
  EXPECT_THAT(one.turn(), ElementsAre("lost a", "connected to b"));
  one.c().disconnect();
  EXPECT_THAT(one.turn(), IsEmpty()) << "that one was not spoken with";
  one.b().disconnect();
  EXPECT_THAT(one.turn(), ElementsAre("lost b"));
  one.b().connect();
  one.a().connect();
  EXPECT_THAT(one.turn(), ElementsAre("connected to a")) << "the next in the round";
}

TEST(TrackerChoice, ReturnsToTheOnlyConnectedAddress) {
  ChoiceBundle one;
  one.a().connect();
  (void)one.turn();
  one.a().disconnect();
  one.a().connect();
  EXPECT_THAT(one.turn(), ElementsAre("lost a", "connected to a"));
}

TEST(TrackerChoice, IgnoresMessagesFromOtherTrackers) {
  ChoiceBundle one;
  one.b().say("before any was chosen");
  one.a().connect();
  one.b().connect();
  (void)one.turn();
  one.b().say("from b");
  one.a().say("from a");
  EXPECT_THAT(one.turn(), ElementsAre("from a"));
}

TEST(TrackerChoice, LeavesANonServingTrackerOnceAnotherConnects) {
  ChoiceBundle one;
  one.a().connect();
  (void)one.turn();
  one.choice->leave();
  EXPECT_THAT(one.turn(std::chrono::hours{1}), IsEmpty()) << "there is nobody else";
  EXPECT_EQ(one.choice->next_time(), std::nullopt) << "nothing to wake up for";
  one.c().connect();
  EXPECT_THAT(one.turn(), ElementsAre("connected to c"));
}

TEST(TrackerChoice, StaysWithATrackerThatServesAgain) {
  ChoiceBundle one;
  one.a().connect();
  (void)one.turn();
  one.choice->leave();
  (void)one.turn();
  one.choice->stay();
  one.b().connect();
  EXPECT_THAT(one.turn(std::chrono::hours{1}), IsEmpty());
}

TEST(TrackerChoice, FollowsARedirectOrSearchesForAnUnknownAddress) {
  ChoiceBundle one;
  one.a().connect();
  one.b().connect();
  one.c().connect();
  (void)one.turn();
  one.choice->leave_for("c");
  EXPECT_THAT(one.turn(std::chrono::milliseconds{14}), IsEmpty());
  EXPECT_THAT(one.turn(std::chrono::milliseconds{1}), ElementsAre("connected to c"));
  one.choice->leave_for("b by another name");
  EXPECT_THAT(one.turn(std::chrono::milliseconds{15}), ElementsAre("connected to a"));
  one.choice->leave_for("b by another name");
  EXPECT_THAT(one.turn(std::chrono::milliseconds{15}), ElementsAre("connected to b"));
}

TEST(TrackerChoice, FollowsAFewRedirectsQuicklyAndThenSlowsDown) {
  ChoiceBundle one;
  one.choose_of_two();
  const auto is_sent = [&one] { one.choice->leave_for("one that is not among the addresses"); };
  const auto goes = [&one](Duration later) { return one.turn(later).size() == 1; };
  for (int i = 0; i < 10; ++i) {
    is_sent();
    EXPECT_TRUE(goes(std::chrono::milliseconds{15})) << i;
  }
  for (int i = 0; i < 3; ++i) {
    is_sent();
    EXPECT_FALSE(goes(std::chrono::milliseconds{99})) << i;
    EXPECT_TRUE(goes(std::chrono::milliseconds{1})) << i;
  }
  one.choice->stay();
  is_sent();
  EXPECT_TRUE(goes(std::chrono::milliseconds{15})) << "that one served";
}

TEST(TrackerChoice, LeavesAStoppedRedirectTargetQuickly) {
  ChoiceBundle one;
  one.choose_of_two();
  one.choice->stay();
  one.choice->leave();
  EXPECT_THAT(one.turn(std::chrono::seconds{2}), ElementsAre("connected to b"));
  one.choice->leave_for("a");
  EXPECT_THAT(one.turn(std::chrono::milliseconds{15}), ElementsAre("connected to a"));
  one.choice->leave();
  EXPECT_THAT(one.turn(std::chrono::milliseconds{15}), ElementsAre("connected to b"));
}

TEST(TrackerChoice, LeavesQuicklyAfterATrackerServedBriefly) {
  ChoiceBundle one;
  one.choose_of_two();
  one.choice->stay();
  one.choice->leave();
  EXPECT_THAT(one.turn(std::chrono::milliseconds{15}), ElementsAre("connected to b"));
}

TEST(TrackerChoice, SwitchesTrackersAtMostOncePerSecond) {
  ChoiceBundle one;
  one.choose_of_two();
  one.choice->leave();
  EXPECT_EQ(one.choice->next_time(), one.clock.steady_now() + std::chrono::seconds{1});
  EXPECT_THAT(one.turn(std::chrono::milliseconds{999}), IsEmpty());
  EXPECT_THAT(one.turn(std::chrono::milliseconds{1}), ElementsAre("connected to b"));
  one.choice->leave();
  EXPECT_THAT(one.turn(std::chrono::milliseconds{999}), IsEmpty());
  EXPECT_THAT(one.turn(std::chrono::milliseconds{1}), ElementsAre("connected to a"));
}

}  // namespace
}  // namespace carillon::tasktracker
