#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/outbox/outbox_thread.h"
#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/integration/tasktracker/worker_bundle.h"
#include "tests/support/inline_outbox_writer.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

// What a worker does with results and output that nobody confirms.
namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kAddress = "tcp://127.0.0.1:1";

// One life of a worker with an outbox in `folder`; it ends as if it were killed, without a word.
struct Life {
  Life(const testing::TempFolder& its_folder, std::int64_t session) : folder(its_folder) {
    auto on_disk = std::make_unique<outbox::Outbox>(
        outbox::OutboxConfig{.folder = folder.file("outbox"), .addresses = {kAddress}}, clock);
    const std::int64_t last_id = on_disk->last_id();
    thread = outbox::OutboxThread::start(std::move(on_disk), [this] {
               if (worker) worker->loop.wake();
             }).value();
    worker = std::make_unique<WorkerBundle>(WorkerBundle::Options{.writer = thread.get(),
                                                                  .last_id = last_id,
                                                                  .deliver_wait = milliseconds{200},
                                                                  .session = session});
  }
  ~Life() {
    thread->finish();
    worker.reset();
  }

  FakeTracker& tracker() { return worker->tracker(); }

  const testing::TempFolder& folder;
  SystemClock clock;
  std::unique_ptr<outbox::OutboxThread> thread;
  std::unique_ptr<WorkerBundle> worker;
};

// How many entries lie there, whoever holds them; -1: nothing was ever written.
std::int64_t entries_in(const testing::TempFolder& folder) {
  const std::string file = folder.file("outbox/0.db");
  auto db = sql::SqliteConnection::open(file, {.create = false, .read_only = true});
  if (!db.ok()) return std::filesystem::exists(folder.file("outbox")) ? 0 : -1;
  std::int64_t count = 0;
  const Status counted = db.value()->query("SELECT COUNT(*) FROM lts_outbox_entry", {},
                                           [&](const sql::Row& row) { count = row.integer(0); });
  return counted.ok() ? count : 0;
}

// Nothing runs here.
class NoRuns final : public Runs {
 public:
  void add(std::vector<wire::HandedJob>&&, SteadyTime) override {}
  void close() override {}
  std::vector<wire::AttemptId> reclaim(std::optional<SteadyTime>) override { return {}; }
  Stopped stop(wire::AttemptId, StopReason, const std::string&) override { return {}; }
  void stop_all(StopReason, const std::string&, bool) override {}
  std::optional<SteadyTime> keep_time(SteadyTime) override { return std::nullopt; }
  void collect(PoolNews&, bool) override {}
  std::vector<wire::AttemptId> waiting() const override { return {}; }
};

// What a worker of group "ops" says that finds a result of one of group "web".
struct OtherGroupBundle {
  OtherGroupBundle() {
    outbox::Outbox before(config("web"), clock);
    InlineOutboxWriter its_connection(before);
    ReportOutbox reports(&its_connection, 0);
    reports.keep(SessionId{70}, wire::RunResult{.id = {JobId{1}, 1}});
    for (int i = 0; i < 3; ++i) reports.turn(clock.steady_now());
    EXPECT_EQ(before.entries(), 1);
  }
  outbox::OutboxConfig config(const std::string& group) const {
    return {.folder = folder.file("outbox"), .addresses = {kAddress}, .group = group};
  }
  void start() {
    on_disk = std::make_unique<outbox::Outbox>(config("ops"), clock);
    writer = std::make_unique<InlineOutboxWriter>(*on_disk);
    auto transport = std::make_unique<FakeTracker>(loop);
    tracker = transport.get();
    std::vector<TrackerAddress> list;
    list.push_back({.endpoint = kAddress, .transport = std::move(transport)});
    link = std::make_unique<TrackerLink>(
        TrackerLinkConfig{.fetcher = {.session = SessionId{77}, .group = "ops"}}, std::move(list),
        runs, clock, ReportOutbox(writer.get(), on_disk->last_id()), [](const std::string&) {});
    tracker->connect();
  }
  void let_pass(Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds{500}) {
      clock.advance(milliseconds{500});
      for (int i = 0; i < 4; ++i) {
        link->flush(clock.steady_now());
        loop.run_once(Duration{});
      }
    }
  }

  testing::TempFolder folder;
  ManualClock clock;
  EventLoop loop{clock};
  NoRuns runs;
  FakeTracker* tracker = nullptr;
  std::unique_ptr<outbox::Outbox> on_disk;
  std::unique_ptr<InlineOutboxWriter> writer;
  std::unique_ptr<TrackerLink> link;
};

TEST(UnconfirmedReport, ReportsOfAnotherGroupAreLeftToThatGroup) {
  OtherGroupBundle b;
  b.start();
  b.let_pass(seconds{50});
  EXPECT_EQ(b.tracker->result_of(1), nullptr);
  const outbox::Outbox of_that_group(b.config("web"), b.clock);
  EXPECT_EQ(of_that_group.entries(), 1) << "nobody holds it";
}

TEST(UnconfirmedReport, UnclaimedReportsOfAnotherGroupAreSentAfterAMinute) {
  OtherGroupBundle b;
  b.start();
  b.let_pass(seconds{70});
  EXPECT_NE(b.tracker->result_of(1), nullptr);
  EXPECT_EQ(b.tracker->origin_of(1), SessionId{70});
  EXPECT_EQ(b.on_disk->entries(), 0);
}

TEST(UnconfirmedReport, UnclaimedReportsOfAnotherGroupWaitTenLeases) {
  OtherGroupBundle b;
  b.start();
  b.tracker->lease = seconds{30};
  b.let_pass(seconds{290});
  EXPECT_EQ(b.tracker->result_of(1), nullptr);
  b.let_pass(seconds{20});
  EXPECT_NE(b.tracker->result_of(1), nullptr);
}

TEST(UnconfirmedReport, TimeWithoutAJobTrackerDoesNotCount) {
  OtherGroupBundle b;
  b.start();
  b.let_pass(seconds{40});
  b.tracker->disconnect();
  b.let_pass(seconds{40});
  b.tracker->connect();
  b.let_pass(seconds{40});
  EXPECT_EQ(b.tracker->result_of(1), nullptr);
}

TEST(UnconfirmedReport, NothingIsWrittenWhileTheTrackerConfirms) {
  testing::TempFolder folder;
  {
    Life life(folder, 1);
    life.worker->start();
    for (int i = 0; i < 5; ++i) life.worker->run(WorkerBundle::handler("echo", "x"));
  }
  EXPECT_EQ(entries_in(folder), -1);
}

TEST(UnconfirmedReport, NextWorkerReportsRunsThatEndedWithoutATracker) {
  testing::TempFolder folder;
  {
    Life life(folder, 1);
    life.worker->start();
    ASSERT_TRUE(life.worker->hold(1, "200ms"));
    life.tracker().disconnect();
    ASSERT_TRUE(life.worker->until([&] { return entries_in(folder) == 1; }));
  }
  {
    Life next(folder, 2);
    next.worker->start();
    ASSERT_TRUE(next.worker->until_result(1));
    EXPECT_EQ(next.tracker().origin_of(1), SessionId{1});
    EXPECT_TRUE(next.worker->until([&] { return entries_in(folder) == 0; }))
        << "confirmed, and forgotten";
  }
}

TEST(UnconfirmedReport, StoppedWorkerKeepsUnconfirmedResultsWithoutSayingGoodbye) {
  testing::TempFolder folder;
  {
    Life life(folder, 1);
    life.worker->start();
    life.tracker().confirms = false;
    life.tracker().submit(1, WorkerBundle::handler("echo", "hello"));
    ASSERT_TRUE(life.worker->until_result(1));
    life.worker->worker->request_stop(seconds{0});
    ASSERT_TRUE(life.worker->until([&] { return life.worker->stopped; }));
    EXPECT_EQ(life.tracker().byes, 0) << "its job would run again at once";
  }
  EXPECT_EQ(entries_in(folder), 1) << "the result; its output was taken";
  Life next(folder, 2);
  next.worker->start();
  EXPECT_TRUE(next.worker->until_result(1));
}

TEST(UnconfirmedReport, AWorkerWithoutAJobTrackerStopsAtOnceWhenItsResultsAreOnDisk) {
  testing::TempFolder folder;
  {
    Life life(folder, 1);
    life.worker->start();
    life.tracker().confirms = false;
    life.tracker().submit(1, WorkerBundle::handler("noop"));
    ASSERT_TRUE(life.worker->until_result(1));
    life.tracker().disconnect();
    life.worker->worker->request_stop(seconds{60});
    EXPECT_TRUE(life.worker->until([&] { return life.worker->stopped; })) << "within ten seconds";
  }
  EXPECT_EQ(entries_in(folder), 1);
}

TEST(UnconfirmedReport, LateConfirmationRemovesTheKeptResult) {
  testing::TempFolder folder;
  {
    Life life(folder, 1);
    life.worker->start();
    life.tracker().confirms = false;
    life.tracker().submit(1, WorkerBundle::handler("noop"));
    ASSERT_TRUE(life.worker->until([&] { return entries_in(folder) == 1; })) << "after a second";
    life.tracker().confirms = true;
    EXPECT_TRUE(life.worker->until([&] { return entries_in(folder) == 0; }));
  }
}

}  // namespace
}  // namespace carillon::tasktracker
