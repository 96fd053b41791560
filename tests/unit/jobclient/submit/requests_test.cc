#include "jobclient/submit/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/unit/jobclient/submit/fake_connections.h"

namespace carillon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kClient = 4711;

struct RequestsBundle {
  explicit RequestsBundle(std::vector<std::string> trackers = {"tcp://127.0.0.1:1"}) {
    requests =
        Requests::open({.trackers = std::move(trackers)}, clock, kClient,
                       [this](const std::string& tracker) { return connections.make(tracker); })
            .value();
  }

  // Asks to cancel a task; the answer, once there is one, goes to `answers`.
  void act(const std::string& task_id) { ask(wire::Act{.task_id = task_id}); }
  void ask(wire::Message message) {
    const std::size_t place = answers.size();
    answers.emplace_back();
    requests->ask(std::move(message), clock.steady_now(),
                  [this, place](auto answer) { answers[place].emplace(std::move(answer)); });
  }
  void pass(Duration time) {
    clock.advance(time);
    requests->run_due();
  }
  std::vector<std::int64_t> take_sequences() {
    std::vector<std::int64_t> sequences;
    for (const auto& sent : connections.take()) {
      sequences.push_back(std::get<wire::Act>(sent.envelope.message).request.sequence);
    }
    return sequences;
  }

  ManualClock clock;
  FakeConnections connections;
  std::vector<std::optional<Result<wire::Message>>> answers;
  std::unique_ptr<Requests> requests;
};

TEST(Requests, NumbersChangingRequestsConsecutivelyPerClient) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.act("b");
  const auto sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(std::get<wire::Act>(sent[0].envelope.message).request,
            (wire::RequestNumber{kClient, 1}));
  EXPECT_EQ(std::get<wire::Act>(sent[1].envelope.message).request,
            (wire::RequestNumber{kClient, 2}));
}

TEST(Requests, MatchesAnswersToRequestsInAnyOrder) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.act("b");
  const auto sent = bundle.connections.take();
  bundle.connections.reply(sent[1].envelope.correlation, wire::Acted{.message = "b is gone"});
  EXPECT_FALSE(bundle.answers[0]);
  bundle.connections.reply(sent[0].envelope.correlation, wire::Acted{.message = "a is gone"});
  EXPECT_EQ(std::get<wire::Acted>(bundle.answers[0]->value()).message, "a is gone");
  EXPECT_EQ(std::get<wire::Acted>(bundle.answers[1]->value()).message, "b is gone");
}

TEST(Requests, WaitsForAConnectionBeforeSending) {
  RequestsBundle bundle;
  bundle.act("a");
  EXPECT_THAT(bundle.connections.take(), IsEmpty());
  bundle.connections.connect();
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1));
}

TEST(Requests, WaitingRequestsAreNotDueAtOnce) {
  RequestsBundle bundle;
  bundle.requests->store_with([](const UnansweredSubmit&) {}, [] { return kClient + 1; });
  bundle.pass(seconds{10});
  bundle.act("a");
  bundle.pass({});
  EXPECT_GT(bundle.requests->next_due(), bundle.clock.steady_now());
}

TEST(Requests, AllowsSixteenUnansweredNumbers) {
  RequestsBundle bundle;
  bundle.connections.connect();
  for (int i = 0; i < 20; ++i) bundle.act("task");
  const auto sent = bundle.connections.take();
  EXPECT_EQ(sent.size(), 16u);
  EXPECT_FALSE(bundle.requests->has_room());
  // An answer in the middle opens nothing: the oldest number holds the window.
  bundle.connections.reply(sent[5].envelope.correlation, wire::Acted{});
  EXPECT_THAT(bundle.connections.take(), IsEmpty());
  bundle.connections.reply(sent[0].envelope.correlation, wire::Acted{});
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(17));
}

TEST(Requests, QueriesAreNotNumberedAndDoNotFillTheWindow) {
  RequestsBundle bundle;
  bundle.connections.connect();
  for (int i = 0; i < 20; ++i) bundle.act("task");
  bundle.connections.take();
  bundle.ask(wire::Query{.what = "stats"});
  const auto sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(std::get<wire::Query>(sent[0].envelope.message).what, "stats");
}

TEST(Requests, ResendsWithTheSameNumberAfterASecondWithoutAnswer) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  const auto first = bundle.connections.take();
  bundle.pass(milliseconds{999});
  EXPECT_THAT(bundle.connections.take(), IsEmpty());
  bundle.pass(milliseconds{1});
  const auto second = bundle.connections.take();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(std::get<wire::Act>(second[0].envelope.message).request,
            std::get<wire::Act>(first[0].envelope.message).request);
  bundle.pass(milliseconds{1999});
  EXPECT_THAT(bundle.connections.take(), IsEmpty());
  bundle.pass(milliseconds{1});
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1));
}

TEST(Requests, IgnoresTheSecondAnswerToAResentRequest) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.pass(seconds{1});
  const auto sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 2u);
  bundle.connections.reply(sent[0].envelope.correlation, wire::Acted{.message = "first"});
  bundle.connections.reply(sent[1].envelope.correlation, wire::Acted{.message = "second"});
  EXPECT_EQ(std::get<wire::Acted>(bundle.answers[0]->value()).message, "first");
}

TEST(Requests, ResendsInOrderAfterAReconnect) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.act("b");
  bundle.act("c");
  const auto sent = bundle.connections.take();
  bundle.connections.reply(sent[1].envelope.correlation, wire::Acted{});
  bundle.connections.disconnect("closed");
  bundle.pass(seconds{5});
  EXPECT_THAT(bundle.connections.take(), IsEmpty());
  bundle.connections.connect();
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1, 3));
}

TEST(Requests, KeepsRequestsThatAFullConnectionDoesNotAccept) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.connections.is_full = true;
  bundle.act("a");
  bundle.connections.is_full = false;
  bundle.pass(seconds{1});
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1));
}

TEST(Requests, ReportsNoReachableTrackerAfterTheConnectTimeout) {
  RequestsBundle bundle;
  bundle.connections.disconnect("connection refused");
  bundle.act("a");
  bundle.pass(milliseconds{4999});
  EXPECT_FALSE(bundle.answers[0]);
  bundle.pass(milliseconds{1});
  const Error& error = bundle.answers[0]->error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message,
            "no job tracker reachable at tcp://127.0.0.1:1 within 5s: connection refused");
}

TEST(Requests, SuggestsARemedyWhenTheConnectionGivesNoReason) {
  RequestsBundle bundle;
  bundle.act("a");
  bundle.pass(seconds{5});
  EXPECT_EQ(bundle.answers[0]->error().message,
            "no job tracker reachable at tcp://127.0.0.1:1 within 5s (start a jobtracker there, or "
            "give another address)");
}

TEST(Requests, OutcomeIsUnknownWhenASentRequestIsNotAnswered) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.connections.disconnect("closed");
  bundle.pass(milliseconds{29'999});
  EXPECT_FALSE(bundle.answers[0]);
  bundle.pass(milliseconds{1});
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kTimeout);
  EXPECT_THAT(bundle.answers[0]->error().message, HasSubstr("may have accepted it"));
}

TEST(Requests, PassesOnRefusalsOfTheJobTracker) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.connections.reply(bundle.connections.take()[0].envelope.correlation,
                           wire::ErrorReply{{ErrorCode::kNotFound, "no task 'a' in group 'g'"}});
  EXPECT_EQ(bundle.answers[0]->error(), (Error{ErrorCode::kNotFound, "no task 'a' in group 'g'"}));
}

TEST(Requests, RetriesLaterWhenTheTrackerIsBusy) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  const auto sent = bundle.connections.take();
  bundle.connections.reply(sent[0].envelope.correlation,
                           wire::ErrorReply{{ErrorCode::kLimit, "slow down"}});
  EXPECT_FALSE(bundle.answers[0]);
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1));
  bundle.connections.reply(sent[0].envelope.correlation,
                           wire::ErrorReply{{ErrorCode::kLimit, "slow down"}});
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.connections.take(), IsEmpty());
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1));
}

TEST(Requests, ReportsTheSlowDownReasonAfterItsTimeout) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  const auto correlation = bundle.connections.take()[0].envelope.correlation;
  for (int i = 0; i < 100 && !bundle.answers[0]; ++i) {
    bundle.connections.reply(correlation,
                             wire::ErrorReply{{ErrorCode::kLimit, "the disk is full"}});
    bundle.pass(seconds{1});
  }
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error(), (Error{ErrorCode::kLimit, "the disk is full"}));
}

TEST(Requests, ReportsNotTakenOnceEverySendWasRefused) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  for (int i = 0; i < 16; ++i) bundle.pass(seconds{1});
  const auto sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 5u) << "after 1, 3, 7 and 15 s again";
  bundle.pass(seconds{3});
  for (const auto& one : sent) {
    EXPECT_FALSE(bundle.answers[0]);
    bundle.connections.reply(one.envelope.correlation,
                             wire::ErrorReply{{ErrorCode::kLimit, "slow down"}});
  }
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error(), (Error{ErrorCode::kLimit, "slow down"}));
}

TEST(Requests, OutcomeIsUnknownWhenAResendIsNotAnswered) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  for (int i = 0; i < 19; ++i) bundle.pass(seconds{1});
  const auto sent = bundle.connections.take();
  bundle.connections.reply(sent[0].envelope.correlation,
                           wire::ErrorReply{{ErrorCode::kLimit, "slow down"}});
  for (int i = 0; i < 10; ++i) bundle.pass(seconds{1});
  EXPECT_FALSE(bundle.answers[0]);
  EXPECT_THAT(bundle.connections.take(), IsEmpty()) << "too little time is left";
  bundle.pass(seconds{1});
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kTimeout);
}

TEST(Requests, RetriesAStartingTrackerUntilTheConnectTimeout) {
  RequestsBundle bundle;
  bundle.connections.connect();
  const auto starting = wire::ErrorReply{{ErrorCode::kUnavailable, "the job tracker is starting"}};
  bundle.act("a");
  int sendings = 0;
  for (int i = 0; i < 100 && !bundle.answers[0]; ++i) {
    for (const auto& sent : bundle.connections.take()) {
      ++sendings;
      bundle.connections.reply(sent.envelope.correlation, starting);
    }
    bundle.pass(milliseconds{50});
  }
  EXPECT_GE(sendings, 5);
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error(), starting.error);
}

TEST(Requests, SwitchesTrackersQuicklyAtFirstThenAtASteadyPace) {
  RequestsBundle bundle({"one", "two"});
  bundle.connections.connect();
  bundle.act("a");
  std::size_t made = 1;
  for (const int pace : {10, 20, 40, 50, 50}) {
    SCOPED_TRACE(pace);
    const auto sent = bundle.connections.take();
    ASSERT_EQ(sent.size(), 1u);
    bundle.connections.reply(sent[0].envelope.correlation,
                             wire::ErrorReply{{ErrorCode::kUnavailable, "stops"}});
    bundle.pass(milliseconds{pace - 1});
    EXPECT_EQ(bundle.connections.made.size(), made);
    EXPECT_THAT(bundle.connections.take(), IsEmpty()) << "the one that is left is not asked again";
    bundle.pass(milliseconds{1});
    EXPECT_EQ(bundle.connections.made.size(), ++made);
    bundle.connections.connect();
  }
}

TEST(Requests, SwitchesTrackersWhenOneIsOnStandby) {
  RequestsBundle bundle({"one", "two"});
  bundle.connections.connect();
  bundle.act("a");
  const auto first = bundle.connections.take();
  ASSERT_EQ(first.size(), 1u);
  bundle.connections.reply(first[0].envelope.correlation,
                           wire::ErrorReply{{ErrorCode::kUnavailable, "stands by"}});
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.connections.made, ElementsAre("one", "two"));
  bundle.connections.connect();

  const auto again = bundle.connections.take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].tracker, "two");
  EXPECT_EQ(std::get<wire::Act>(again[0].envelope.message).request,
            std::get<wire::Act>(first[0].envelope.message).request);
  bundle.connections.reply(again[0].envelope.correlation, wire::Acted{});
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_TRUE(bundle.answers[0]->ok());
  bundle.pass(seconds{5});
  EXPECT_THAT(bundle.connections.made, ElementsAre("one", "two"));
}

TEST(Requests, SwitchesTrackersWhenOneDoesNotAnswer) {
  RequestsBundle bundle({"one", "two"});
  bundle.connections.connect();
  bundle.act("a");
  const auto first = bundle.connections.take();
  bundle.pass(milliseconds{2999});
  EXPECT_THAT(bundle.connections.made, ElementsAre("one"));
  bundle.pass(milliseconds{1});
  EXPECT_THAT(bundle.connections.made, ElementsAre("one", "two"));
  bundle.connections.connect();
  bundle.connections.take();
  bundle.connections.reply(first.at(0).envelope.correlation, wire::Acted{});
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_TRUE(bundle.answers[0]->ok());
}

TEST(Requests, StaysWithATrackerThatAnswersOtherRequests) {
  RequestsBundle bundle({"one", "two"});
  bundle.connections.connect();
  bundle.act("slow");
  for (int second = 0; second < 10; ++second) {
    bundle.connections.take();
    bundle.ask(wire::Query{.what = "stats"});
    bundle.connections.reply(bundle.connections.take().back().envelope.correlation, wire::Rows{});
    bundle.pass(seconds{1});
  }
  EXPECT_THAT(bundle.connections.made, ElementsAre("one"));
}

TEST(Requests, WaitsLongerForARequestAnotherTrackerMayHaveTaken) {
  RequestsBundle bundle({"one", "two"});
  bundle.connections.connect();
  bundle.act("a");
  bundle.connections.take();
  bundle.connections.disconnect("the other end went away");
  for (int i = 0; i < 200; ++i) {
    bundle.pass(milliseconds{50});
    if (!bundle.connections.current->connected) bundle.connections.connect();
    for (const auto& sent : bundle.connections.take()) {
      bundle.connections.reply(sent.envelope.correlation,
                               wire::ErrorReply{{ErrorCode::kUnavailable, "stands by"}});
    }
  }
  ASSERT_FALSE(bundle.answers[0]);
}

TEST(Requests, CyclesThroughStandbyTrackersUntilTheConnectTimeout) {
  RequestsBundle bundle({"one", "two"});
  bundle.act("a");
  const auto from = bundle.clock.steady_now();
  while (!bundle.answers[0] && bundle.clock.steady_now() < from + seconds{20}) {
    if (!bundle.connections.current->connected) bundle.connections.connect();
    for (const auto& sent : bundle.connections.take()) {
      bundle.connections.reply(sent.envelope.correlation,
                               wire::ErrorReply{{ErrorCode::kUnavailable, "stands by"}});
    }
    bundle.pass(milliseconds{50});
  }
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error(), (Error{ErrorCode::kUnavailable, "stands by"}));
  EXPECT_GE(bundle.clock.steady_now() - from, milliseconds{4800});
  EXPECT_GT(bundle.connections.made.size(), 20u);
}

TEST(Requests, FollowsARedirectWithTheSameNumber) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  const auto first = bundle.connections.take();
  bundle.connections.reply(first[0].envelope.correlation,
                           wire::Redirect{.address = "tcp://127.0.0.1:2"});
  bundle.pass(milliseconds{0});
  EXPECT_THAT(bundle.connections.made, ElementsAre("tcp://127.0.0.1:1", "tcp://127.0.0.1:2"));
  bundle.connections.connect();
  const auto second = bundle.connections.take();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(std::get<wire::Act>(second[0].envelope.message).request,
            (wire::RequestNumber{kClient, 1}));
  bundle.connections.reply(second[0].envelope.correlation, wire::Acted{.message = "a is gone"});
  EXPECT_EQ(std::get<wire::Acted>(bundle.answers[0]->value()).message, "a is gone");
}

// Two job trackers; the second looks after the group "there", and says so of itself.
struct TwoOwners : RequestsBundle {
  static constexpr const char* kHere = "tcp://127.0.0.1:1";
  static constexpr const char* kThere = "tcp://127.0.0.1:2";

  TwoOwners() { connections.connect(kHere); }

  void act_in(const std::string& group, const std::string& task_id) {
    ask(wire::Act{.group = group, .task_id = task_id});
  }
  // Answers what was sent, as they would: "SENDER: TASK" of each.
  std::vector<std::string> answer_all() {
    std::vector<std::string> seen;
    for (const auto& sent : connections.take()) {
      const auto& act = std::get<wire::Act>(sent.envelope.message);
      seen.push_back(sent.tracker + " " + act.task_id);
      const bool is_owner = (act.group == "there") == (sent.tracker == kThere);
      if (is_owner) {
        connections.reply(sent, wire::Acted{.message = act.task_id});
      } else {
        connections.reply(sent, wire::Redirect{.address = act.group == "there" ? kThere : kHere});
      }
    }
    pass(milliseconds{0});
    return seen;
  }
  // The first request about "there" was sent on, and answered.
  void know_the_way() {
    act_in("there", "first");
    EXPECT_THAT(answer_all(), ElementsAre("tcp://127.0.0.1:1 first"));
    connections.connect(kThere);
    EXPECT_THAT(answer_all(), ElementsAre("tcp://127.0.0.1:2 first"));
    EXPECT_TRUE(answers.back() && answers.back()->ok());
  }
};

TEST(Requests, FollowRedirectsWhileOthersAwaitAnAnswer) {
  TwoOwners bundle;
  bundle.act_in("here", "slow");
  bundle.connections.take();
  bundle.know_the_way();
  EXPECT_FALSE(bundle.answers[0]);
  EXPECT_THAT(bundle.connections.made, ElementsAre(TwoOwners::kHere, TwoOwners::kThere));
}

TEST(Requests, KeepAConnectionToEachRedirectTarget) {
  TwoOwners bundle;
  bundle.know_the_way();
  for (int i = 0; i < 5; ++i) {
    bundle.act_in("here", "a");
    bundle.act_in("there", "b");
    EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:1 a", "tcp://127.0.0.1:2 b"));
    bundle.pass(seconds{10});
  }
  EXPECT_THAT(bundle.connections.made, ElementsAre(TwoOwners::kHere, TwoOwners::kThere));
}

TEST(Requests, OfAGroupKeepTheirRouteWhileEarlierOnesWait) {
  TwoOwners bundle;
  bundle.know_the_way();
  bundle.connections.disconnect(TwoOwners::kThere, "closed");
  bundle.pass(milliseconds{0});
  bundle.act_in("there", "a");
  const auto first = bundle.connections.take();
  ASSERT_EQ(first.size(), 1u);
  bundle.act_in("there", "b");
  bundle.connections.reply(first[0], wire::Redirect{.address = TwoOwners::kThere});
  bundle.connections.connect(TwoOwners::kThere);
  bundle.act_in("there", "c");
  EXPECT_THAT(bundle.answer_all(),
              ElementsAre("tcp://127.0.0.1:1 b", "tcp://127.0.0.1:2 a", "tcp://127.0.0.1:1 c"));
  EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:2 b", "tcp://127.0.0.1:2 c"));
}

TEST(Requests, FallBackWithSameNumberWhenARedirectTargetDisconnects) {
  TwoOwners bundle;
  bundle.know_the_way();
  bundle.act_in("there", "a");
  const auto lost = bundle.connections.take();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].tracker, TwoOwners::kThere);
  bundle.connections.disconnect(TwoOwners::kThere, "closed");
  bundle.pass(milliseconds{0});
  bundle.pass(milliseconds{50});
  const auto again = bundle.connections.take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].tracker, TwoOwners::kHere);
  EXPECT_EQ(std::get<wire::Act>(again[0].envelope.message).request,
            std::get<wire::Act>(lost[0].envelope.message).request);
}

TEST(Requests, FallBackWhenARedirectTargetIsSilent) {
  TwoOwners bundle;
  bundle.know_the_way();
  bundle.act_in("there", "a");
  bundle.pass(milliseconds{2999});
  for (const auto& sent : bundle.connections.take()) EXPECT_EQ(sent.tracker, TwoOwners::kThere);
  bundle.pass(milliseconds{1});
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:1 a"));
}

TEST(Requests, FallBackWhenARedirectTargetNeverConnects) {
  TwoOwners bundle;
  bundle.act_in("there", "a");
  EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:1 a"));
  bundle.pass(milliseconds{999});
  EXPECT_THAT(bundle.answer_all(), IsEmpty());
  bundle.pass(milliseconds{1});
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:1 a"));
}

TEST(Requests, FallBackQuicklyAfterTheFirstLostRedirectConnection) {
  TwoOwners bundle;
  bundle.know_the_way();
  bundle.act_in("there", "a");
  ASSERT_EQ(bundle.connections.take().size(), 1u);
  bundle.connections.disconnect(TwoOwners::kThere, "closed");
  bundle.pass(milliseconds{0});
  bundle.pass(milliseconds{10});
  EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:1 a"));
}

TEST(Requests, FollowAGroupToItsCurrentOwner) {
  TwoOwners bundle;
  bundle.know_the_way();
  bundle.act_in("there", "a");
  auto sent = bundle.connections.take();
  bundle.connections.reply(sent.at(0), wire::Redirect{.address = "tcp://127.0.0.1:3"});
  bundle.pass(milliseconds{0});
  bundle.connections.connect("tcp://127.0.0.1:3");
  sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].tracker, "tcp://127.0.0.1:3");
  bundle.connections.reply(sent[0], wire::ErrorReply{{ErrorCode::kUnavailable, "it stops"}});
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:1 a"));
  EXPECT_THAT(bundle.answer_all(), ElementsAre()) << "no hot loop";
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.answer_all(), ElementsAre("tcp://127.0.0.1:2 a"));
}

TEST(Requests, NameTheUnreachableRedirectTarget) {
  TwoOwners bundle;
  bundle.act_in("there", "a");
  for (int i = 0; i < 200 && !bundle.answers[0]; ++i) {
    bundle.answer_all();
    if (bundle.connections.open.contains(TwoOwners::kThere))
      bundle.connections.disconnect(TwoOwners::kThere, "connection refused");
    bundle.pass(milliseconds{50});
  }
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error(),
            (Error{ErrorCode::kUnavailable,
                   "job tracker tcp://127.0.0.1:2, which owns 'there', cannot be reached: "
                   "connection refused"}));
}

TEST(Requests, SplitsASubmissionWithTheSameNumbersEachTime) {
  const auto parts_of = [](RequestsBundle& bundle) {
    std::vector<JobSpec> jobs(3);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].task_id = "task-" + std::to_string(i);
      jobs[i].group = i == 1 ? "other" : "default";
    }
    bundle.connections.connect();
    bundle.ask(wire::Submit{.jobs = std::move(jobs), .suspended = true});
    const auto whole = bundle.connections.take();
    bundle.connections.reply(whole[0].envelope.correlation, wire::Redirect{});
    return bundle.connections.take();
  };
  RequestsBundle first;
  const auto parts = parts_of(first);
  ASSERT_EQ(parts.size(), 2u);
  RequestsBundle second;
  const auto again = parts_of(second);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& part = std::get<wire::Submit>(parts[i].envelope.message);
    EXPECT_TRUE(part.request.validate().ok());
    EXPECT_TRUE(part.suspended);
    EXPECT_EQ(part.request, std::get<wire::Submit>(again[i].envelope.message).request);
    wire::Submitted reply;
    for (const JobSpec& job : part.jobs) reply.answers.push_back({.task_id = job.task_id});
    first.connections.reply(parts[i].envelope.correlation, reply);
  }
  ASSERT_TRUE(first.answers[0]);
  std::vector<std::string> answered;
  for (const auto& one : std::get<wire::Submitted>(first.answers[0]->value()).answers) {
    answered.push_back(one.task_id);
  }
  EXPECT_THAT(answered, ElementsAre("task-0", "task-1", "task-2"));
}

TEST(Requests, OutcomeIsUnknownWhenOneSendMayHaveBeenTaken) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.connections.take();
  bundle.connections.disconnect("the other end went away");
  bundle.connections.connect();
  for (int i = 0; i < 100 && !bundle.answers[0]; ++i) {
    for (const auto& sent : bundle.connections.take()) {
      bundle.connections.reply(sent.envelope.correlation,
                               wire::ErrorReply{{ErrorCode::kUnavailable, "starting"}});
    }
    bundle.pass(milliseconds{50});
  }
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kTimeout);
  EXPECT_THAT(bundle.answers[0]->error().message,
              AllOf(HasSubstr("starting"), HasSubstr("check before you repeat it")));
}

TEST(Requests, OutcomeIsUnknownWhenClosedAfterSending) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  bundle.requests->close();
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kTimeout);
}

TEST(Requests, RefusesAnOversizedRequestAndContinues) {
  RequestsBundle bundle;
  bundle.connections.connect();
  JobSpec job;
  job.payload.assign(kPayloadBytesMax, 'x');
  job.run.handler = "noop";
  wire::Submit large;
  large.jobs.assign(5, job);
  bundle.ask(std::move(large));
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kInvalidArgument);
  bundle.act("a");
  EXPECT_EQ(bundle.connections.take().size(), 1u);
}

TEST(Requests, SwitchesTrackersWhenOneRefusesConnections) {
  RequestsBundle bundle({"tcp://one:1", "tcp://two:2"});
  bundle.act("a");
  bundle.connections.disconnect("connection refused");
  bundle.pass(milliseconds{50});
  EXPECT_THAT(bundle.connections.made, ElementsAre("tcp://one:1", "tcp://two:2"));
  bundle.connections.connect();
  const auto sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].tracker, "tcp://two:2");
}

TEST(Requests, SwitchesTrackersWhenConnectingTakesTooLong) {
  RequestsBundle bundle({"tcp://one:1", "tcp://two:2"});
  bundle.act("a");
  bundle.pass(seconds{1});
  bundle.pass(seconds{1});
  EXPECT_THAT(bundle.connections.made, ElementsAre("tcp://one:1", "tcp://two:2", "tcp://one:1"));
}

TEST(Requests, SwitchesTrackersAtOnceAfterALongDisconnection) {
  RequestsBundle bundle({"tcp://one:1", "tcp://two:2"});
  bundle.requests->store_with([](const UnansweredSubmit&) {}, [] { return std::int64_t{9}; });
  bundle.pass(seconds{6});
  bundle.act("a");
  EXPECT_EQ(bundle.requests->next_due(), bundle.clock.steady_now() - seconds{5});
  bundle.pass(milliseconds{1});
  EXPECT_THAT(bundle.connections.made, ElementsAre("tcp://one:1", "tcp://two:2"));
  bundle.connections.connect();
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1));
}

TEST(Requests, AllowsALostConnectionTheConnectTimeoutToReturn) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.connections.is_full = true;
  bundle.act("a");
  bundle.pass(seconds{10});
  bundle.connections.disconnect("closed");
  bundle.pass(milliseconds{4999});
  EXPECT_FALSE(bundle.answers[0]);
  bundle.pass(milliseconds{1});
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_THAT(bundle.answers[0]->error().message,
              HasSubstr("no job tracker reachable at tcp://127.0.0.1:1 within 5s: closed"));
}

TEST(Requests, SwitchesTrackersWithTheSameNumbers) {
  RequestsBundle bundle({"tcp://one:1", "tcp://two:2"});
  bundle.connections.connect();
  bundle.act("a");
  bundle.act("b");
  bundle.connections.take();
  bundle.connections.disconnect("closed");
  bundle.pass(milliseconds{50});
  bundle.connections.connect();
  EXPECT_THAT(bundle.take_sequences(), ElementsAre(1, 2));
}

TEST(Requests, ReconnectsOnceBeforeReportingAccessDenied) {
  RequestsBundle bundle;
  bundle.act("a");
  bundle.connections.disconnect("access denied: wrong token");
  EXPECT_FALSE(bundle.answers[0]);
  bundle.pass(milliseconds{50});
  EXPECT_EQ(bundle.connections.made.size(), 2u);
  bundle.connections.disconnect("access denied: wrong token");
  EXPECT_EQ(bundle.answers[0]->error(),
            (Error{ErrorCode::kDenied, "tcp://127.0.0.1:1: access denied: wrong token"}));
}

TEST(Requests, NamesTheTrackersThatItTried) {
  RequestsBundle bundle({"tcp://one:1", "tcp://two:2"});
  bundle.act("a");
  bundle.pass(seconds{5});
  EXPECT_THAT(bundle.answers[0]->error().message, HasSubstr("tcp://one:1, tcp://two:2"));
}

TEST(Requests, HasNothingDueWithoutRequests) {
  RequestsBundle bundle({"tcp://one:1", "tcp://two:2"});
  EXPECT_EQ(bundle.requests->next_due(), std::nullopt);
  bundle.connections.connect();
  EXPECT_EQ(bundle.requests->next_due(), std::nullopt);
  bundle.act("a");
  EXPECT_EQ(bundle.requests->next_due(), bundle.clock.steady_now() + seconds{1});
}

TEST(Requests, AnswersEveryRequestWhenClosed) {
  RequestsBundle bundle;
  for (int i = 0; i < 20; ++i) bundle.act("a");
  bundle.requests->close();
  for (const auto& answer : bundle.answers) {
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error().code, ErrorCode::kUnavailable);
  }
}

TEST(Requests, ReportsAnAnswerThatCannotBeRead) {
  RequestsBundle bundle;
  bundle.connections.connect();
  bundle.act("a");
  const auto sent = bundle.connections.take();
  std::string frame = wire::encode({sent[0].envelope.correlation, wire::Acted{}});
  frame += "more than one value";
  bundle.connections.current->receiver->on_frame(frame);
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kCorrupt);
}

TEST(Requests, RefusesAnEmptyListOfTrackers) {
  const ManualClock clock;
  FakeConnections connections;
  const auto opened = Requests::open(
      {}, clock, kClient, [&](const std::string& tracker) { return connections.make(tracker); });
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
}

TEST(Requests, KeepANumberThatIsSet) {
  RequestsBundle bundle;
  bundle.connections.connect();
  for (int i = 0; i < 20; ++i) bundle.act("task");
  bundle.connections.take();
  bundle.ask(wire::Act{.request = {.client = 99, .sequence = 1}, .task_id = "numbered"});
  const auto sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(std::get<wire::Act>(sent[0].envelope.message).request, (wire::RequestNumber{99, 1}));
  bundle.connections.reply(sent[0].envelope.correlation, wire::Acted{.message = "done"});
  EXPECT_TRUE(bundle.answers.back()->ok());
}

TEST(Requests, PassOnWhoseRequestItIs) {
  RequestsBundle bundle;
  bundle.connections.connect();
  const wire::OnBehalf ann{.kind = "user", .name = "ann", .role = "viewer", .groups = {"*"}};
  bundle.requests->ask(
      wire::Query{.what = "list"}, bundle.clock.steady_now(), [](const Result<wire::Message>&) {},
      ann);
  const auto sent = bundle.connections.take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].envelope.on_behalf, ann);
}

TEST(Requests, PartsOfASubmissionAreOnBehalfOfTheSamePrincipal) {
  RequestsBundle bundle;
  bundle.connections.connect();
  const wire::OnBehalf ann{.kind = "user", .name = "ann", .role = "editor", .groups = {"*"}};
  wire::Submit submit;
  submit.jobs = {JobSpec{.task_id = "a", .group = "one"}, JobSpec{.task_id = "b", .group = "two"}};
  bundle.requests->ask(
      std::move(submit), bundle.clock.steady_now(), [](const Result<wire::Message>&) {}, ann);
  const auto whole = bundle.connections.take();
  ASSERT_EQ(whole.size(), 1u);
  bundle.connections.reply(whole[0].envelope.correlation, wire::Redirect{});
  const auto parts = bundle.connections.take();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].envelope.on_behalf, ann);
  EXPECT_EQ(parts[1].envelope.on_behalf, ann);
}

}  // namespace
}  // namespace carillon
