#include "tasktracker/executor/result_outbox.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/xxl/read.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/tasktracker/executor/fake_admin.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::xxl::RunResult;

// An admin, and executors one after another with one folder.
struct ResultBundle {
  ManualClock clock;
  testing::TempFolder folder;
  FakeAdmin admin;
  std::atomic<bool> cancelled{false};
  std::multiset<std::int64_t> taken{};  // log ids
  std::set<std::int64_t> refused{};     // the admin refuses what holds one of them
  bool is_up = true;

  ResultBundle() {
    admin.answer = [this](const HttpRequest& request) {
      if (!is_up) return FakeAdmin::away();
      const auto results = wire::xxl::read_results(request.body).value().results;
      for (const RunResult& result : results) {
        if (refused.contains(result.log_id)) return FakeAdmin::code(500);
      }
      for (const RunResult& result : results) taken.insert(result.log_id);
      return FakeAdmin::code(200);
    };
  }
};

struct ResultExecutor {
  explicit ResultExecutor(ResultBundle& bundle, const std::string& folder = {})
      : client({.admins = {"http://admin:1"}, .app_name = "a"}, bundle.admin.send,
               bundle.cancelled),
        outbox(std::make_unique<outbox::Outbox>(
                   outbox::OutboxConfig{
                       .folder = folder.empty() ? bundle.folder.file("outbox") : folder,
                       .addresses = {"http://admin:1"}},
                   bundle.clock),
               client, bundle.clock, [] {}) {}
  AdminClient client;
  ResultOutbox outbox;
};

TEST(ResultOutbox, SendsAllResultsTogetherAndForgetsThem) {
  ResultBundle b;
  ResultExecutor e(b);
  e.outbox.add({.log_id = 1});
  e.outbox.add({.log_id = 2, .code = 500, .message = "no"});
  EXPECT_EQ(e.outbox.deliver(), std::nullopt);
  EXPECT_THAT(b.admin.requests, SizeIs(1));
  EXPECT_THAT(b.taken, ElementsAre(1, 2));
  EXPECT_EQ(e.outbox.left(), 0);
  (void)e.outbox.deliver();
  EXPECT_THAT(b.admin.requests, SizeIs(1));
}

TEST(ResultOutbox, SendsAtMostFiftyResultsAtATime) {
  ResultBundle b;
  ResultExecutor e(b);
  for (int i = 1; i <= 101; ++i) e.outbox.add({.log_id = i});
  EXPECT_EQ(e.outbox.deliver(), std::nullopt);
  EXPECT_THAT(b.admin.requests, SizeIs(3));
  EXPECT_THAT(b.taken, SizeIs(101));
}

TEST(ResultOutbox, KeepsUndeliveredResultsForTheNextExecutor) {
  ResultBundle b;
  b.is_up = false;
  {
    ResultExecutor e(b);
    e.outbox.add({.log_id = 1, .log_time_ms = 5, .code = 502, .message = "\"late\"\n"});
    EXPECT_NE(e.outbox.deliver(), std::nullopt);
  }
  b.is_up = true;
  ResultExecutor next(b);
  EXPECT_EQ(next.outbox.left(), 1);
  EXPECT_EQ(next.outbox.deliver(), std::nullopt);
  ASSERT_THAT(b.admin.requests, SizeIs(2));
  EXPECT_EQ(b.admin.requests[0].body, b.admin.requests[1].body);
  EXPECT_EQ(next.outbox.left(), 0);
}

TEST(ResultOutbox, AddsToResultsLeftByAnEarlierExecutor) {
  ResultBundle b;
  b.is_up = false;
  {
    ResultExecutor e(b);
    e.outbox.add({.log_id = 1});
  }
  b.is_up = true;
  ResultExecutor next(b);
  next.outbox.add({.log_id = 2});
  EXPECT_EQ(next.outbox.deliver(), std::nullopt);
  EXPECT_THAT(b.taken, ElementsAre(1, 2));
}

TEST(ResultOutbox, RetriesWithGrowingDelays) {
  ResultBundle b;
  b.is_up = false;
  ResultExecutor e(b);
  e.outbox.add({.log_id = 1});
  EXPECT_EQ(e.outbox.deliver(), b.clock.steady_now() + seconds{1});
  (void)e.outbox.deliver();
  EXPECT_THAT(b.admin.requests, SizeIs(1));
  b.clock.advance(seconds{1});
  EXPECT_EQ(e.outbox.deliver(), b.clock.steady_now() + seconds{2});
  EXPECT_THAT(b.admin.requests, SizeIs(2));
  // At the end there is no time to wait.
  b.is_up = true;
  EXPECT_EQ(e.outbox.deliver(true), std::nullopt);
  EXPECT_THAT(b.taken, ElementsAre(1));
}

TEST(ResultOutbox, OneRefusedResultDoesNotDelayTheOthers) {
  ResultBundle b;
  b.refused = {7};
  ResultExecutor e(b);
  for (int i = 1; i <= 120; ++i) e.outbox.add({.log_id = i});
  EXPECT_NE(e.outbox.deliver(), std::nullopt);
  EXPECT_THAT(b.taken, SizeIs(119));
  EXPECT_EQ(e.outbox.left(), 1);
  b.refused.clear();
  b.clock.advance(seconds{60});
  EXPECT_EQ(e.outbox.deliver(), std::nullopt);
  EXPECT_THAT(b.taken, SizeIs(120));
}

TEST(ResultOutbox, StopsWhenEveryResultIsRefused) {
  ResultBundle b;
  b.admin.answer = [](const HttpRequest&) { return FakeAdmin::code(500); };
  ResultExecutor e(b);
  for (int i = 1; i <= 200; ++i) e.outbox.add({.log_id = i});
  EXPECT_NE(e.outbox.deliver(), std::nullopt);
  EXPECT_EQ(e.outbox.left(), 200);
  EXPECT_THAT(b.admin.requests, SizeIs(2 * 51));  // each in both forms
}

TEST(ResultOutbox, SendsFromMemoryWhenTheDiskFails) {
  ResultBundle b;
  ResultExecutor e(b, "/proc/no-folder");
  e.outbox.add({.log_id = 1});
  EXPECT_EQ(e.outbox.left(), 1);
  EXPECT_EQ(e.outbox.deliver(), std::nullopt);
  EXPECT_THAT(b.taken, ElementsAre(1));
  EXPECT_EQ(e.outbox.left(), 0);
}

}  // namespace
}  // namespace carillon::tasktracker
