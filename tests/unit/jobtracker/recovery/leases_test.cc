#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Job trackers that give leases of different length: a job begins elsewhere only where none that
// was given for it may be valid any more.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeWorker;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::SizeIs;

constexpr Duration kLong = seconds{10};
constexpr Duration kShort = seconds{2};

TrackerBundle::Options of_lease(Duration lease, std::optional<Partitions> wanted = {}) {
  return {.tracker = {.recovery = {.lease = lease}}, .wanted = std::move(wanted)};
}

// With a run that goes on, under a lease that was renewed a second ago at the most.
FakeWorker& add_busy_worker(TrackerBundle& bundle) {
  FakeWorker& worker = bundle.add_worker({.name = "first"});
  runs_take(worker, minutes{10});
  bundle.run_for(seconds{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{1});
  return worker;
}

// Since the job tracker died, or its task tracker was heard of last.
Duration time_to_second_run(TrackerBundle& bundle, SteadyTime since) {
  bundle.run_until([&] { return bundle.runs_of("a").size() > 1; });
  return std::chrono::duration_cast<Duration>(bundle.clock.steady_now() - since);
}

TEST(Leases, OfThePreviousJobTrackerDelayAFailover) {
  TrackerBundle first(of_lease(kLong, all_partitions()));
  auto options = of_lease(kShort, Partitions{});
  options.beside = &first;
  TrackerBundle second(options);
  runs_take(second.add_worker({.name = "second"}), minutes{10});
  ASSERT_EQ(add_busy_worker(first).busy(), 1);
  const SteadyTime died = first.clock.steady_now();
  first.kill_tracker();
  first.database.end_session(SessionId{1});
  second.begin_next_session(all_partitions());
  second.run_until([&] { return !second.runs().empty(); });
  EXPECT_GE(first.clock.steady_now() - died, kLong - seconds{1});
  EXPECT_LE(first.clock.steady_now() - died, kLong + seconds{1});
}

TEST(Leases, OfAnOrderlyHandoverDelayTheNextOwner) {
  TrackerBundle first(of_lease(kLong, all_partitions()));
  auto options = of_lease(kShort, Partitions{});
  options.beside = &first;
  TrackerBundle second(options);
  runs_take(second.add_worker({.name = "second"}), minutes{10});
  FakeWorker& worker = add_busy_worker(first);
  ASSERT_EQ(worker.busy(), 1);
  const SteadyTime cut_off = first.clock.steady_now();
  worker.cut_off(minutes{1});
  first.begin_next_session(Partitions{});
  second.begin_next_session(all_partitions());
  second.run_until([&] { return !second.runs().empty(); });
  EXPECT_GE(first.clock.steady_now() - cut_off, kLong - seconds{1});
}

TEST(Leases, GivenBeforeARestartApplyThoughNewOnesAreShorter) {
  TrackerBundle bundle(of_lease(kLong));
  FakeWorker& worker = add_busy_worker(bundle);
  worker.cut_off(minutes{1});
  runs_take(bundle.add_worker({.name = "second"}), minutes{10});
  const SteadyTime died = bundle.clock.steady_now();
  bundle.give_lease(kShort);
  bundle.restart_after(milliseconds{100});
  EXPECT_GE(time_to_second_run(bundle, died), kLong - seconds{1});
}

TEST(Leases, GivenEarlierApplyOverSeveralRestarts) {
  TrackerBundle bundle(of_lease(kLong));
  FakeWorker& worker = add_busy_worker(bundle);
  worker.cut_off(minutes{1});
  runs_take(bundle.add_worker({.name = "second"}), minutes{10});
  const SteadyTime died = bundle.clock.steady_now();
  bundle.give_lease(kShort);
  for (int i = 0; i < 3; ++i) {
    bundle.restart_after(milliseconds{100});
    bundle.run_for(seconds{1});
  }
  EXPECT_GE(time_to_second_run(bundle, died), kLong - seconds{1});
}

// It may not have got the answer to its registration, and knows of the longer one only.
TEST(Leases, GivenBeforeARestartApplyToReconnectedTaskTrackers) {
  TrackerBundle bundle(of_lease(kLong));
  FakeWorker& worker = add_busy_worker(bundle);
  runs_take(bundle.add_worker({.name = "second"}), minutes{10});
  const SteadyTime died = bundle.clock.steady_now();
  bundle.give_lease(kShort);
  bundle.restart_after(milliseconds{100});
  bundle.run_for(seconds{2});
  worker.cut_off(minutes{1});
  EXPECT_GE(time_to_second_run(bundle, died), kLong - seconds{1});
}

TEST(Leases, ThatExpiredBeforeARestartDelayNoRerun) {
  TrackerBundle bundle(of_lease(kLong));
  bundle.run_for(seconds{1});
  bundle.give_lease(kShort);
  bundle.restart_after(milliseconds{100});
  bundle.run_for(kLong + seconds{2});
  FakeWorker& worker = add_busy_worker(bundle);
  ASSERT_EQ(worker.busy(), 1);
  runs_take(bundle.add_worker({.name = "second"}), minutes{10});
  worker.cut_off(minutes{1});
  const SteadyTime died = bundle.clock.steady_now();
  bundle.restart_after(milliseconds{100});
  EXPECT_LE(time_to_second_run(bundle, died), kShort + seconds{1});
}

TEST(Leases, AreShortOnceEarlierLongerLeasesHaveExpired) {
  TrackerBundle bundle(of_lease(kLong));
  bundle.run_for(seconds{1});
  bundle.give_lease(kShort);
  bundle.restart_after(milliseconds{100});
  bundle.run_for(kLong + seconds{1});
  FakeWorker& worker = add_busy_worker(bundle);
  runs_take(bundle.add_worker({.name = "second"}), minutes{10});
  const SteadyTime cut_off = bundle.clock.steady_now();
  worker.cut_off(minutes{1});
  EXPECT_LE(time_to_second_run(bundle, cut_off), kShort + seconds{1});
}

}  // namespace
}  // namespace carillon::jobtracker
