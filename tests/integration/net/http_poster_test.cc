#include "shared/net/http/http_poster.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/runtime/event_loop.h"
#include "tests/support/scripted_server.h"

namespace carillon::net {
namespace {

using ::carillon::testing::Conversation;
using ::carillon::testing::ScriptedServer;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Kind = PostOutcome::Kind;

// A poster and who uses it.
struct Posting final : PostReceiver {
  explicit Posting(HttpPosterConfig config = {})
      : poster(HttpPoster::start(config, loop, clock).value()) {
    poster->set_receiver(this);
  }

  void on_outcome(PostOutcome outcome) override {
    const std::uint64_t id = outcome.id;
    EXPECT_TRUE(outcomes.emplace(id, std::move(outcome)).second) << "a second outcome of " << id;
  }
  void on_hang_up(const std::string& server) override { hang_ups.push_back(server); }

  bool post(std::uint64_t id, const std::string& url, Duration timeout = seconds{10}) {
    return poster->post({.id = id,
                         .url = url,
                         .body = "{}",
                         .timeout = timeout,
                         .sending = std::make_shared<Sending>(lease)});
  }
  template <class Condition>
  void run_until(Condition is_met) {
    const SteadyTime patience = clock.steady_now() + seconds{20};
    while (!is_met() && clock.steady_now() < patience) loop.run_once(milliseconds{100});
    EXPECT_TRUE(is_met()) << outcomes.size() << " outcomes";
  }
  // Posts and waits for the outcome.
  PostOutcome outcome_of(Post post) {
    const std::uint64_t id = post.id;
    if (!post.sending) post.sending = std::make_shared<Sending>(lease);
    EXPECT_TRUE(poster->post(std::move(post)));
    run_until([&] { return outcomes.count(id) == 1; });
    return outcomes[id];
  }
  PostOutcome outcome_of(std::uint64_t id, const std::string& url, Duration timeout = seconds{10}) {
    return outcome_of({.id = id, .url = url, .body = "{}", .timeout = timeout});
  }

  SystemClock clock;
  EventLoop loop{clock};
  std::shared_ptr<SendLease> lease = std::make_shared<SendLease>();
  std::map<std::uint64_t, PostOutcome> outcomes;
  std::vector<std::string> hang_ups;
  std::unique_ptr<HttpPoster> poster;
};

void answer_all(Conversation& conversation) {
  while (!conversation.read_request().empty()) conversation.answer("{\"code\":200}");
}

void never_answer(Conversation& conversation) {
  conversation.read_request();
  conversation.wait_for_close();
}

// Where nobody listens.
std::string deserted_url() { return ScriptedServer(answer_all).url(); }

TEST(HttpPoster, PostsARequestAndReturnsTheAnswer) {
  std::string received;
  ScriptedServer server([&](Conversation& conversation) {
    received = conversation.read_request();
    conversation.write("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nno\n\n");
  });
  Posting p;
  const PostOutcome outcome =
      p.outcome_of({.id = 7,
                    .url = server.url() + "/job/run",
                    .headers = {{"Content-Type", "application/json;charset=UTF-8"},
                                {"XXL-JOB-ACCESS-TOKEN", "tok-1"}},
                    .body = "{\"jobId\":17}",
                    .timeout = seconds{10}});
  EXPECT_EQ(outcome.kind, Kind::kAnswered) << outcome.error;
  EXPECT_EQ(outcome.status, 500);
  EXPECT_EQ(outcome.body, "no\n\n");
  EXPECT_EQ(received, "POST /job/run HTTP/1.1\r\nHost: " + server.url().substr(7) +
                          "\r\nConnection: keep-alive\r\n"
                          "Content-Type: application/json;charset=UTF-8\r\n"
                          "XXL-JOB-ACCESS-TOKEN: tok-1\r\nContent-Length: 12\r\n\r\n"
                          "{\"jobId\":17}");
}

TEST(HttpPoster, ReusesAConnection) {
  ScriptedServer server(answer_all);
  Posting p;
  for (std::uint64_t id = 1; id <= 5; ++id) {
    EXPECT_EQ(p.outcome_of(id, server.url()).kind, Kind::kAnswered);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpPoster, DoesNotReuseAConnectionAboutToBeClosed) {
  ScriptedServer server([](Conversation& conversation) {
    while (!conversation.read_request().empty()) {
      conversation.answer("fine", "Keep-Alive: timeout=1\r\n");
    }
  });
  Posting p;
  EXPECT_EQ(p.outcome_of(1, server.url()).kind, Kind::kAnswered);
  EXPECT_EQ(p.outcome_of(2, server.url()).kind, Kind::kAnswered);
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpPoster, SendsThousandsOfRequestsOverAFewConnections) {
  ScriptedServer server(answer_all);
  Posting p({.connections_per_server = 8});
  for (std::uint64_t id = 0; id < 5000; ++id) ASSERT_TRUE(p.post(id, server.url() + "/run"));
  p.run_until([&] { return p.outcomes.size() == 5000; });
  for (const auto& [id, outcome] : p.outcomes) {
    ASSERT_EQ(outcome.kind, Kind::kAnswered) << outcome.error;
  }
  EXPECT_LE(server.connections(), 8);
}

TEST(HttpPoster, HangingServerDelaysNoOtherServer) {
  ScriptedServer hanging(never_answer);
  ScriptedServer fast(answer_all);
  Posting p({.connections_per_server = 8});
  for (std::uint64_t id = 0; id < 500; ++id) {
    // Those that wait have less time than those that hang before them.
    ASSERT_TRUE(p.post(1000 + id, hanging.url(), seconds{id < 8 ? 4 : 3}));
    ASSERT_TRUE(p.post(id, fast.url()));
  }
  p.run_until([&] { return p.outcomes.size() >= 500; });
  EXPECT_THAT(p.outcomes, Not(Contains(::testing::Key(::testing::Ge(1000U)))));

  p.run_until([&] { return p.outcomes.size() == 1000; });
  int unknown = 0;
  int not_sent = 0;
  for (std::uint64_t id = 1000; id < 1500; ++id) {
    unknown += p.outcomes[id].kind == Kind::kUnknown ? 1 : 0;
    not_sent += p.outcomes[id].kind == Kind::kNotSent ? 1 : 0;
  }
  EXPECT_EQ(unknown, 8);
  EXPECT_EQ(not_sent, 492);
}

TEST(HttpPoster, ReportsNotSentWhenTheConnectionIsRefused) {
  const std::string url = deserted_url();
  Posting p;
  for (std::uint64_t id = 0; id < 200; ++id) ASSERT_TRUE(p.post(id, url + "/run"));
  p.run_until([&] { return p.outcomes.size() == 200; });
  for (const auto& [id, outcome] : p.outcomes) {
    EXPECT_EQ(outcome.kind, Kind::kNotSent);
    EXPECT_TRUE(outcome.is_refused);
    EXPECT_EQ(outcome.error, "cannot connect to " + url + ": Connection refused");
  }
}

TEST(HttpPoster, ReportsNotSentWhenNoConnectionIsFree) {
  ScriptedServer hanging(never_answer);
  Posting p({.connections_per_server = 1});
  ASSERT_TRUE(p.post(1, hanging.url()));
  const PostOutcome second = p.outcome_of(2, hanging.url(), milliseconds{300});
  EXPECT_EQ(second.kind, Kind::kNotSent);
  EXPECT_FALSE(second.is_refused);
  EXPECT_EQ(second.error, "no connection to " + hanging.url() + " became free in time");
  EXPECT_THAT(p.outcomes, Not(Contains(::testing::Key(1U))));
}

TEST(HttpPoster, DeferrableRequestsWaitForASlowServer) {
  std::vector<std::string> requests;
  ScriptedServer slow([&](Conversation& conversation) {
    while (true) {
      const std::string request = conversation.read_request();
      if (request.empty()) return;
      requests.push_back(request);
      std::this_thread::sleep_for(milliseconds{250});
      conversation.answer("{\"code\":200}");
    }
  });
  Posting p({.connections_per_server = 1});
  // The last one waits longer than an answer may take.
  for (std::uint64_t id = 0; id < 20; ++id) {
    ASSERT_TRUE(p.poster->post(
        {.id = id, .url = slow.url(), .body = "{}", .timeout = seconds{3}, .may_wait = true}));
  }
  EXPECT_EQ(p.outcome_of(100, slow.url() + "/passes").kind, Kind::kAnswered);
  p.run_until([&] { return p.outcomes.size() == 21; });
  EXPECT_THAT(requests.back(), Not(HasSubstr("/passes")));
  for (const auto& [id, outcome] : p.outcomes) {
    EXPECT_EQ(outcome.kind, Kind::kAnswered) << id << ": " << outcome.error;
  }
}

TEST(HttpPoster, DoesNotSendARecalledWaitingRequest) {
  ScriptedServer hanging(never_answer);
  Posting p({.connections_per_server = 1});
  const auto sending = [&] { return std::make_shared<Sending>(p.lease); };
  const auto post = [&](std::uint64_t id, const std::shared_ptr<Sending>& own) {
    return p.poster->post(
        {.id = id, .url = hanging.url(), .timeout = seconds{10}, .may_wait = true, .sending = own});
  };
  const auto first = sending();
  const auto second = sending();
  ASSERT_TRUE(post(1, first));
  p.run_until([&] { return !first->may_begin(p.clock.steady_now()); });
  ASSERT_TRUE(post(2, second));
  EXPECT_FALSE(first->recall()) << "it was sent";
  EXPECT_TRUE(second->recall());
  p.run_until([&] { return p.outcomes.size() == 1; });
  EXPECT_EQ(p.outcomes[2].kind, Kind::kNotSent);
  EXPECT_TRUE(p.outcomes[2].is_recalled);
}

TEST(HttpPoster, SendsNothingAfterItsLeaseEnds) {
  std::atomic<int> requests = 0;
  std::atomic<bool> answers = false;
  ScriptedServer slow([&](Conversation& conversation) {
    while (!conversation.read_request().empty()) {
      ++requests;
      while (!answers) std::this_thread::sleep_for(milliseconds{10});
      conversation.answer("{\"code\":200}");
    }
  });
  Posting p({.connections_per_server = 1});
  ASSERT_TRUE(p.post(1, slow.url()));
  p.run_until([&] { return requests == 1; });
  ASSERT_TRUE(p.post(2, slow.url()));
  p.lease->hold_until(p.clock.steady_now());
  answers = true;
  p.run_until([&] { return p.outcomes.size() == 2; });
  EXPECT_EQ(p.outcomes[1].kind, Kind::kAnswered);
  EXPECT_EQ(p.outcomes[2].kind, Kind::kNotSent);
  EXPECT_TRUE(p.outcomes[2].is_recalled);
  p.lease->hold_until(p.clock.steady_now() + minutes{1});
  EXPECT_EQ(p.outcome_of(3, slow.url()).kind, Kind::kAnswered);
  p.lease->end();
  p.lease->hold_until(p.clock.steady_now() + minutes{1});
  EXPECT_TRUE(p.outcome_of(4, slow.url()).is_recalled) << "its end is for good";
  EXPECT_EQ(requests, 2);
}

TEST(HttpPoster, DoesNotQueueDeferrableRequestsForAHangingServer) {
  ScriptedServer hanging(never_answer);
  Posting p({.connections_per_server = 1});
  ASSERT_TRUE(p.post(1, hanging.url()));
  const PostOutcome second = p.outcome_of({.id = 2,
                                           .url = hanging.url(),
                                           .body = "{}",
                                           .timeout = milliseconds{300},
                                           .may_wait = true});
  EXPECT_EQ(second.kind, Kind::kNotSent);
  EXPECT_TRUE(second.is_crowded);
}

TEST(HttpPoster, ReportsNotSentForInvalidAndForbiddenAddresses) {
  Posting p;
  std::uint64_t id = 0;
  const auto error_of = [&](const std::string& url) {
    const PostOutcome outcome = p.outcome_of(++id, url);
    EXPECT_EQ(outcome.kind, Kind::kNotSent) << url;
    return outcome.error;
  };
  EXPECT_THAT(error_of("no address"), HasSubstr("is not an address like"));
  EXPECT_THAT(error_of("http://169.254.169.254/latest/meta-data"), HasSubstr("link-local"));
  EXPECT_THAT(error_of("http://[fe80::1]:9999"), HasSubstr("link-local"));
  EXPECT_THAT(error_of("http://[::ffff:169.254.169.254]"), HasSubstr("link-local"));
  EXPECT_THAT(error_of("http://2852039166/"), HasSubstr("link-local"));
  EXPECT_THAT(error_of("http://100.100.100.200/"), HasSubstr("metadata"));
  EXPECT_THAT(error_of("http://no-such-host.invalid:9999"), StartsWith("cannot connect to"));
  const PostOutcome split = p.outcome_of({.id = ++id,
                                          .url = "http://127.0.0.1:1",
                                          .headers = {{"X-Token", "a\r\nX-Evil: b"}},
                                          .timeout = seconds{10}});
  EXPECT_EQ(split.kind, Kind::kNotSent);
  EXPECT_EQ(split.error, "header X-Token contains a line break");
}

TEST(HttpPoster, OutcomeIsUnknownWhenTheConnectionBreaks) {
  const std::map<std::string, ScriptedServer::Script> ways = {
      {"closed", [](Conversation& conversation) { conversation.read_request(); }},
      {"reset",
       [](Conversation& conversation) {
         conversation.read_request();
         conversation.reset();
       }},
      {"in the middle",
       [](Conversation& conversation) {
         conversation.read_request();
         conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"code\":");
       }},
  };
  for (const auto& [name, script] : ways) {
    SCOPED_TRACE(name);
    ScriptedServer server(script);
    Posting p;
    const PostOutcome outcome = p.outcome_of(1, server.url());
    EXPECT_EQ(outcome.kind, Kind::kUnknown);
    EXPECT_TRUE(outcome.is_broken);
    EXPECT_THAT(outcome.error, Not(IsEmpty()));
    EXPECT_EQ(server.connections(), 1) << "it must not be sent again";
  }
}

TEST(HttpPoster, OutcomeIsUnknownWhenTheAnswerTimesOut) {
  ScriptedServer server(never_answer);
  Posting p;
  const PostOutcome outcome = p.outcome_of(1, server.url(), milliseconds{200});
  EXPECT_EQ(outcome.kind, Kind::kUnknown);
  EXPECT_FALSE(outcome.is_broken);
  EXPECT_EQ(outcome.error, "no complete response in time");
}

TEST(HttpPoster, OutcomeIsUnknownForAnOversizedOrNonHttpAnswer) {
  ScriptedServer large([](Conversation& conversation) {
    conversation.read_request();
    conversation.answer(std::string(70'000, 'x'));
  });
  ScriptedServer other([](Conversation& conversation) {
    conversation.read_request();
    conversation.write("SSH-2.0-OpenSSH_9.2p1\r\n\r\n");
  });
  Posting p;
  const PostOutcome too_large = p.outcome_of(1, large.url());
  EXPECT_EQ(too_large.kind, Kind::kUnknown);
  EXPECT_EQ(too_large.error, "the response is larger than 65536 bytes");
  EXPECT_FALSE(too_large.is_broken);
  const PostOutcome strange = p.outcome_of(2, other.url());
  EXPECT_EQ(strange.kind, Kind::kUnknown);
  EXPECT_THAT(strange.error, HasSubstr("not HTTP"));
  const PostOutcome wanted =
      p.outcome_of({.id = 3, .url = large.url(), .timeout = seconds{10}, .answer_max = 100'000});
  EXPECT_EQ(wanted.body.size(), 70'000U);
}

TEST(HttpPoster, OutcomeIsUnknownForAPartlySentRequest) {
  ScriptedServer deaf([](Conversation&) { std::this_thread::sleep_for(seconds{1}); });
  const std::string body(64 << 20, 'x');
  Posting p;
  const PostOutcome outcome =
      p.outcome_of({.id = 1, .url = deaf.url(), .body = body, .timeout = milliseconds{300}});
  EXPECT_EQ(outcome.kind, Kind::kUnknown);
}

TEST(HttpPoster, SendsLargeRequests) {
  std::size_t received = 0;
  ScriptedServer server([&](Conversation& conversation) {
    received = conversation.read_request().size();
    conversation.answer("fine");
  });
  Posting p;
  const PostOutcome outcome = p.outcome_of(
      {.id = 1, .url = server.url(), .body = std::string(8 << 20, 'x'), .timeout = seconds{10}});
  EXPECT_EQ(outcome.kind, Kind::kAnswered) << outcome.error;
  EXPECT_GT(received, 8U << 20);
}

TEST(HttpPoster, ReportsAClosedConnectionAndReconnects) {
  ScriptedServer server([](Conversation& conversation) {
    conversation.read_request();
    conversation.answer("fine");
  });
  Posting p;
  EXPECT_EQ(p.outcome_of(1, server.url() + "/run").kind, Kind::kAnswered);
  p.run_until([&] { return !p.hang_ups.empty(); });
  EXPECT_THAT(p.hang_ups, Contains(server.url()));
  EXPECT_EQ(p.outcome_of(2, server.url() + "/run").kind, Kind::kAnswered);
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpPoster, NeverSendsTwiceAfterAConnectionWasJustClosed) {
  std::atomic<int> requests = 0;
  ScriptedServer server([&](Conversation& conversation) {
    if (conversation.read_request().empty()) return;
    ++requests;
    conversation.answer("fine");
  });
  Posting p;
  for (std::uint64_t id = 0; id < 300; ++id) {
    const PostOutcome outcome = p.outcome_of(id, server.url());
    // The end of a connection may be on its way while a request is: then nobody knows.
    if (outcome.kind == Kind::kUnknown) {
      EXPECT_TRUE(outcome.is_broken);
    } else {
      EXPECT_EQ(outcome.kind, Kind::kAnswered) << outcome.error;
    }
  }
  EXPECT_LE(requests, 300) << "none is sent twice";
}

TEST(HttpPoster, FollowsNoRedirect) {
  ScriptedServer secret(answer_all);
  ScriptedServer server([&](Conversation& conversation) {
    conversation.read_request();
    conversation.write("HTTP/1.1 307 Temporary Redirect\r\nLocation: " + secret.url() +
                       "/\r\nContent-Length: 0\r\n\r\n");
  });
  Posting p;
  const PostOutcome outcome = p.outcome_of(1, server.url());
  EXPECT_EQ(outcome.kind, Kind::kAnswered);
  EXPECT_EQ(outcome.status, 307);
  EXPECT_EQ(secret.connections(), 0);
}

TEST(HttpPoster, LimitsThePendingRequests) {
  ScriptedServer hanging(never_answer);
  Posting p({.posts_max = 2});
  EXPECT_TRUE(p.post(1, hanging.url(), milliseconds{200}));
  EXPECT_TRUE(p.post(2, hanging.url(), milliseconds{200}));
  EXPECT_FALSE(p.post(3, hanging.url(), milliseconds{200}));
  p.run_until([&] { return p.outcomes.size() == 2; });
  EXPECT_TRUE(p.post(3, hanging.url(), milliseconds{200}));
  p.run_until([&] { return p.outcomes.size() == 3; });
}

TEST(HttpPoster, ClosesIdleConnectionsToMakeRoomForOtherServers) {
  std::vector<std::unique_ptr<ScriptedServer>> servers;
  Posting p({.connections_max = 2});
  for (std::uint64_t id = 0; id < 6; ++id) {
    servers.push_back(std::make_unique<ScriptedServer>(answer_all));
    EXPECT_EQ(p.outcome_of(id, servers.back()->url()).kind, Kind::kAnswered);
  }
}

TEST(HttpPoster, ReceiverGetsNoOutcomesOfAnEarlierReceiver) {
  ScriptedServer slow([](Conversation& conversation) {
    conversation.read_request();
    std::this_thread::sleep_for(milliseconds{200});
    conversation.answer("for the first");
  });
  ScriptedServer fast(answer_all);
  Posting p({.posts_max = 2});
  EXPECT_TRUE(p.post(1, slow.url()));
  p.poster->set_receiver(nullptr);
  p.poster->set_receiver(&p);
  EXPECT_EQ(p.outcome_of(2, fast.url()).kind, Kind::kAnswered);
  // Its place is free again once it has ended.
  std::uint64_t id = 2;
  bool has_room = false;
  p.run_until([&] {
    has_room = has_room || (p.post(++id, fast.url()) && p.post(++id, fast.url()));
    return has_room;
  });
  EXPECT_THAT(p.outcomes, Not(Contains(::testing::Key(1U))));
}

}  // namespace
}  // namespace carillon::net
