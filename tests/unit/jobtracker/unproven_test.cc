#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

// A tracker of a shared store that has not proven itself there for a while: another one may have
// fenced it, and have given its task trackers' jobs to others.
namespace carillon::jobtracker {
namespace {

using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Each commit proves it, as each beat does.
struct UnprovenBundle : TrackerBundle {
  UnprovenBundle() {
    run_until([this] { return tracker().is_ready(); });
    tracker().proven(clock.steady_now());
  }
  void store_is_away_for(Duration time) { connection().away_until = clock.steady_now() + time; }
};

// What a task tracker is told that speaks for itself.
struct ToldPeer {
  explicit ToldPeer(TrackerBundle& of) : bundle(of) {
    peer = bundle.network.connect({.on_frame = [this](std::string_view frame) {
      heard.push_back(std::move(wire::decode(frame).value().message));
    }});
  }
  // The last that came by a moment later.
  const wire::Message& ask(wire::Message message) {
    bundle.network.send_to_server(peer, wire::encode({.correlation = ++last, .message = message}));
    bundle.run_for(milliseconds{10});
    return heard.back();
  }
  ErrorCode refusal(wire::Message message) {
    const auto* error = std::get_if<wire::ErrorReply>(&ask(std::move(message)));
    return error == nullptr ? ErrorCode{} : error->error.code;
  }

  TrackerBundle& bundle;
  net::Peer peer{};
  std::uint64_t last = 0;
  std::vector<wire::Message> heard{};
};

TEST(UnprovenSession, GivesNoTaskTrackerALeaseOrAJob) {
  UnprovenBundle bundle;
  ToldPeer worker(bundle);
  const wire::Register hello{.session = SessionId{5}, .name = "worker", .group = "default"};
  ASSERT_TRUE(std::holds_alternative<wire::Registered>(worker.ask(hello)));
  const auto pull = [](std::int64_t number) {
    return wire::Pull{.session = SessionId{5}, .number = number, .window = 1};
  };
  ASSERT_TRUE(std::holds_alternative<wire::Pulled>(worker.ask(pull(1))));

  bundle.run_for(seconds{1});
  ASSERT_TRUE(std::holds_alternative<wire::Pulled>(worker.ask(pull(2))));

  bundle.store_is_away_for(seconds{4});
  bundle.run_for(kSilence + milliseconds{100});
  EXPECT_EQ(worker.refusal(pull(3)), ErrorCode::kUnavailable);
  EXPECT_EQ(worker.refusal(hello), ErrorCode::kUnavailable);
  const std::size_t told = worker.heard.size();
  bundle.client.submit({job_now("a")});
  bundle.run_for(seconds{2});
  EXPECT_EQ(worker.refusal(pull(4)), ErrorCode::kUnavailable);
  bundle.run_for(seconds{1});
  ASSERT_THAT(worker.heard, SizeIs(told + 2));
  EXPECT_TRUE(std::holds_alternative<wire::HandOut>(worker.heard.back()));
  EXPECT_TRUE(std::holds_alternative<wire::Pulled>(worker.ask(pull(5))));
}

TEST(UnprovenSession, DeclaresNoTaskTrackerDead) {
  UnprovenBundle bundle;
  runs_take(bundle.add_worker(), seconds{60});
  bundle.run_for(seconds{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{1});
  bundle.store_is_away_for(seconds{20});
  bundle.run_for(seconds{10});
  EXPECT_FALSE(bundle.workers().front()->is_registered());
  bundle.run_for(seconds{30});
  EXPECT_TRUE(bundle.workers().front()->is_registered());
  EXPECT_THAT(bundle.log("a"), IsEmpty());
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
}

// A word is one though it is refused.
TEST(UnprovenSession, RegistrationAttemptCountsAsAHeartbeat) {
  UnprovenBundle bundle;
  ToldPeer worker(bundle);
  wire::Register hello{.session = SessionId{5}, .name = "worker", .group = "default", .number = 1};
  ASSERT_TRUE(std::holds_alternative<wire::Registered>(worker.ask(hello)));
  bundle.store_is_away_for(milliseconds{1700});
  bundle.run_for(kSilence + milliseconds{100});
  hello.number = 2;
  EXPECT_EQ(worker.refusal(hello), ErrorCode::kUnavailable);
  bundle.run_for(milliseconds{2800});
  EXPECT_EQ(bundle.stat("workers_lost_total"), 0);
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.stat("workers_lost_total"), 1) << "it was the last word";
}

TEST(UnprovenSession, KeepsClaimedJobsUntilTheirTaskTrackerPullsAgain) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{5}}}, .is_shared = true});
  bundle.add_worker();
  bundle.run_for(seconds{1});
  bundle.submit(carillon::testing::job_at("a", bundle.now() + seconds{4}));
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1)) << "claimed ahead of its time";
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{10};
  bundle.run_for(seconds{9});
  EXPECT_THAT(bundle.runs_of("a"), IsEmpty());
  bundle.run_for(seconds{3});
  const auto runs = bundle.runs_of("a");
  ASSERT_THAT(runs, SizeIs(1)) << bundle.story("a");
  EXPECT_EQ(runs.front().id.attempt, 1) << "no hand-out was refused";
}

TEST(UnprovenSession, NeverAppliesToAJobTrackerWithItsOwnStore) {
  TrackerBundle bundle;
  ToldPeer worker(bundle);
  const wire::Register hello{.session = SessionId{5}, .name = "worker", .group = "default"};
  ASSERT_TRUE(std::holds_alternative<wire::Registered>(worker.ask(hello)));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{10};
  for (std::int64_t number = 1; number < 9; ++number) {
    bundle.run_for(seconds{1});
    const wire::Pull pull{.session = SessionId{5}, .number = number};
    EXPECT_TRUE(std::holds_alternative<wire::Pulled>(worker.ask(pull))) << number;
  }
}

}  // namespace
}  // namespace carillon::jobtracker
