#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// What a run sets off when it has succeeded.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec parent_of(JobSpec parent, const std::vector<std::string>& children) {
  for (const std::string& child : children) parent.children.push_back({.task_id = child});
  return parent;
}

TEST(Children, AreTriggeredOncePerSuccessAndKeepTheirNextFire) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec scheduled = job_every("scheduled", hours{1});
  scheduled.schedule.first = bundle.now() + minutes{30};
  scheduled.priority = 7;
  JobSpec by_hand = job_manual("by hand");
  by_hand.overlap = Overlap::kParallel;
  bundle.submit({by_hand, scheduled});
  const WallTime next_fire = bundle.definition("scheduled")->next_fire;
  bundle.submit(parent_of(job_now("once"), {"by hand", "scheduled"}));
  JobSpec twice = parent_of(job_every("twice", seconds{10}), {"by hand"});
  twice.schedule.count = 2;
  bundle.submit(twice);
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("by hand"), SizeIs(3));
  EXPECT_THAT(bundle.runs_of("scheduled"), SizeIs(1));
  EXPECT_EQ(bundle.definition("scheduled")->next_fire, next_fire);
  EXPECT_EQ(bundle.log("once").front().message, "");
  bundle.run_for(minutes{30});
  EXPECT_THAT(bundle.runs_of("scheduled"), SizeIs(2)) << "its own fire came too";
}

TEST(Children, RunWithTheirOwnPriorityAndPayload) {
  TrackerBundle bundle;
  JobSpec child = job_manual("child");
  child.priority = 300;
  child.payload = "its own";
  bundle.submit(child);
  JobSpec parent = parent_of(job_now("parent"), {"child"});
  parent.payload = "the parent's";
  FakeWorker& worker = bundle.add_worker({.threads = 1});
  worker.behaviour = [](const auto&, const JobSpec& spec) {
    return FakeRun{.time = seconds{5}, .message = spec.payload};
  };
  bundle.submit(parent);
  bundle.run_for(seconds{2});
  bundle.submit(job_now("ordinary"));
  bundle.run_for(minutes{1});
  std::vector<std::string> order;
  for (const auto& run : bundle.runs()) order.push_back(run.task_id);
  EXPECT_THAT(order, ElementsAre("parent", "ordinary", "child"));
  ASSERT_THAT(bundle.log("child"), SizeIs(1));
  EXPECT_EQ(bundle.log("child").front().message, "its own");
}

TEST(Children, AreTriggeredOnlyByASuccess) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4}).behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    if (job.task_id == "fails") return FakeRun{.outcome = wire::RunOutcome::kFailed};
    if (job.task_id == "is cancelled") return FakeRun{.time = seconds{20}};
    return FakeRun{.outcome = job.task_id == "is retried" && job.id.attempt < 3
                                  ? wire::RunOutcome::kException
                                  : wire::RunOutcome::kSucceeded};
  };
  bundle.submit({job_manual("a"), job_manual("b"), job_manual("c")});
  JobSpec retried = parent_of(job_now("is retried"), {"b"});
  retried.retries = {.max = 3, .base = seconds{1}};
  bundle.submit(
      {parent_of(job_now("fails"), {"a"}), retried, parent_of(job_now("is cancelled"), {"c"})});
  bundle.run_for(seconds{2});
  bundle.act(wire::Verb::kCancel, "is cancelled");
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("a"), IsEmpty());
  EXPECT_THAT(bundle.runs_of("b"), SizeIs(1));
  EXPECT_THAT(bundle.runs_of("c"), IsEmpty());
}

TEST(Children, NotTriggeredAreNamedInTheParentRow) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 4});
  worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.time = job.task_id == "slow" ? hours{1} : milliseconds{10},
                   .message = job.task_id == "parent" ? "all is well" : ""};
  };
  JobSpec queued = job_manual("queued");
  queued.overlap = Overlap::kQueue;
  bundle.submit({job_manual("slow"), queued, job_manual("gone")});
  bundle.act(wire::Verb::kTrigger, "slow");
  bundle.run_for(seconds{1});
  bundle.act(wire::Verb::kCancel, "gone");
  JobSpec parent = parent_of(job_now("parent"), {"slow", "gone", "queued"});
  parent.children.push_back({.group = "nobody", .task_id = "x"});
  EXPECT_EQ(bundle.submit(parent).warning, "not defined yet: default/gone, nobody/x");
  bundle.run_for(seconds{5});
  const auto log = bundle.log("parent");
  ASSERT_THAT(states(log), ElementsAre(LogState::kSucceeded));
  EXPECT_EQ(log.front().message,
            "not triggered: default/slow was already running, default/gone is not defined, "
            "nobody/x is not defined; all is well");
  EXPECT_THAT(bundle.runs_of("slow"), SizeIs(1));
  EXPECT_THAT(bundle.runs_of("queued"), SizeIs(1));
}

TEST(Children, SubmittedTogetherWithTheirParentCauseNoWarning) {
  for (const bool is_child_first : {true, false}) {
    TrackerBundle bundle;
    bundle.add_worker();
    bundle.run_for(seconds{1});
    std::vector<JobSpec> jobs{job_manual("child"), parent_of(job_manual("parent"), {"child", "x"})};
    if (!is_child_first) std::reverse(jobs.begin(), jobs.end());
    const auto answers = bundle.submit(std::move(jobs));
    EXPECT_EQ(answers.answers.at(is_child_first ? 1 : 0).warning, "not defined yet: default/x");
  }
}

TEST(Children, OfAChainRunInOrder) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(parent_of(job_manual("first"), {"second"}));
  bundle.submit(parent_of(job_manual("second"), {"third"}));
  bundle.submit(job_manual("third"));
  bundle.act(wire::Verb::kTrigger, "first");
  bundle.run_for(seconds{5});
  std::vector<std::string> order;
  for (const auto& run : bundle.runs()) order.push_back(run.task_id);
  EXPECT_THAT(order, ElementsAre("first", "second", "third"));
}

// The job tracker dies at every moment around the end of the parent's run, before and after its
// commit has begun.
TEST(Children, RunOnceWheneverTheJobTrackerDies) {
  for (const bool commit_lands : {false, true}) {
    for (int moment = -2000; moment < 6000; moment += 200) {
      SCOPED_TRACE(::testing::Message() << commit_lands << ' ' << moment);
      TrackerBundle bundle;
      FakeWorker& worker = bundle.add_worker();
      bundle.submit(job_manual("child"));
      bundle.run_for(seconds{2});
      runs_take(worker, seconds{1});
      bundle.submit(parent_of(job_now("parent"), {"child"}));
      ASSERT_TRUE(bundle.run_until([&] { return worker.busy() > 0; }));
      bundle.run_for(seconds{1} + Duration{moment});
      bundle.restart_after(milliseconds{100}, commit_lands);
      bundle.run_for(minutes{1});
      EXPECT_THAT(bundle.runs_of("parent"), SizeIs(1));
      EXPECT_THAT(bundle.runs_of("child"), SizeIs(1)) << bundle.story("child");
    }
  }
}

TEST(Children, AreTriggeredOnceByARepeatedResult) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker();
  runs_take(worker, seconds{1});
  bundle.submit(job_manual("child"));
  bundle.submit(parent_of(job_now("parent"), {"child"}));
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() > 0; }));
  worker.lose_frames(true);  // It does not hear that its result is known.
  bundle.run_for(milliseconds{2500});
  worker.lose_frames(false);
  bundle.run_for(minutes{1});
  EXPECT_GE(bundle.stat("late_reports_total"), 1);
  EXPECT_THAT(bundle.log("parent"), SizeIs(1));
  std::set<JobId> children;
  for (const auto& run : bundle.runs_of("child")) children.insert(run.id.job_id);
  EXPECT_THAT(children, SizeIs(1));
}

TEST(Children, AreTriggeredThoughTheirParentIsSuspendedDuringTheRun) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker();
  runs_take(worker, seconds{5});
  bundle.submit({job_manual("child"), parent_of(job_every("parent", hours{1}), {"child"})});
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() > 0; }));
  bundle.act(wire::Verb::kSuspend, "parent");
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("child"), SizeIs(1));
}

// Two job trackers, of which the first looks after group alpha and hears up to a second later what
// groups the second has made.
struct TwoJobTrackers {
  TrackerBundle first{{.wanted = Partitions{}.set(1)}};
  TrackerBundle second{{.wanted = Partitions{}.set(2), .beside = &first}};

  TwoJobTrackers() {
    first.add_worker({.group = "alpha"});
    first.run_for(seconds{3});
    EXPECT_EQ(first.tables().groups.at(GroupId{1}).name, "alpha");
    EXPECT_EQ(first.tables().groups.size(), 1U) << "nobody has made beta yet";
  }

  static JobSpec parent() {
    JobSpec parent = job_now("parent");
    parent.group = "alpha";
    parent.children.push_back({.group = "beta", .task_id = "child"});
    return parent;
  }
  void define_child() {
    JobSpec child = job_manual("child");
    child.group = "beta";
    EXPECT_EQ(second.submit(child).status, wire::SubmitStatus::kAccepted);
    second.add_worker({.group = "beta"});
  }
};

TEST(Children, AreFoundInGroupsJustCreatedByAnotherJobTracker) {
  TwoJobTrackers two;
  two.define_child();
  EXPECT_EQ(two.first.submit(two.parent()).warning, "");
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.second.runs_of("child"), SizeIs(1));
}

TEST(Children, AreTriggeredInAGroupCreatedWhileTheParentRuns) {
  TwoJobTrackers two;
  runs_take(*two.first.workers()[0], milliseconds{300});
  EXPECT_EQ(two.first.submit(two.parent()).warning, "not defined yet: beta/child");
  two.define_child();
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.second.runs_of("child"), SizeIs(1));
  const auto log = two.first.log("parent");
  ASSERT_THAT(log, SizeIs(1));
  EXPECT_EQ(log.front().message, "");
}

TEST(Children, AreTriggeredLaterWhenTheirGroupCannotBeRead) {
  TwoJobTrackers two;
  runs_take(*two.first.workers()[0], milliseconds{300});
  two.first.submit(two.parent());
  two.define_child();
  const auto nothing = two.first.connection().refuses;
  two.first.connection().refuses = [](const Read& question) {
    return std::holds_alternative<FindGroup>(question);
  };
  two.first.run_for(milliseconds{500});
  EXPECT_THAT(two.first.log("parent"), IsEmpty()) << "its end waits";
  two.first.connection().refuses = nothing;
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.second.runs_of("child"), SizeIs(1));
  EXPECT_THAT(two.first.log("parent"), SizeIs(1));
}

// They are asked for together.
TEST(Children, InAMissingGroupCostFewReads) {
  TwoJobTrackers two;
  runs_take(*two.first.workers()[0], milliseconds{300});
  std::vector<JobSpec> parents;
  for (int i = 0; i < 100; ++i) {
    parents.push_back(two.parent());
    parents.back().task_id += "-" + std::to_string(i);
  }
  FakeWorker& many = two.first.add_worker({.group = "alpha", .threads = 100});
  runs_take(many, milliseconds{300});
  two.first.run_for(milliseconds{100});
  int questions = 0;
  two.first.submit(parents);
  two.first.connection().refuses = [&questions](const Read& question) {
    questions += std::holds_alternative<FindGroup>(question) ? 1 : 0;
    return false;
  };
  two.first.run_for(seconds{10});
  EXPECT_THAT(two.first.log(), SizeIs(100));
  EXPECT_GT(questions, 0);
  EXPECT_LT(questions, 20);
}

TEST(Children, InAMissingGroupAreNamedInTheParentRow) {
  TwoJobTrackers two;
  two.first.submit(two.parent());
  two.first.run_for(seconds{10});
  const auto log = two.first.log("parent");
  ASSERT_THAT(states(log), ElementsAre(LogState::kSucceeded));
  EXPECT_EQ(log.front().message, "not triggered: beta/child is not defined");
}

TEST(Children, LoopsAreRefusedWithTheirPath) {
  TrackerBundle bundle;
  const auto reason = [&bundle](const JobSpec& job) { return bundle.submit(job).reason; };
  EXPECT_EQ(reason(parent_of(job_manual("a"), {"a"})),
            "children form a loop: default/a > default/a");
  EXPECT_EQ(reason(parent_of(job_manual("a"), {"b"})), "") << "b is not defined yet";
  EXPECT_EQ(reason(parent_of(job_manual("b"), {"c", "d"})), "");
  EXPECT_EQ(reason(parent_of(job_manual("c"), {"x", "a"})),
            "children form a loop: default/c > default/a > default/b > default/c");
  JobSpec shouted = job_manual("d");
  shouted.children = {{.group = "DEFAULT", .task_id = "a"}};
  EXPECT_EQ(reason(shouted), "children form a loop: default/d > default/a > default/b > default/d");
  EXPECT_EQ(reason(parent_of(job_now("d"), {"a"})), "") << "what runs once is nobody's child";
  JobSpec replaced = parent_of(job_manual("b"), {"a"});
  replaced.replace_on_exist = true;
  EXPECT_EQ(reason(replaced), "children form a loop: default/b > default/a > default/b");
  replaced.children.clear();
  EXPECT_EQ(reason(replaced), "");
  EXPECT_EQ(reason(parent_of(job_manual("c"), {"a"})), "") << "b has no children any more";
}

TEST(Children, RefusedParentCarriesNoWarning) {
  TrackerBundle bundle;
  const auto answer = bundle.submit(parent_of(job_manual("a"), {"a", "not defined"}));
  EXPECT_EQ(answer.reason, "children form a loop: default/a > default/a");
  EXPECT_EQ(answer.warning, "");
}

TEST(Children, LoopsWithinAMessageOrAcrossTwoAreRefused) {
  TrackerBundle bundle;
  bundle.run_for(seconds{1});
  const auto together = bundle.submit(
      {parent_of(job_manual("a"), {"b"}), parent_of(job_manual("b"), {"a"}), job_manual("c")});
  ASSERT_THAT(together.answers, SizeIs(3));
  EXPECT_EQ(together.answers[0].status, wire::SubmitStatus::kAccepted);
  EXPECT_THAT(together.answers[1].reason, HasSubstr("children form a loop"));
  EXPECT_EQ(together.answers[2].status, wire::SubmitStatus::kAccepted);
  bundle.connection().work_time = [] { return milliseconds{300}; };
  bundle.client.submit({parent_of(job_manual("x"), {"y"})});
  const auto crossing = bundle.submit(parent_of(job_manual("y"), {"x"}));
  EXPECT_THAT(crossing.reason, HasSubstr("children form a loop"));
  bundle.run_for(seconds{2});
  EXPECT_EQ(bundle.submit(job_manual("y")).status, wire::SubmitStatus::kAccepted);
}

}  // namespace
}  // namespace carillon::jobtracker
