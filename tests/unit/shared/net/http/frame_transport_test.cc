#include "shared/net/http/frame_transport.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/manual_clock.h"
#include "tests/support/manual_task_runner.h"
#include "tests/support/temp_folder.h"

namespace carillon::net {
namespace {

using carillon::testing::ManualTaskRunner;
using carillon::testing::TempFolder;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct FakePoster final : Poster {
  void set_receiver(PostReceiver* one) override { receiver = one; }
  bool post(Post post) override {
    posts.push_back(std::move(post));
    return true;
  }

  PostReceiver* receiver = nullptr;
  std::vector<Post> posts;
};

struct Client final : ClientReceiver {
  void on_frame(std::string_view frame) override {
    const auto envelope = wire::decode(frame);
    ASSERT_TRUE(envelope.ok());
    const auto* refused = std::get_if<wire::ErrorReply>(&envelope.value().message);
    notes.push_back(std::to_string(envelope.value().correlation) + ": " +
                    (refused == nullptr ? "answer"
                                        : std::string{to_string(refused->error.code)} + " " +
                                              refused->error.message));
  }
  void on_connected() override { notes.emplace_back("connected"); }
  void on_disconnected(const std::string& reason) override { notes.push_back("lost: " + reason); }
  std::vector<std::string> take() { return std::exchange(notes, {}); }

  std::vector<std::string> notes;
};

std::string request(std::uint64_t correlation) {
  return wire::encode({correlation, wire::Query{.what = "list"}});
}

class FrameTransportTest : public ::testing::Test {
 protected:
  FrameTransportTest() {
    write_token("crl_1\n");
    auto poster = std::make_unique<FakePoster>();
    poster_ = poster.get();
    transport_ = std::make_unique<HttpFrameTransport>(
        HttpFrameConfig{.url = "http://h:1", .token_file = folder_.file("token")}, tasks_, clock_,
        std::move(poster));
    transport_->set_receiver(&client_);
  }
  ~FrameTransportTest() override { transport_.reset(); }

  void write_token(const std::string& text) {
    std::ofstream(folder_.file("token")) << text;
    std::filesystem::permissions(folder_.file("token"), std::filesystem::perms::owner_read |
                                                            std::filesystem::perms::owner_write);
  }
  void run(Duration time) {
    const SteadyTime until = clock_.steady_now() + time;
    while (tasks_.run_one(until)) {
    }
  }
  Post next_post() {
    EXPECT_FALSE(poster_->posts.empty());
    if (poster_->posts.empty()) return {};
    Post first = std::move(poster_->posts.front());
    poster_->posts.erase(poster_->posts.begin());
    return first;
  }
  void answer(const Post& post, int status, std::string body) {
    poster_->receiver->on_outcome({.id = post.id,
                                   .kind = PostOutcome::Kind::kAnswered,
                                   .status = status,
                                   .body = std::move(body)});
  }
  void answer_rows(const Post& post) {
    answer(post, 200, wire::encode({wire::correlation_of(post.body), wire::Rows{}}));
  }
  void fail(const Post& post, PostOutcome::Kind kind) {
    poster_->receiver->on_outcome({.id = post.id, .kind = kind, .error = "broken"});
  }
  void connect() {
    run(seconds{1});
    answer_rows(next_post());
    ASSERT_THAT(client_.take(), ElementsAre("connected"));
  }

  TempFolder folder_;
  ManualClock clock_;
  ManualTaskRunner tasks_{clock_};
  Client client_;
  FakePoster* poster_ = nullptr;
  std::unique_ptr<HttpFrameTransport> transport_;
};

TEST_F(FrameTransportTest, SendsEachFrameWithTheToken) {
  EXPECT_EQ(transport_->send(request(1)).error().code, ErrorCode::kUnavailable);
  connect();
  ASSERT_TRUE(transport_->send(request(1)).ok());
  ASSERT_TRUE(transport_->send(request(2)).ok());
  EXPECT_EQ(transport_->send(request(2)).error().code, ErrorCode::kLimit) << "it is under way";
  const Post one = next_post();
  const Post two = next_post();
  EXPECT_EQ(one.url, "http://h:1/api/v1/frames");
  EXPECT_EQ(one.body, request(1));
  EXPECT_THAT(one.headers, ElementsAre(std::pair{"Content-Type", "application/vnd.carillon.frame"},
                                       std::pair{"Authorization", "Bearer crl_1"}));
  answer_rows(two);
  answer_rows(one);
  EXPECT_THAT(client_.take(), ElementsAre("2: answer", "1: answer"));
  EXPECT_TRUE(transport_->send(request(2)).ok());
}

TEST_F(FrameTransportTest, PassesOnThatAFrameWasNotTaken) {
  connect();
  ASSERT_TRUE(transport_->send(request(1)).ok());
  answer(next_post(), 429, R"({"code": "limit", "detail": "slow down"})");
  EXPECT_THAT(client_.take(), ElementsAre("1: limit slow down"));
  ASSERT_TRUE(transport_->send(request(2)).ok());
  answer(next_post(), 503, "<html>");
  EXPECT_THAT(client_.take(), ElementsAre(StartsWith("2: unavailable http://h:1")));
  EXPECT_TRUE(transport_->is_connected());
}

TEST_F(FrameTransportTest, ConnectsAgainAfterAnUnknownOutcome) {
  connect();
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(transport_->send(request(i)).ok());
  answer(next_post(), 504, R"({"code": "timeout", "detail": "too late"})");
  EXPECT_THAT(client_.take(), ElementsAre("lost: too late"));
  fail(next_post(), PostOutcome::Kind::kUnknown);
  EXPECT_THAT(client_.take(), IsEmpty()) << "it is lost already";
  run(seconds{1});
  const Post third = next_post();
  fail(next_post(), PostOutcome::Kind::kNotSent);
  EXPECT_THAT(client_.take(), ElementsAre("lost: broken"));
  run(seconds{1});
  answer_rows(next_post());
  EXPECT_THAT(client_.take(), ElementsAre("connected"));
  fail(third, PostOutcome::Kind::kUnknown);
  EXPECT_TRUE(transport_->is_connected()) << "it was of the connection before";
  EXPECT_TRUE(transport_->send(request(3)).ok());
}

TEST_F(FrameTransportTest, ReadsTheTokenAgainAfterItWasRefused) {
  connect();
  ASSERT_TRUE(transport_->send(request(1)).ok());
  answer(next_post(), 401, R"({"code": "unauthenticated", "detail": "unknown token"})");
  EXPECT_THAT(client_.take(),
              ElementsAre("1: unavailable unknown token", "lost: access denied: unknown token"));
  write_token("crl_2\n");
  run(seconds{1});
  const Post probe = next_post();
  EXPECT_EQ(probe.headers.back().second, "Bearer crl_2");
  answer(probe, 200, "hello");
  EXPECT_THAT(client_.take(), ElementsAre(HasSubstr("something else")));
}

}  // namespace
}  // namespace carillon::net
