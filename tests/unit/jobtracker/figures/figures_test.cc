#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/figures/figures_desk.h"
#include "jobtracker/tracker_metrics.h"
#include "tests/support/query_pages.h"
#include "tests/support/tracker_bundle.h"

namespace carillon::jobtracker {
namespace {

using carillon::testing::every_page;
using carillon::testing::FakeRun;
using carillon::testing::job_now;
using carillon::testing::number_of;
using carillon::testing::text_of;
using carillon::testing::TrackerBundle;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

void run_to_next_minute(TrackerBundle& bundle) {
  const Duration since = bundle.now().time_since_epoch() % Duration{minutes{1}};
  bundle.run_for(Duration{minutes{1}} - since + Duration{seconds{5}});
}

std::int64_t sum_of(const std::vector<wire::Row>& rows, const std::string& field) {
  std::int64_t sum = 0;
  for (const wire::Row& row : rows) sum += number_of(row, field);
  return sum;
}

GroupLevels levels_of(TrackerBundle& bundle, const std::string& group) {
  std::optional<Result<GroupLevels>> found;
  bundle.tracker().ask_levels(group, [&](Result<GroupLevels> levels) { found = levels; });
  EXPECT_TRUE(bundle.run_until([&] { return found.has_value(); }));
  EXPECT_TRUE(found->ok());
  return found->ok() ? found->value() : GroupLevels{};
}

TEST(Figures, AMinuteHasItsJobsLatenessAndWorkers) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 3});
  worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.outcome = job.task_id == "bad" ? wire::RunOutcome::kFailed
                                                   : wire::RunOutcome::kSucceeded};
  };
  run_to_next_minute(bundle);
  (void)bundle.submit({job_now("a"), job_now("b"), job_now("bad")});
  run_to_next_minute(bundle);
  run_to_next_minute(bundle);
  const auto rows = every_page(bundle, {.what = "figures", .group = "default"});
  ASSERT_THAT(rows, SizeIs(Ge(2u)));
  EXPECT_EQ(sum_of(rows, "submitted"), 3);
  const auto busy = std::find_if(rows.begin(), rows.end(), [](const wire::Row& row) {
    return number_of(row, "submitted") > 0;
  });
  ASSERT_NE(busy, rows.end());
  EXPECT_EQ(text_of(*busy, "group"), "default");
  EXPECT_THAT(text_of(*busy, "at"), HasSubstr(":00.000Z"));
  EXPECT_EQ(number_of(*busy, "started"), 3);
  EXPECT_EQ(number_of(*busy, "ended"), 3);
  EXPECT_EQ(number_of(*busy, "failed"), 1);
  EXPECT_EQ(number_of(*busy, "workers"), 1);
  EXPECT_EQ(number_of(*busy, "threads"), 3);
  EXPECT_EQ(number_of(*busy, "backlog"), 0);
  EXPECT_THAT(number_of(*busy, "lateness_p50_ms"), Le(number_of(*busy, "lateness_p99_ms")));
  EXPECT_THAT(number_of(*busy, "lateness_p99_ms"), Le(1000));
}

TEST(Figures, BacklogOfAGroupWithoutWorkersIsCounted) {
  TrackerBundle bundle;
  (void)bundle.submit(std::vector<JobSpec>(7, job_now({})));
  run_to_next_minute(bundle);
  const auto rows = every_page(bundle, {.what = "figures"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(number_of(rows.front(), "backlog"), 7);
  EXPECT_EQ(number_of(rows.front(), "workers"), 0);
  EXPECT_EQ(levels_of(bundle, "default"), (GroupLevels{.due = 7}));
}

TEST(Figures, IdleGroupsHaveNoRows) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  (void)bundle.submit(job_now("a"));
  run_to_next_minute(bundle);
  worker.leave();
  run_to_next_minute(bundle);
  const std::size_t before = bundle.tables().figures.size();
  for (int i = 0; i < 5; ++i) run_to_next_minute(bundle);
  EXPECT_THAT(bundle.tables().figures, SizeIs(before));
}

TEST(Figures, AreSelectedByTimeAndGroup) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.add_worker({.group = "other-group"});
  const WallTime began = bundle.now();
  for (int i = 0; i < 6; ++i) run_to_next_minute(bundle);
  const auto all = every_page(bundle, {.what = "figures"});
  const auto of_default = every_page(bundle, {.what = "figures", .group = "default"});
  EXPECT_EQ(all.size(), 2 * of_default.size());
  const auto late =
      every_page(bundle, {.what = "figures",
                          .group = "default",
                          .since_us = (began + minutes{2}).time_since_epoch().count(),
                          .until_us = (began + minutes{4}).time_since_epoch().count()});
  EXPECT_THAT(late, SizeIs(2));
  EXPECT_THAT(every_page(bundle, {.what = "figures", .limit = 1}), SizeIs(all.size()));
}

TEST(Figures, AreDeletedAfterSomeDays) {
  TrackerBundle bundle({.tracker = {.retention = {.figures = minutes{5}}}});
  bundle.add_worker();
  for (int i = 0; i < 12; ++i) run_to_next_minute(bundle);
  EXPECT_THAT(bundle.tables().figures, SizeIs(AllOf(Ge(3u), Le(7u))));
}

TEST(Figures, OfOneMinuteAtMostWaitForAStoreThatIsAway) {
  TrackerBundle bundle;
  bundle.add_worker();
  run_to_next_minute(bundle);
  run_to_next_minute(bundle);
  const std::size_t before = bundle.tables().figures.size();
  bundle.connection().away_until = bundle.clock.steady_now() + minutes{8};
  for (int i = 0; i < 9; ++i) run_to_next_minute(bundle);
  EXPECT_THAT(bundle.tables().figures, SizeIs(AllOf(Ge(before), Le(before + 3))));
}

TEST(Figures, LevelsOfAnotherJobTrackersGroupAreReadFromTheStore) {
  TrackerBundle first({.start = false, .wanted = Partitions{}});
  TrackerBundle second({.start = false, .wanted = Partitions{}, .beside = &first});
  const auto group = first.database.make_group("theirs", first.now()).value().id;
  Partitions owned;
  owned.set(static_cast<std::size_t>(partition_of(group)));
  first.want(~owned);
  second.want(owned);
  for (TrackerBundle* one : {&first, &second}) {
    one->start_tracker();
    one->run_until([one] { return one->tracker().is_ready(); });
  }
  auto& worker = second.add_worker({.group = "theirs", .threads = 2});
  worker.behaviour = [](const auto&, const auto&) { return FakeRun{.time = minutes{30}}; };
  std::vector<JobSpec> jobs(5, job_now({}));
  for (JobSpec& job : jobs) job.group = "theirs";
  second.run_for(seconds{3});
  (void)second.submit(jobs);
  second.run_for(seconds{30});
  const GroupLevels all{.due = 3, .executing = 2, .workers = 1, .threads = 2};
  EXPECT_EQ(levels_of(second, "theirs"), all);
  EXPECT_EQ(levels_of(first, "theirs"), all);
}

TEST(Figures, LevelsOfAnUnknownGroupAreAnError) {
  TrackerBundle bundle;
  std::optional<ErrorCode> code;
  bundle.tracker().ask_levels("nowhere", [&](const Result<GroupLevels>& levels) {
    code = levels.ok() ? std::optional<ErrorCode>{} : levels.error().code;
  });
  EXPECT_EQ(code, ErrorCode::kNotFound);
}

TEST(TrackerMetrics, EachGroupHasItsOutcomesAndTimes) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 3});
  (void)bundle.submit({job_now("a"), job_now("b")});
  ASSERT_TRUE(bundle.run_until([&] { return bundle.stat("attempts_ended_total") == 2; }));
  const std::string text = to_prometheus_text(metrics_of(bundle.tracker().metrics()));
  for (const char* line :
       {"carillon_jobs_submitted_total 2",
        "carillon_group_jobs_submitted_total{group=\"default\",kind=\"now\"} 2",
        "carillon_group_attempts_started_total{group=\"default\"} 2",
        "carillon_group_attempts_ended_total{group=\"default\",outcome=\"succeeded\"} 2",
        "carillon_group_attempts_ended_total{group=\"default\",outcome=\"failed\"} 0",
        "carillon_group_lateness_seconds_count{group=\"default\"} 2",
        "carillon_group_run_seconds_count{group=\"default\"} 2",
        "carillon_group_queue_wait_seconds_count{group=\"default\"} 2",
        "carillon_group_workers{group=\"default\"} 1",
        "carillon_group_threads{group=\"default\"} 3"}) {
    EXPECT_THAT(text, HasSubstr(std::string{line} + "\n"));
  }
}

TEST(TrackerMetrics, EveryNumberHasAHelpText) {
  TrackerBundle bundle;
  for (const Metric& metric : metrics_of(bundle.tracker().metrics()))
    EXPECT_THAT(metric.help, Not(IsEmpty())) << metric.name;
}

TEST(TrackerMetrics, GroupsBeyondTheLimitShareOneName) {
  TrackerBundle bundle;
  std::vector<JobSpec> jobs;
  for (std::size_t i = 0; i < kNamedGroupsMax + 20; ++i) {
    jobs.push_back(job_now({}));
    jobs.back().group = "group-" + std::to_string(i);
  }
  jobs.push_back(job_now({}));
  jobs.back().group = kOtherGroups;  // a real group of this name
  (void)bundle.submit(jobs);
  const TrackerMetrics metrics = bundle.tracker().metrics();
  ASSERT_THAT(metrics.groups, SizeIs(kNamedGroupsMax + 1));
  EXPECT_EQ(metrics.groups.back().name, kOtherGroups);
  EXPECT_EQ(metrics.groups.back().counts.submitted[0], 21);
}

TEST(TrackerMetrics, GroupsKeepTheirCountsInTheNextSession) {
  TrackerBundle bundle;
  bundle.add_worker();
  (void)bundle.submit(job_now("a"));
  ASSERT_TRUE(bundle.run_until([&] { return bundle.stat("attempts_ended_total") == 1; }));
  bundle.begin_next_session();
  ASSERT_TRUE(bundle.run_until([&] { return bundle.tracker().is_ready(); }));
  const TrackerMetrics metrics = bundle.tracker().metrics();
  ASSERT_THAT(metrics.groups, SizeIs(1));
  EXPECT_EQ(metrics.groups.front().counts.started, 1);
}

}  // namespace
}  // namespace carillon::jobtracker
