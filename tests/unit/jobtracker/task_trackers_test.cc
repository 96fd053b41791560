#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

// What a job tracker says to messages of a task tracker that make no sense, or cannot be stored.
namespace carillon::jobtracker {
namespace {

using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

struct Peer {
  explicit Peer(TrackerBundle::Options options = {}) : bundle(std::move(options)) { connect(); }
  void connect() {
    bundle.run_until([this] { return bundle.tracker().is_ready(); });
    peer = bundle.network.connect({.on_frame =
                                       [this](std::string_view frame) {
                                         heard.push_back(
                                             std::move(wire::decode(frame).value().message));
                                       },
                                   .on_disconnected = [] {}});
  }
  const wire::Message& ask(wire::Message message) {
    bundle.network.send_to_server(peer, wire::encode({.correlation = ++last, .message = message}));
    bundle.run_for(milliseconds{10});
    return heard.back();
  }
  std::string refusal(wire::Message message) {
    const auto* error = std::get_if<wire::ErrorReply>(&ask(std::move(message)));
    return error == nullptr ? "taken" : error->error.message;
  }

  TrackerBundle bundle;
  net::Peer peer{};
  std::uint64_t last = 0;
  std::vector<wire::Message> heard{};
};

const wire::Register kHello{
    .session = SessionId{5}, .name = "worker", .group = "default", .threads = 2};

TEST(TaskTrackers, MustRegisterWithFieldsWithinLimits) {
  Peer p;
  const auto with = [&p](auto change) {
    wire::Register hello = kHello;
    change(hello);
    return p.refusal(std::move(hello));
  };
  EXPECT_EQ(with([](wire::Register& r) { r.session = {}; }),
            "Register.session is 0, must be above 0");
  EXPECT_EQ(with([](wire::Register& r) { r.name.clear(); }), "Register.name is empty");
  EXPECT_EQ(with([](wire::Register& r) { r.name = std::string(201, 'x'); }),
            "Register.name has 201 bytes, at most 200");
  EXPECT_EQ(with([](wire::Register& r) { r.address = "a\nb"; }),
            "Register.address must be UTF-8 text without control characters");
  for (const std::int32_t threads : {0, -3, INT32_MAX}) {
    EXPECT_EQ(with([&](wire::Register& r) { r.threads = threads; }),
              "Register.threads is " + std::to_string(threads) + ", must be 1 to 65536");
  }
  EXPECT_EQ(with([](wire::Register& r) { r.labels["a"] = std::string(1'000'000, 'x'); }),
            "a label in Register.labels has 1000002 bytes, at most 200");
  EXPECT_EQ(with([](wire::Register& r) {
              for (int i = 0; i < 65; ++i) r.labels[std::to_string(i)] = "x";
            }),
            "Register.labels has 65 elements, at most 64");
  EXPECT_EQ(with([](wire::Register&) {}), "taken");
}

TEST(TaskTrackers, MustSendAPositiveSessionId) {
  Peer p;
  EXPECT_EQ(p.refusal(wire::Pull{.session = SessionId{-1}, .number = 1}),
            "session is -1, must be above 0");
  EXPECT_EQ(p.refusal(wire::Bye{.session = SessionId{-1}}), "Bye.session is -1, must be above 0");
}

TEST(TaskTrackers, SayGoodbyeToTheOwnerOfTheirGroup) {
  Peer p{{.wanted = all_partitions()}};
  ASSERT_EQ(p.refusal(kHello), "taken");
  EXPECT_TRUE(std::holds_alternative<wire::Gone>(p.ask(wire::Bye{SessionId{5}, "default"})));
  p.bundle.begin_next_session(Partitions{});
  p.connect();
  EXPECT_EQ(p.refusal(wire::Bye{SessionId{5}, "default"}), "session 5 is unknown, register");
  EXPECT_TRUE(std::holds_alternative<wire::Gone>(p.ask(wire::Bye{SessionId{5}})))
      << "whoever does not say of which group it is cannot be sent on";
}

TEST(TaskTrackers, CannotPullANegativeWindow) {
  Peer p;
  ASSERT_EQ(p.refusal(kHello), "taken");
  EXPECT_EQ(p.refusal(wire::Pull{.session = SessionId{5}, .number = 1, .window = -1}),
            "Pull.window is -1, must be 0 or more");
}

TEST(TaskTrackers, MustReportOverloadInOneShortLine) {
  Peer p;
  ASSERT_EQ(p.refusal(kHello), "taken");
  wire::Pull pull{.session = SessionId{5}, .number = 1, .overload = std::string(201, 'x')};
  EXPECT_THAT(p.refusal(pull), HasSubstr("Pull.overload has 201 bytes"));
  pull.overload = "cpu\n97%";
  EXPECT_THAT(p.refusal(pull), HasSubstr("Pull.overload"));
  pull.overload = "cpu 97%";
  EXPECT_EQ(p.refusal(pull), "taken");
}

// How many of the two chunks are taken where the store rolls back the one batch that has them.
std::int64_t taken_after(Error error) {
  Peer p;
  EXPECT_EQ(p.refusal(kHello), "taken");
  p.bundle.submit(carillon::testing::job_now("a"));
  EXPECT_EQ(p.refusal(wire::Pull{.session = SessionId{5}, .number = 1, .window = 1}), "taken");
  EXPECT_TRUE(p.bundle.run_until([&] { return p.bundle.tables().executing.size() == 1; }));
  const JobId job = p.bundle.tables().executing.begin()->first;
  p.bundle.connection().rolls_back = [&](const Batch& batch) -> std::optional<RolledBack> {
    for (std::size_t i = 0; i < batch.operations.size(); ++i) {
      if (std::holds_alternative<AddOutput>(batch.operations[i]))
        return RolledBack{error, false, i};
    }
    return std::nullopt;
  };
  wire::Output output{.session = SessionId{5}};
  for (const std::int64_t sequence : {1, 2}) {
    output.chunks.push_back({.id = {job, 1}, .sequence = sequence, .bytes = "x"});
  }
  const auto* taken = std::get_if<wire::OutputTaken>(&p.ask(output));
  return taken == nullptr ? -1 : taken->chunks;
}

TEST(TaskTrackers, KeepOutputWhenTheStoreFailsTemporarily) {
  EXPECT_EQ(taken_after({ErrorCode::kLimit, "the disk is full"}), 0);
  EXPECT_EQ(taken_after({ErrorCode::kUnavailable, "not now"}), 0);
}

TEST(TaskTrackers, DropOutputThatCanNeverBeStored) {
  EXPECT_EQ(taken_after({ErrorCode::kInvalidArgument, "never"}), 2);
}

TEST(TaskTrackers, MustNumberOutputFromOne) {
  Peer p;
  ASSERT_EQ(p.refusal(kHello), "taken");
  wire::Output output{.session = SessionId{5}};
  output.chunks.push_back({.id = {JobId{7}, 1}, .sequence = -3, .bytes = "x"});
  EXPECT_EQ(p.refusal(output), "Output.chunks[0].sequence is -3, must be 1 or more");
}

TEST(TaskTrackers, SpeakForTheirSessionOnTheConnectionThatRegisteredIt) {
  Peer p;
  ASSERT_EQ(p.refusal(kHello), "taken");
  p.connect();
  const SessionId session = kHello.session;
  const wire::Message all[] = {wire::Pull{.session = session, .number = 1, .window = 2},
                               wire::Report{.session = session}, wire::GiveBack{.session = session},
                               wire::Output{.session = session}, wire::Bye{session}};
  for (const wire::Message& message : all)
    EXPECT_EQ(p.refusal(message), "session 5 is unknown, register") << message.index();
  EXPECT_EQ(p.bundle.stat("foreign_frames_total"), 5);
  wire::Register again = kHello;
  again.number = 1;
  EXPECT_EQ(p.refusal(again), "taken");
  EXPECT_EQ(p.refusal(wire::Pull{.session = session, .number = 1, .window = 2}), "taken");
}

TEST(TaskTrackers, CannotSendOutputOfAnothersRun) {
  Peer p;
  auto& worker = p.bundle.add_worker();
  carillon::testing::runs_take(worker, std::chrono::minutes{5});
  p.bundle.submit(carillon::testing::job_now("theirs"));
  ASSERT_TRUE(p.bundle.run_until([&] { return worker.busy() == 1; }));
  ASSERT_EQ(p.refusal(kHello), "taken");
  wire::Output output{.session = kHello.session};
  output.chunks.push_back({.id = worker.handed()[0], .sequence = 1, .bytes = "forged"});
  EXPECT_EQ(p.refusal(output), "Output.chunks[0].id is a run of another task tracker");
  EXPECT_EQ(p.bundle.stat("foreign_frames_total"), 1);
  output.origin = worker.session();  // Left on disk by an earlier process.
  EXPECT_EQ(p.refusal(output), "taken");
}

TEST(TaskTrackers, CannotSendOutputOfARunThatTheyDidNotHave) {
  Peer p;
  wire::Register hello = kHello;
  hello.name = "another";
  ASSERT_EQ(p.refusal(hello), "taken");
  JobSpec later = carillon::testing::job_at("later", p.bundle.now() + std::chrono::hours{1});
  const JobId waiting = p.bundle.submit(later).job_id;
  auto& worker = p.bundle.add_worker();
  const JobId ended = p.bundle.submit(carillon::testing::job_now("theirs")).job_id;
  ASSERT_TRUE(p.bundle.run_until([&] { return p.bundle.log("theirs").size() == 1; }));
  for (const JobId job : {waiting, ended, JobId{7}}) {
    wire::Output output{.session = kHello.session};
    output.chunks.push_back({.id = {job, 1}, .sequence = 99, .bytes = "forged"});
    EXPECT_EQ(p.refusal(output), "taken") << "so that it is not sent again";
  }
  EXPECT_EQ(p.bundle.stat("foreign_frames_total"), 3);
  for (const auto& [key, row] : p.bundle.tables().output) EXPECT_NE(row.bytes, "forged");
  EXPECT_NE(worker.session(), kHello.session);
}

TEST(TaskTrackers, ImpossibleQueriesAreRefused) {
  Peer p;
  EXPECT_EQ(p.refusal(wire::Query{.what = "job"}),
            "Query.job_id is 0, must be above 0 to ask for a job");
  EXPECT_EQ(p.refusal(wire::Query{.what = "list", .limit = -1}),
            "Query.limit is -1, must be 0 or more");
  for (const char* after : {"garbage", "1,2,3", "7:x"}) {
    EXPECT_EQ(
        p.refusal(wire::Query{.what = "history", .after = after}),
        std::string{"Query.after is '"} + after + "', must be the next value of the previous page");
  }
}

}  // namespace
}  // namespace carillon::jobtracker
