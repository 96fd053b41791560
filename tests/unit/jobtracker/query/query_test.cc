#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/time_text.h"
#include "tests/support/query_pages.h"

// What people ask, over as many pages as it takes.
namespace carillon::jobtracker {
namespace {

using carillon::testing::every_page;
using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::number_of;
using carillon::testing::text_of;
using carillon::testing::texts_of;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(Query, FiltersWaitingJobsByTask) {
  TrackerBundle bundle;
  JobSpec often = job_cron("often", "0/5 * * * * ?");
  often.overlap = Overlap::kParallel;
  std::vector<JobSpec> jobs{often, job_at("later", bundle.now() + minutes{50})};
  for (int i = 0; i < 900; ++i) jobs.push_back(job_now("other-" + std::to_string(i)));
  bundle.submit(jobs);
  bundle.run_for(seconds{1});
  const auto of_often = every_page(bundle, {.what = "waiting", .task_id = "often"});
  EXPECT_EQ(of_often.size(), bundle.waiting("often").size());
  EXPECT_THAT(texts_of(of_often, "task_id"), Each("often"));
  const auto two_at_a_time =
      every_page(bundle, {.what = "waiting", .task_id = "often", .limit = 2});
  EXPECT_EQ(texts_of(two_at_a_time, "job_id"), texts_of(of_often, "job_id"));
  EXPECT_THAT(every_page(bundle, {.what = "waiting", .task_id = "later"}), SizeIs(1));
  EXPECT_THAT(every_page(bundle, {.what = "waiting", .task_id = "nobody"}), IsEmpty());
  EXPECT_THAT(every_page(bundle, {.what = "waiting", .limit = 250}), SizeIs(901 + of_often.size()));
}

TEST(Query, FiltersExecutingJobsAndDefinitionsByTask) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4}).behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = minutes{5}};
  };
  bundle.submit({job_now("a"), job_now("b"), job_manual("c"), job_manual("d")});
  bundle.run_for(seconds{1});
  const auto tasks = [&](const std::string& what, const std::string& task_id) {
    return texts_of(every_page(bundle, {.what = what, .task_id = task_id}), "task_id");
  };
  EXPECT_THAT(tasks("executing", ""), SizeIs(2));
  EXPECT_THAT(tasks("executing", "b"), ElementsAre("b"));
  EXPECT_THAT(tasks("executing", "c"), IsEmpty());
  EXPECT_THAT(tasks("list", ""), ElementsAre("c", "d"));
  EXPECT_THAT(tasks("list", "d"), ElementsAre("d"));
  EXPECT_THAT(tasks("list", "a"), IsEmpty());
}

TEST(Query, FindsRareHistoryStatesInOnePage) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 8}).behaviour = [](const wire::HandedJob& job, const auto&) {
    const bool fails = job.task_id == "rare";
    return FakeRun{.outcome = fails ? wire::RunOutcome::kFailed : wire::RunOutcome::kSucceeded};
  };
  bundle.submit({job_now("rare")});
  bundle.run_for(seconds{1});
  for (int i = 0; i < 50; ++i) bundle.submit({job_now("often-" + std::to_string(i))});
  bundle.run_for(seconds{5});
  const auto asked =
      bundle.client.query({.what = "history", .limit = 1, .states = {"failed", "killed"}});
  bundle.run_until([&] { return bundle.client.answer_to_query(asked) != nullptr; });
  const auto page = std::get<wire::Rows>(*bundle.client.answer_to_query(asked));
  EXPECT_THAT(texts_of(page.rows, "task_id"), ElementsAre("rare"));
}

TEST(Query, DoesNotRestartWhenItsClientResendsIt) {
  TrackerBundle bundle;
  bundle.run_for(seconds{1});  // It reads other things at its start.
  int reads = 0;
  bundle.on_read = [&reads](const Result<ReadAnswer>&) { ++reads; };
  const wire::Query question{.what = "history"};
  const auto asked = bundle.client.query(question);
  bundle.client.query_again(asked, question);
  bundle.run_for(seconds{1});
  EXPECT_NE(bundle.client.answer_to_query(asked), nullptr);
  EXPECT_EQ(reads, 1);
  bundle.client.query_again(asked, question);  // The answer was lost.
  bundle.run_for(seconds{1});
  EXPECT_EQ(reads, 2);
}

TEST(Query, ReadsThePagesOfManyGroupsAtOnce) {
  TrackerBundle bundle({.start = false});
  for (int i = 0; i < 200; ++i)
    bundle.database.make_group("group-" + std::to_string(i), bundle.now()).value();
  bundle.start_tracker();
  bundle.run_for(seconds{1});
  JobSpec job = job_at("later", bundle.now() + minutes{5});
  job.group = "group-77";
  JobSpec delayed = job_at("much later", bundle.now() + hours{5});
  delayed.group = "group-5";
  bundle.submit({job, delayed});
  bundle.run_for(seconds{1});
  int reads = 0;
  bundle.on_read = [&reads](const Result<ReadAnswer>&) { ++reads; };
  EXPECT_THAT(texts_of(every_page(bundle, {.what = "waiting"}), "task_id"),
              ElementsAre("later", "much later"));
  EXPECT_EQ(reads, 2);
}

TEST(Query, ShowsTheTriggerTimeAndDueTimeOfARetry) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.outcome = wire::RunOutcome::kException};
  };
  const WallTime at = bundle.now() + seconds{5};
  for (const auto base : {minutes{5}, minutes{50}}) {  // in the group's table, and delayed
    JobSpec job = job_at("retried-" + std::to_string(base.count()), at);
    job.retries = {.max = 1, .base = base};
    bundle.submit(job);
  }
  bundle.submit(job_at("far", at + minutes{30}));
  bundle.run_for(seconds{6});
  const auto rows = every_page(bundle, {.what = "waiting", .limit = 1});
  EXPECT_THAT(texts_of(rows, "task_id"), ElementsAre("retried-5", "far", "retried-50"));
  EXPECT_THAT(texts_of(rows, "trigger_time"),
              ElementsAre(format_time(at), format_time(at + minutes{30}), format_time(at)));
  const auto due = texts_of(rows, "due_time");
  EXPECT_EQ(due[1], format_time(at + minutes{30}));
  EXPECT_GE(due[0], format_time(at + minutes{5}));
  EXPECT_LE(due[0], format_time(at + minutes{5} + seconds{1}));
}

TEST(Query, ShowsATriggeredRunWithThePriorityOfItsJob) {
  TrackerBundle bundle;
  JobSpec manual = job_manual("manual");
  manual.priority = 7;
  JobSpec once = job_at("once", bundle.now() + minutes{1});
  once.priority = 300;
  bundle.submit({manual, once});
  bundle.act(wire::Verb::kTrigger, "manual");
  bundle.act(wire::Verb::kTrigger, "once");
  std::map<std::string, std::int64_t> priorities;
  for (const wire::Row& row : every_page(bundle, {.what = "waiting"})) {
    priorities[text_of(row, "task_id")] = number_of(row, "priority");
  }
  EXPECT_THAT(priorities, ElementsAre(Pair("manual", 7), Pair("once", 300)));
  const auto shown = every_page(bundle, {.what = "show", .group = "default", .task_id = "once"});
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(number_of(shown[0], "priority"), 300);
}

// All of its fires have been made by then.
TEST(Query, ShowsACountedScheduleAsActiveUntilItsLastFire) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = minutes{5}};
  };
  JobSpec counted = job_every("counted", minutes{1});
  counted.schedule.count = 3;
  counted.overlap = Overlap::kParallel;
  bundle.submit(counted);
  const WallTime first = bundle.now();
  bundle.run_for(seconds{70});
  const auto counted_row = [&] {
    return every_page(bundle, {.what = "list", .task_id = "counted"}).at(0);
  };
  EXPECT_EQ(text_of(counted_row(), "state"), "active");
  const auto next = parse_time(text_of(counted_row(), "next_fire"));
  ASSERT_TRUE(next.ok());
  EXPECT_GT(next.value(), bundle.now());
  EXPECT_LT(next.value(), first + minutes{3});
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(bundle.act(wire::Verb::kTrigger, "counted")));

  bundle.run_for(minutes{2});
  EXPECT_EQ(text_of(counted_row(), "state"), "ended");
  EXPECT_EQ(text_of(counted_row(), "next_fire"), "");
  EXPECT_FALSE(std::holds_alternative<wire::Acted>(bundle.act(wire::Verb::kTrigger, "counted")));
}

TEST(Query, DistinguishesWorkersWithTheSameName) {
  TrackerBundle bundle;
  bundle.add_worker({.name = "w", .address = "host-1 pid 4"});
  bundle.add_worker({.name = "w", .address = "host-1 pid 5"});
  bundle.add_worker({.name = "w",
                     .address = "host-2 pid 4",
                     .group = "ops",
                     .labels = {{"zone", "a"}, {"disk", "ssd"}}});
  bundle.run_for(seconds{1});
  const auto all = every_page(bundle, {.what = "nodes"});
  EXPECT_THAT(texts_of(all, "address"),
              ElementsAre("host-1 pid 4", "host-1 pid 5", "host-2 pid 4"));
  const auto ops = every_page(bundle, {.what = "nodes", .group = "ops"});
  EXPECT_THAT(texts_of(ops, "labels"), ElementsAre("disk=ssd,zone=a"));
}

TEST(Query, SortsNodesByGroupAndNameWithGoneNodesLast) {
  TrackerBundle bundle;
  bundle.add_worker({.name = "z", .address = "1", .group = "b"});
  FakeWorker& first = bundle.add_worker({.name = "y", .address = "2", .group = "a"});
  bundle.add_worker({.name = "x", .address = "3", .group = "b"});
  bundle.add_worker({.name = "x", .address = "4", .group = "b"});
  bundle.run_for(seconds{1});
  const auto addresses = [&] { return texts_of(every_page(bundle, {.what = "nodes"}), "address"); };
  EXPECT_THAT(addresses(), ElementsAre("2", "3", "4", "1"));
  first.die();
  bundle.run_for(seconds{10});
  EXPECT_THAT(addresses(), ElementsAre("3", "4", "1", "2"));
  EXPECT_THAT(texts_of(every_page(bundle, {.what = "nodes"}), "state"),
              ElementsAre("alive", "alive", "alive", "gone"));
}

TEST(Query, ShowsOverloadedTaskTrackers) {
  TrackerBundle bundle;
  FakeWorker& busy = bundle.add_worker({.name = "a"});
  bundle.add_worker({.name = "b"});
  const auto states = [&] {
    bundle.run_for(seconds{1});
    return texts_of(every_page(bundle, {.what = "nodes"}), "state");
  };
  EXPECT_THAT(states(), ElementsAre("alive", "alive"));
  busy.overload("cpu 97%");
  EXPECT_THAT(states(), ElementsAre("overloaded", "alive"));
  EXPECT_EQ(bundle.stat("workers_overloaded"), 1);
  busy.send_register_again();
  EXPECT_THAT(states(), ElementsAre("overloaded", "alive"));
  bundle.submit({job_now("1"), job_now("2"), job_now("3")});
  bundle.run_for(seconds{5});
  EXPECT_THAT(busy.runs(), IsEmpty());
  busy.overload("");
  EXPECT_THAT(states(), ElementsAre("alive", "alive"));
  EXPECT_EQ(bundle.stat("workers_overloaded"), 0);
}

TEST(Query, SaysWhyADueJobWaitsWhereNoThreadIsFree) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.name = "a", .threads = 1});
  worker.behaviour = [](const auto&, const JobSpec&) { return FakeRun{.time = seconds{60}}; };
  bundle.submit({job_now("1")});
  bundle.run_for(seconds{1});
  bundle.submit({job_now("2")});
  bundle.run_for(seconds{1});
  const auto reason = [&] {
    return text_of(every_page(bundle, {.what = "show", .group = "default", .task_id = "2"}).at(0),
                   "reason");
  };
  EXPECT_EQ(reason(), "no task tracker of group 'default' has a free thread: 1 thread busy");
  worker.overload("cpu 97%");
  bundle.run_for(seconds{1});
  EXPECT_EQ(reason(),
            "no task tracker of group 'default' has a free thread: overloaded (a cpu 97%)");
}

TEST(Query, ShowsDrainingTaskTrackers) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.name = "a"});
  worker.behaviour = [](const auto&, const JobSpec&) { return FakeRun{.time = seconds{10}}; };
  bundle.submit({job_now("1")});
  const auto states = [&] {
    bundle.run_for(seconds{1});
    return texts_of(every_page(bundle, {.what = "nodes"}), "state");
  };
  EXPECT_THAT(states(), ElementsAre("alive"));
  worker.leave();
  EXPECT_THAT(states(), ElementsAre("draining"));
  worker.send_register_again();
  EXPECT_THAT(states(), ElementsAre("draining"));
  bundle.run_for(seconds{10});
  EXPECT_THAT(states(), ElementsAre("gone"));
}

TEST(Query, ShowsOneWeekOfHistoryUnlessConfigured) {
  EXPECT_EQ(RetentionConfig{}.log, hours{24 * 7});
  TrackerBundle bundle({.tracker = {.retention = {.log = hours{2}}}});
  bundle.add_worker();
  bundle.submit(job_now("old"));
  bundle.run_for(minutes{90});
  bundle.submit(job_now("new"));
  const auto tasks = [&] { return texts_of(every_page(bundle, {.what = "history"}), "task_id"); };
  bundle.run_for(minutes{29});
  EXPECT_THAT(tasks(), ElementsAre("new", "old")) << "a row for each run";
  bundle.run_for(minutes{3});
  EXPECT_THAT(tasks(), ElementsAre("new"));
}

}  // namespace
}  // namespace carillon::jobtracker
