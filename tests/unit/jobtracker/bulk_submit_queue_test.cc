#include "jobtracker/bulk_submit_queue.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

// Large submissions, and what must not wait behind them.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeClient;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of a group that no task tracker serves.
std::vector<JobSpec> bulk_jobs(std::size_t payload = 200) {
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 100; ++i) {
    jobs.push_back(job_now({}));
    jobs.back().group = "bulk";
    jobs.back().payload = std::string(payload, 'x');
  }
  return jobs;
}

// Clients that load in bulk: each has as many requests under way as a client may have.
class Loaders {
 public:
  Loaders(TrackerBundle& bundle, int count) {
    (void)bundle.submit(bulk_jobs());  // Its group is there.
    for (int i = 0; i < count; ++i) {
      loaders_.emplace_back(100 + i, bundle.network, bundle.task_runner, bundle.clock);
    }
  }

  void submit(std::size_t payload = 200) {
    for (FakeClient& loader : loaders_) {
      for (int i = 0; i < kEach; ++i) (void)loader.submit(bulk_jobs(payload));
    }
  }
  std::size_t sent() const { return kEach * loaders_.size(); }
  std::size_t unanswered() const { return sum(&FakeClient::unanswered); }
  std::size_t slowed_down() const { return sum(&FakeClient::slowed_down); }

 private:
  static constexpr int kEach = 16;
  std::size_t sum(std::size_t (FakeClient::*of)() const) const {
    std::size_t all = 0;
    for (const FakeClient& loader : loaders_) all += (loader.*of)();
    return all;
  }
  std::deque<FakeClient> loaders_;
};

std::string bulk_frame(std::uint64_t correlation, std::size_t payload) {
  JobSpec job = job_now("a");
  job.payload = std::string(payload, 'x');
  return wire::encode(
      {.correlation = correlation,
       .message = wire::Submit{.request = {.client = 1, .sequence = 1}, .jobs = {job}}});
}

TEST(BulkSubmitQueue, AcceptsOnlyLargeSubmissions) {
  EXPECT_TRUE(BulkSubmitQueue::takes(bulk_frame(1, 20'000)));
  EXPECT_FALSE(BulkSubmitQueue::takes(bulk_frame(1, 100)));
  EXPECT_FALSE(BulkSubmitQueue::takes(std::string(20'000, 'x'))) << "no frame at all";
  wire::Output output{.session = SessionId{1}};
  output.chunks.push_back({.bytes = std::string(20'000, 'x')});
  EXPECT_FALSE(BulkSubmitQueue::takes(wire::encode({.correlation = 1, .message = output})));
}

TEST(BulkSubmitQueue, KeepsOrderAndIgnoresResentRequests) {
  BulkSubmitQueue line;
  const std::vector<BulkSubmitQueue::Sender> senders{{"ann", 1}, {"bob", 1}, {"ann", 2}};
  for (const auto& sender : senders) {
    EXPECT_THAT(line.put(sender, bulk_frame(sender.correlation, 20'000), {}), IsEmpty());
  }
  EXPECT_THAT(line.put({"ann", 1}, bulk_frame(1, 20'000), {}), IsEmpty());
  for (const auto& sender : senders) {
    const auto frame = line.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->sender, sender);
    EXPECT_EQ(frame->bytes, bulk_frame(sender.correlation, 20'000));
  }
  EXPECT_TRUE(line.empty());
  EXPECT_FALSE(line.next());
}

TEST(BulkSubmitQueue, RejectsEachLateResendAndKeepsItsPlace) {
  const SteadyTime begin{seconds{100}};
  const BulkSubmitQueue::Sender ann{"ann", 1};
  const BulkSubmitQueue::Sender bob{"bob", 1};
  BulkSubmitQueue line;
  (void)line.put(ann, bulk_frame(1, 20'000), begin);
  (void)line.put(ann, bulk_frame(1, 20'000), begin + seconds{1});
  (void)line.put(bob, bulk_frame(1, 20'000), begin + seconds{5});
  EXPECT_THAT(line.take_late(begin + milliseconds{9'999}), IsEmpty());
  EXPECT_THAT(line.take_late(begin + seconds{10}), ElementsAre(ann, ann));
  EXPECT_THAT(line.put(ann, bulk_frame(1, 20'000), begin + seconds{11}), IsEmpty());
  EXPECT_THAT(line.take_late(begin + seconds{14}), IsEmpty()) << "it waits anew";
  EXPECT_EQ(line.next()->sender, ann);
  EXPECT_EQ(line.next()->sender, bob);
  EXPECT_TRUE(line.empty());
}

// 33 of a million bytes each fill the 32 MiB.
class FullBulkSubmitQueue : public ::testing::Test {
 protected:
  FullBulkSubmitQueue() {
    for (std::uint64_t i = 1; i <= 33; ++i) EXPECT_THAT(put({"ann", i}), IsEmpty());
  }
  std::vector<BulkSubmitQueue::Sender> put(const BulkSubmitQueue::Sender& sender,
                                           std::size_t bytes = 1'000'000) {
    return line_.put(sender, bulk_frame(sender.correlation, bytes), {});
  }
  const BulkSubmitQueue::Sender bob_{"bob", 1};
  BulkSubmitQueue line_;
};

TEST_F(FullBulkSubmitQueue, RejectsTheNextRequest) {
  EXPECT_THAT(put(bob_), ElementsAre(bob_));
  ASSERT_TRUE(line_.next());
  EXPECT_THAT(put({"ann", 34}), IsEmpty()) << "there is room again";
}

TEST_F(FullBulkSubmitQueue, EvictsALaterRequestForOneRejectedFourTimes) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(put(bob_), ElementsAre(bob_));
    ASSERT_TRUE(line_.next());
    EXPECT_THAT(put({"ann", 34U + i}), IsEmpty()) << "it finds the room; bob does not know of it";
  }
  EXPECT_THAT(put(bob_), ElementsAre(BulkSubmitQueue::Sender{"ann", 37}));
  for (int i = 0; i < 29; ++i) EXPECT_EQ(line_.next()->sender.peer, "ann");
  EXPECT_EQ(line_.next()->sender, bob_);
  EXPECT_EQ(line_.next()->sender, (BulkSubmitQueue::Sender{"ann", 34}));
}

TEST_F(FullBulkSubmitQueue, RejectsARetryWhileAllQueuedRequestsAreOlder) {
  for (int i = 0; i < 10; ++i) EXPECT_THAT(put(bob_), ElementsAre(bob_));
}

TEST_F(FullBulkSubmitQueue, EvictsSeveralLaterRequestsForOneLargeRejectedRequest) {
  for (int i = 0; i < 4; ++i) EXPECT_THAT(put(bob_, 2'500'000), ElementsAre(bob_));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(line_.next());
  for (std::uint64_t i = 34; i < 37; ++i) EXPECT_THAT(put({"ann", i}), IsEmpty());
  EXPECT_THAT(put(bob_, 2'500'000),
              ElementsAre(BulkSubmitQueue::Sender{"ann", 36}, BulkSubmitQueue::Sender{"ann", 35}));
}

TEST(BulkLoad, DoesNotDelayASingleSubmission) {
  TrackerBundle bundle;
  Loaders loaders(bundle, 4);
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{5};
  loaders.submit();
  bundle.run_for(milliseconds{10});
  EXPECT_LT(bundle.stat("operations_pending"), 3000) << "they are read as the store takes them";
  bundle.add_worker();
  const auto single = bundle.client.submit({job_now("single")});
  ASSERT_TRUE(bundle.run_until([&] { return bundle.client.answer_to(single) != nullptr; }));
  EXPECT_GT(loaders.unanswered(), 30U) << "those that came first";
  ASSERT_TRUE(bundle.run_until([&] { return loaders.unanswered() == 0; }));
  EXPECT_EQ(bundle.waiting().size(), 100 + loaders.sent() * 100)
      << "each once, though they were sent again";
  EXPECT_EQ(bundle.runs_of("single").size(), 1U);
}

TEST(BulkLoad, IsSlowedDownWhenTheLineIsFull) {
  TrackerBundle bundle;
  Loaders loaders(bundle, 5);
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{3};
  loaders.submit(10'000);
  bundle.run_for(milliseconds{500});
  EXPECT_GT(loaders.slowed_down(), 0U);
  EXPECT_EQ(bundle.stat("requests_slowed_down_total"),
            static_cast<std::int64_t>(loaders.slowed_down()));
  ASSERT_TRUE(bundle.run_until([&] { return loaders.unanswered() == 0; }));
  EXPECT_EQ(bundle.waiting().size(), 100 + loaders.sent() * 100);
}

// Our client library gives up after 30 s, and must know by then that nothing was taken.
TEST(BulkLoad, IsSlowedDownBeforeTheClientTimesOut) {
  TrackerBundle bundle;
  Loaders loaders(bundle, 4);
  bundle.connection().work_time = [] { return seconds{2}; };
  loaders.submit();
  bundle.run_for(seconds{9});
  EXPECT_EQ(loaders.slowed_down(), 0U);
  bundle.run_for(seconds{3});
  EXPECT_GT(loaders.slowed_down(), 30U);
  ASSERT_TRUE(bundle.run_until([&] { return loaders.unanswered() == 0; }));
  EXPECT_EQ(bundle.waiting().size(), 100 + loaders.sent() * 100) << "each once";
}

// Our client library stores what it submits then, and does so at once where it is refused.
TEST(BulkLoad, IsNotSlowedDownWhileTheStoreIsUnavailable) {
  TrackerBundle bundle;
  Loaders loaders(bundle, 4);
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{60};
  loaders.submit();
  bundle.run_for(seconds{50});
  EXPECT_EQ(loaders.slowed_down(), 0U);
  ASSERT_TRUE(bundle.run_until([&] { return loaders.unanswered() == 0; }));
  EXPECT_EQ(bundle.waiting().size(), 100 + loaders.sent() * 100) << "each once";
}

TEST(BulkLoad, IsNotStoredOnceTheJobTrackerStops) {
  TrackerBundle bundle;
  Loaders loaders(bundle, 4);
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{5};
  loaders.submit();
  bundle.run_for(milliseconds{10});
  bundle.tracker().stop();
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tracker().is_idle(); }));
  const std::size_t taken = bundle.waiting().size() / 100 - 1;
  EXPECT_GT(taken, 0U) << "what was read is still stored";
  EXPECT_LT(taken, 30U) << "nothing else is";
}

// Notes what it is given.
struct NextReceiver final : net::ServerReceiver {
  void on_frame(const net::Sender&, std::string_view) override { ++frames; }
  std::size_t frames = 0;
};

TEST(BulkLoad, IsHandedOverToTheNextSession) {
  TrackerBundle bundle;
  Loaders loaders(bundle, 4);
  bundle.connection().away_until = bundle.clock.steady_now() + milliseconds{900};
  loaders.submit();
  bundle.run_for(milliseconds{10});
  NextReceiver next;
  bundle.tracker().hand_over(next);
  EXPECT_GT(next.frames, 30U);
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tracker().is_idle(); }));
  EXPECT_EQ(bundle.waiting().size() / 100 - 1 + next.frames, loaders.sent())
      << "taken, or passed on";
}

}  // namespace
}  // namespace carillon::jobtracker
