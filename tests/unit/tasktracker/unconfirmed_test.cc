#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/outbox/outbox_thread.h"
#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/tasktracker/worker_bundle.h"

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
    worker = std::make_unique<WorkerBundle>(WorkerBundle::Options{.lane = thread.get(),
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

TEST(Unconfirmed, NothingIsWrittenWhileTheTrackerConfirms) {
  testing::TempFolder folder;
  {
    Life life(folder, 1);
    life.worker->start();
    for (int i = 0; i < 5; ++i) life.worker->run(WorkerBundle::handler("echo", "x"));
  }
  EXPECT_EQ(entries_in(folder), -1);
}

TEST(Unconfirmed, WhatEndedWhileTheTrackerIsAwayIsReportedByTheNextWorker) {
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

TEST(Unconfirmed, AWorkerThatStopsKeepsWhatNobodyConfirmedAndSaysNoGoodbye) {
  testing::TempFolder folder;
  {
    Life life(folder, 1);
    life.worker->start();
    life.tracker().confirms = false;
    life.tracker().submit(1, WorkerBundle::handler("echo", "hello"));
    ASSERT_TRUE(life.worker->until_result(1));
    life.worker->worker->request_stop(seconds{0});
    ASSERT_TRUE(life.worker->until([&] { return life.worker->stopped; }));
    EXPECT_FALSE(life.tracker().said_bye) << "its job would run again at once";
  }
  EXPECT_EQ(entries_in(folder), 1) << "the result; its output was taken";
  Life next(folder, 2);
  next.worker->start();
  EXPECT_TRUE(next.worker->until_result(1));
}

TEST(Unconfirmed, AWorkerThatIsHeardLateForgetsWhatItKept) {
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
