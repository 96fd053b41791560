#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/job/bucket.h"
#include "tests/support/tracker_bundle.h"

// Who is told of node groups that are not as they should be, and of the end of it.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using wire::RunOutcome;

const std::string kTo = "ops@example.com";

// A job tracker with these rules.
struct Watched {
  explicit Watched(const std::vector<std::string>& rules) {
    AlarmConfig config{.recipients = {kTo}};
    for (const std::string& rule : rules) config.rules.push_back(parse_alarm_rule(rule).value());
    bundle = std::make_unique<TrackerBundle>(
        TrackerBundle::Options{.tracker = {.alarms = std::move(config)}});
  }

  std::vector<std::string> subjects() const {
    std::vector<std::string> all;
    for (const net::Delivery& one : bundle->courier.to(kTo)) all.push_back(one.subject);
    return all;
  }
  void submit_many(int jobs, const std::string& group = "default") {
    std::vector<JobSpec> specs;
    for (int i = 0; i < jobs; ++i) {
      specs.push_back(job_now("job-" + std::to_string(i)));
      specs.back().group = group;
    }
    bundle->submit(std::move(specs));
  }

  std::unique_ptr<TrackerBundle> bundle{};
};

TEST(GroupWatch, UnservedGroupSendsAnAlarmOnceAndAnotherOnRecovery) {
  Watched w{{"unserved=1m"}};
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.subjects(), IsEmpty()) << "nobody is needed";
  w.submit_many(3);
  w.bundle->run_for(seconds{55});
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.bundle->run_for(seconds{30});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  EXPECT_EQ(w.subjects()[0],
            "[carillon] default: unserved: 0 task trackers, 3 due jobs (limit 1m)");
  w.bundle->run_for(hours{1});
  EXPECT_THAT(w.subjects(), SizeIs(1)) << "once";

  w.bundle->add_worker();
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], AllOf(HasSubstr("unserved is over after 1h"),
                                     HasSubstr(": 1 task tracker, 0 due jobs")));
  w.bundle->run_for(hours{1});
  EXPECT_THAT(w.subjects(), SizeIs(2));
}

TEST(GroupWatch, TaskTrackerThatReturnsWithinTheLimitSendsNoAlarm) {
  Watched w{{"unserved=1m"}};
  for (int i = 0; i < 5; ++i) {
    w.bundle->submit(job_now("job-" + std::to_string(i)));
    w.bundle->run_for(seconds{40});
    auto& worker = w.bundle->add_worker();
    w.bundle->run_for(seconds{30});
    worker.die();
    w.bundle->run_for(seconds{10});
  }
  EXPECT_THAT(w.subjects(), IsEmpty());
}

TEST(GroupWatch, ServedGroupIsNeverUnservedDespiteABacklog) {
  Watched w{{"unserved=1m"}};
  w.bundle->add_worker({.threads = 1}).behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = seconds{30}};
  };
  w.submit_many(20);
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.subjects(), IsEmpty());
}

TEST(GroupWatch, StarvedJobTriggersLateAlarmDespiteUrgentJobs) {
  Watched w{{"late=5m"}};
  w.bundle->add_worker({.threads = 1}).behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = seconds{30}};
  };
  JobSpec starved = job_now("starved");
  starved.priority = 900;
  w.bundle->submit(job_every("urgent", seconds{10}));
  w.bundle->run_for(seconds{11});
  w.bundle->submit(std::move(starved));
  std::vector<JobSpec> more;
  for (int i = 0; i < 30; ++i) more.push_back(job_now("more-" + std::to_string(i)));
  w.bundle->submit(std::move(more));
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.bundle->run_for(seconds{30});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  EXPECT_THAT(w.subjects()[0],
              AllOf(HasSubstr("late: "), HasSubstr(" due jobs, the first for 5m")));
  w.bundle->run_for(minutes{30});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], HasSubstr("late is over after "));
}

TEST(GroupWatch, BacklogAlarmStartsAtItsLimitAndEndsBelowIt) {
  Watched w{{"backlog=100"}};
  w.submit_many(99);
  w.bundle->run_for(minutes{2});
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.bundle->submit(job_now("one more"));
  w.bundle->run_for(minutes{2});
  EXPECT_THAT(w.subjects(),
              ElementsAre("[carillon] default: backlog: 100 due jobs (limit 100 jobs)"));
  w.bundle->add_worker();
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], HasSubstr("backlog is over after "));
}

TEST(GroupWatch, OverloadAlarmNamesTaskTrackersOverloadedForTheWholeLimit) {
  Watched w{{"overload=1m"}};
  auto& one = w.bundle->add_worker({.name = "host-1"});
  auto& two = w.bundle->add_worker({.name = "host-2"});
  w.bundle->add_worker({.name = "host-3"});
  for (int i = 0; i < 5; ++i) {
    two.overload("memory 92%");
    w.bundle->run_for(seconds{45});
    two.overload("");
    w.bundle->run_for(seconds{15});
  }
  EXPECT_THAT(w.subjects(), IsEmpty()) << "never for so long";
  one.overload("cpu 97%");
  w.bundle->run_for(seconds{50});
  EXPECT_THAT(w.subjects(), IsEmpty());
  two.overload("memory 92%");
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.subjects(),
              ElementsAre("[carillon] default: overload: 2 of 3 task trackers: host-1 "
                          "(cpu 97%), host-2 (memory 92%) (limit 1m)"));
  one.overload("");
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.subjects(), SizeIs(1)) << "the other one is still";
  two.overload("");
  w.bundle->run_for(minutes{5});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1],
              AllOf(HasSubstr("overload is over after "), HasSubstr(": 0 of 3 task trackers")));
}

TEST(GroupWatch, OverloadEndsWhenTaskTrackersDieAndListsFive) {
  Watched w{{"overload=10s", "lab/overload=off"}};
  std::vector<carillon::testing::FakeWorker*> workers;
  for (int i = 1; i <= 7; ++i) {
    workers.push_back(&w.bundle->add_worker({.name = "host-" + std::to_string(i)}));
    workers.back()->overload("cpu 97%");
  }
  w.bundle->add_worker({.name = "lab-1", .group = "lab"}).overload("cpu 97%");
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  EXPECT_THAT(w.subjects()[0], AllOf(HasSubstr("7 of 7 task trackers: host-1 (cpu 97%), "),
                                     HasSubstr("host-5 (cpu 97%) and 2 more")));
  for (auto* worker : workers) worker->die();
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], HasSubstr("overload is over after "));
}

// What a run of the job that the worker was handed last writes.
void write(Watched& w, carillon::testing::FakeWorker& worker, std::int64_t sequence,
           const std::string& text) {
  worker.send(wire::Output{.session = worker.session(),
                           .chunks = {{.id = worker.handed().back(),
                                       .sequence = sequence,
                                       .at = w.bundle->clock.wall_now(),
                                       .bytes = text}}});
  w.bundle->run_for(seconds{1});
}

TEST(GroupWatch, OutputAlarmEndsFiveMinutesAfterTheLastMatch) {
  Watched w{{"output=OutOfMemory|disk full"}};
  auto& worker = w.bundle->add_worker();
  worker.behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = hours{2}};
  };
  w.bundle->submit(job_now("billing"));
  w.bundle->run_for(seconds{1});
  write(w, worker, 1, "all is well\n");
  w.bundle->run_for(minutes{1});
  EXPECT_THAT(w.subjects(), IsEmpty());
  write(w, worker, 2, "warning: disk f");
  write(w, worker, 3, "ull\n");
  w.bundle->run_for(minutes{1});
  EXPECT_THAT(w.subjects(),
              ElementsAre("[carillon] default: output: 'disk full' from billing, job " +
                          std::to_string(worker.handed().back().job_id.value)));
  w.bundle->run_for(minutes{2});
  write(w, worker, 4, "java.lang.OutOfMemoryError\n");
  w.bundle->run_for(minutes{4} + seconds{45});
  EXPECT_THAT(w.subjects(), SizeIs(1)) << "once, and it goes on";
  w.bundle->run_for(minutes{1});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1],
              AllOf(HasSubstr("output is over after 8m"), HasSubstr(": none for 5m")));
}

TEST(GroupWatch, OutputOfAGroupWithoutAnOutputRuleIsIgnored) {
  Watched w{{"lab/output=FATAL", "ops/output=off"}};
  auto& worker = w.bundle->add_worker();
  worker.behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = hours{2}};
  };
  w.bundle->submit(job_now("billing"));
  w.bundle->run_for(seconds{1});
  write(w, worker, 1, "FATAL\n");
  w.bundle->run_for(minutes{1});
  EXPECT_THAT(w.subjects(), IsEmpty());
}

TEST(GroupWatch, FailureRateCoversFiveMinutesOfRunsIncludingRetries) {
  Watched w{{"failures=50%"}};
  int runs = 0;
  bool is_broken = true;
  w.bundle->add_worker().behaviour = [&](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.outcome = is_broken && ++runs % 2 == 1 ? RunOutcome::kException
                                                           : RunOutcome::kSucceeded};
  };
  JobSpec job = job_every("a", seconds{5});
  job.alarm = {std::string{kNoAlarm}};
  job.retries = {.max = 3, .base = seconds{1}};
  w.bundle->submit(std::move(job));
  w.bundle->run_for(seconds{40});
  EXPECT_THAT(w.subjects(), IsEmpty()) << "fewer than twenty runs say nothing";
  w.bundle->run_for(seconds{60});
  ASSERT_THAT(w.subjects(), SizeIs(1)) << "though each job succeeds in the end";
  EXPECT_THAT(w.subjects()[0],
              AllOf(HasSubstr("failures: "), HasSubstr(" runs failed in 5m (limit 50%)")));
  is_broken = false;
  w.bundle->run_for(minutes{4});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], HasSubstr("failures is over after "));
}

TEST(GroupWatch, FailureAlarmEndsAfterFiveMinutesWithoutRuns) {
  Watched w{{"failures=50%"}};
  w.bundle->add_worker().behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.outcome = RunOutcome::kFailed};
  };
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(job_now("job-" + std::to_string(i)));
    jobs.back().alarm = {std::string{kNoAlarm}};
  }
  w.bundle->submit(std::move(jobs));
  w.bundle->run_for(minutes{1});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  w.bundle->run_for(minutes{6});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], HasSubstr("failures is over after 5m"));
}

TEST(GroupWatch, GroupRuleOverridesTheDefaultAndMayBeOff) {
  Watched w{{"backlog=10", "Reports/backlog=50", "lab/backlog=off"}};
  w.submit_many(20, "default");
  w.submit_many(20, "reports");
  w.submit_many(20, "lab");
  w.bundle->run_for(minutes{2});
  EXPECT_THAT(w.subjects(),
              ElementsAre("[carillon] default: backlog: 20 due jobs (limit 10 jobs)"));
}

TEST(GroupWatch, PersistingConditionIsSentAgainAfterARestart) {
  Watched w{{"backlog=10"}};
  w.submit_many(20);
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  w.bundle->restart_after(seconds{5});
  w.bundle->run_for(minutes{2});
  EXPECT_THAT(w.subjects(), SizeIs(2));
}

TEST(GroupWatch, ConditionThatRecursAndEndsBetweenMessagesIsNotSent) {
  Watched w{{"backlog=10"}};
  w.submit_many(20);
  w.bundle->run_for(seconds{16});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  // Over, and so again, and over: within the minute until the next message.
  auto& worker = w.bundle->add_worker();
  w.bundle->run_for(seconds{12});
  worker.die();
  w.bundle->run_for(seconds{5});
  w.submit_many(20);
  w.bundle->run_for(seconds{12});
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.subjects(), SizeIs(1)) << "it is as the last message says";
  EXPECT_EQ(w.bundle->stat("alarms_waiting"), 0);
}

TEST(GroupWatch, FailuresAndConditionsOfAGroupShareOneMessage) {
  Watched w{{"backlog=10"}};
  w.bundle->add_worker({.threads = 1}).behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = seconds{9}, .outcome = RunOutcome::kFailed};
  };
  w.submit_many(30);
  w.bundle->run_for(seconds{15});
  ASSERT_THAT(w.bundle->courier.to(kTo), SizeIs(1));
  EXPECT_THAT(w.subjects()[0],
              AllOf(HasSubstr("default: backlog: 2"), HasSubstr("; 1 failure of job-0")));
  EXPECT_THAT(w.bundle->courier.to(kTo)[0].body,
              AllOf(HasSubstr("Node group default, backlog: "), HasSubstr("\njob-0: failed\n")));
}

TEST(GroupWatch, NextSessionContinuesConditionsWithoutResendingThem) {
  Watched w{{"backlog=10", "unserved=1m"}};
  w.submit_many(20);
  w.bundle->run_for(seconds{45});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  w.bundle->begin_next_session();
  w.bundle->run_for(seconds{60});
  ASSERT_THAT(w.subjects(), SizeIs(2)) << "nothing is told again, and the minute went on";
  EXPECT_THAT(w.subjects()[1], AllOf(HasSubstr("unserved: "), Not(HasSubstr("backlog"))));
  w.bundle->begin_next_session();
  w.bundle->add_worker();
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(3));
  EXPECT_THAT(w.subjects()[2],
              AllOf(HasSubstr("backlog is over after "), HasSubstr("unserved is over after ")));
}

TEST(GroupWatch, NextSessionDeliversUndeliveredMessagesUnderTheSameId) {
  Watched w{{"backlog=10"}};
  w.bundle->courier.hanging = {kTo};
  w.submit_many(20);
  w.bundle->run_for(seconds{30});
  ASSERT_THAT(w.subjects(), Not(IsEmpty()));
  w.bundle->begin_next_session();
  w.bundle->courier.hanging.clear();
  w.bundle->run_for(minutes{5});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_EQ(w.bundle->courier.to(kTo)[1].id, w.bundle->courier.to(kTo)[0].id);
  EXPECT_EQ(w.bundle->stat("alarms_waiting"), 0);
}

TEST(GroupWatch, NextSessionKeepsFailureWindowAndMessageInterval) {
  Watched w{{"failures=50%"}};
  w.bundle->add_worker().behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.outcome = RunOutcome::kFailed};
  };
  w.submit_many(15);
  w.bundle->run_for(seconds{15});
  w.bundle->begin_next_session();
  EXPECT_THAT(w.subjects(), SizeIs(1)) << "the failures themselves";
  std::vector<JobSpec> more;
  for (int i = 0; i < 15; ++i) more.push_back(job_now("more-" + std::to_string(i)));
  w.bundle->submit(std::move(more));
  w.bundle->run_for(seconds{40});
  EXPECT_THAT(w.subjects(), SizeIs(1)) << "one a minute";
  w.bundle->run_for(seconds{20});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], HasSubstr("failures: 30 of 30 runs failed in 5m (limit 50%)"));
}

TEST(GroupWatch, RemovalOfAGroupSendsTheEndOfItsConditions) {
  Watched w{{"backlog=3"}};
  w.submit_many(3, "app");
  w.bundle->run_for(seconds{30});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
  act.addresses = {"http://127.0.0.1:9999/"};
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(w.bundle->act(std::move(act))));
  for (int i = 0; i < 3; ++i) {
    w.bundle->act(
        {.verb = wire::Verb::kCancel, .group = "app", .task_id = "job-" + std::to_string(i)});
  }
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(
      w.bundle->act({.verb = wire::Verb::kRemoveGroup, .group = "app"})));
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(2));
  EXPECT_THAT(w.subjects()[1], HasSubstr("app: backlog is over after "));
}

// Two job trackers, each with one of a group's two parts.
struct WatchedParts {
  explicit WatchedParts(const std::vector<std::string>& rules)
      : first({.tracker = {.alarms = config(rules)}, .start = false, .wanted = Partitions{}}),
        second({.tracker = {.alarms = config(rules)},
                .start = false,
                .wanted = Partitions{},
                .beside = &first}) {
    EXPECT_TRUE(first.database.make_group("default", first.now()).ok());
    EXPECT_TRUE(
        first.database.split_group({.group = "default", .parts = 2}, all_partitions(), first.now())
            .ok());
    const GroupId other = first.tables().groups.rbegin()->first;
    Partitions owned;
    owned.set(static_cast<std::size_t>(partition_of(other)));
    first.want(~owned);
    second.want(owned);
    for (TrackerBundle* one : {&first, &second}) {
      one->start_tracker();
      one->run_until([one] { return one->tracker().is_ready(); });
      one->add_worker().behaviour = [](const wire::HandedJob&, const JobSpec&) {
        return FakeRun{.outcome = RunOutcome::kFailed};
      };
    }
    first.run_for(seconds{2});
  }

  void leave_all_to_second() {
    first.begin_next_session(Partitions{});
    second.begin_next_session();
    first.run_for(seconds{3});
  }
  static AlarmConfig config(const std::vector<std::string>& rules) {
    AlarmConfig config{.recipients = {kTo}};
    for (const std::string& rule : rules) config.rules.push_back(parse_alarm_rule(rule).value());
    return config;
  }
  static std::vector<JobSpec> jobs_of_part(std::int32_t part, std::size_t count) {
    std::vector<JobSpec> jobs;
    for (int i = 0; jobs.size() < count; ++i) {
      const std::string task_id = "job-" + std::to_string(i);
      if (part_of_bucket(bucket_of(task_id), 2) == part) jobs.push_back(job_now(task_id));
    }
    return jobs;
  }
  static std::vector<std::string> subjects(const TrackerBundle& of) {
    std::vector<std::string> all;
    for (const net::Delivery& one : of.courier.to(kTo)) all.push_back(one.subject);
    return all;
  }

  TrackerBundle first;
  TrackerBundle second;
};

TEST(GroupWatchOfPartitions, FailuresAreSentByTheJobTrackerThatRecordedThem) {
  WatchedParts w{{"failures=20%"}};
  for (const auto& spec : WatchedParts::jobs_of_part(1, 59)) w.second.submit(spec);
  w.first.run_for(seconds{90});
  EXPECT_THAT(WatchedParts::subjects(w.first), IsEmpty());
  ASSERT_THAT(WatchedParts::subjects(w.second), SizeIs(2));
  EXPECT_THAT(WatchedParts::subjects(w.second)[1],
              HasSubstr("default: failures: 59 of 59 runs failed in 5m (limit 20%)"));
  w.first.run_for(minutes{6});
  ASSERT_THAT(WatchedParts::subjects(w.second), SizeIs(3));
  EXPECT_THAT(WatchedParts::subjects(w.second)[2], HasSubstr("failures is over after "));
}

TEST(GroupWatchOfPartitions, BacklogOfAllPartitionsIsSentOnce) {
  WatchedParts w{{"backlog=10"}};
  for (TrackerBundle* one : {&w.first, &w.second}) one->workers()[0]->die();
  w.second.submit(WatchedParts::jobs_of_part(1, 10));
  w.first.run_for(minutes{2});
  EXPECT_THAT(WatchedParts::subjects(w.first),
              ElementsAre("[carillon] default: backlog: 10 due jobs (limit 10 jobs)"));
  EXPECT_THAT(WatchedParts::subjects(w.second), IsEmpty());
}

TEST(GroupWatchOfPartitions, FailuresOfAllOwnedPartitionsShareOneMessagePerInterval) {
  WatchedParts w{{"backlog=1000"}};
  w.leave_all_to_second();
  std::vector<JobSpec> jobs = WatchedParts::jobs_of_part(0, 3);
  for (JobSpec& job : WatchedParts::jobs_of_part(1, 4)) jobs.push_back(std::move(job));
  w.second.submit(std::move(jobs));
  w.second.run_for(seconds{30});
  ASSERT_THAT(WatchedParts::subjects(w.second), SizeIs(1));
  EXPECT_THAT(WatchedParts::subjects(w.second)[0],
              AllOf(HasSubstr(" 7 failures of "), HasSubstr(" and 6 other jobs")));
  EXPECT_THAT(w.second.tables().alarms, IsEmpty());
}

TEST(GroupWatchOfPartitions, OneJobTrackerSendsPendingFailuresAfterARebalance) {
  WatchedParts w{{"backlog=1000"}};
  w.leave_all_to_second();
  w.second.courier.hanging = {kTo};
  std::vector<JobSpec> jobs = WatchedParts::jobs_of_part(0, 1);
  jobs.push_back(WatchedParts::jobs_of_part(1, 1)[0]);
  w.second.submit(std::move(jobs));
  ASSERT_TRUE(w.second.run_until([&] { return w.second.tables().alarms.size() == 2; }));
  w.second.run_for(seconds{1});
  const auto rows = w.second.tables().alarms;
  ASSERT_EQ(rows.begin()->second.mark.alarm, rows.rbegin()->second.mark.alarm);

  const GroupId first_lines = rows.begin()->second.entry.group;
  Partitions owned;
  owned.set(static_cast<std::size_t>(partition_of(first_lines)));
  w.second.begin_next_session(~owned);
  w.first.begin_next_session(owned);
  w.second.courier.hanging.clear();
  w.second.run_for(seconds{30});
  ASSERT_THAT(WatchedParts::subjects(w.first), SizeIs(1));
  EXPECT_THAT(WatchedParts::subjects(w.first)[0], HasSubstr("2 failures of "));
  EXPECT_THAT(WatchedParts::subjects(w.second), IsEmpty());
  EXPECT_THAT(w.second.tables().alarms, IsEmpty());
}

TEST(GroupWatchOfPartitions, MessageGetsANewIdWhenItsFailuresMoveAway) {
  WatchedParts w{{"failures=20%"}};
  w.leave_all_to_second();
  w.second.courier.hanging = {kTo};
  w.second.submit(WatchedParts::jobs_of_part(1, 25));
  w.second.run_for(seconds{4});
  w.second.submit(job_now("one more"));
  w.second.run_for(seconds{15});
  EXPECT_EQ(w.second.stat("alarms_waiting"), 2);

  w.second.begin_next_session(Partitions{});
  w.first.begin_next_session();
  w.second.courier.hanging.clear();
  w.first.run_for(minutes{3});
  const auto failures = w.first.courier.to(kTo);
  ASSERT_THAT(failures, SizeIs(2));
  EXPECT_THAT(failures[1].subject, HasSubstr("1 failure of one more"));
  const auto conditions = w.second.courier.to(kTo);
  ASSERT_THAT(conditions, SizeIs(2));
  EXPECT_EQ(conditions[0].id, failures[0].id) << "a try that was not answered";
  EXPECT_THAT(conditions[1].subject, HasSubstr("failures: 26 of 26 runs"));
  EXPECT_NE(conditions[1].id, failures[1].id);
}

TEST(GroupWatchOfPartitions, SilenceCountsAtEachJobTrackerWithinSeconds) {
  WatchedParts w{{"failures=20%"}};
  const WallTime until = w.first.now() + hours{1};
  const wire::Message silenced =
      w.first.act(wire::Act{.verb = wire::Verb::kSilence,
                            .group = "default",
                            .until_us = until.time_since_epoch().count()});
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(silenced));
  w.first.run_for(seconds{3});
  for (const auto& spec : WatchedParts::jobs_of_part(1, 59)) w.second.submit(spec);
  w.first.run_for(minutes{2});
  EXPECT_THAT(WatchedParts::subjects(w.second), IsEmpty());
  EXPECT_THAT(w.second.tables().alarms, IsEmpty());
}

TEST(GroupWatchOfPartitions, JobTrackerWithoutPartitionsForgetsTheConditionsItSent) {
  WatchedParts w{{"failures=20%"}};
  for (const auto& spec : WatchedParts::jobs_of_part(1, 59)) w.second.submit(spec);
  w.first.run_for(seconds{90});
  ASSERT_THAT(WatchedParts::subjects(w.second), SizeIs(2));
  w.second.begin_next_session(Partitions{});
  w.first.run_for(minutes{10});
  EXPECT_THAT(WatchedParts::subjects(w.second), SizeIs(2));
}

TEST(AlarmRule, ParseErrorNamesTheFaultAndTheCorrectSyntax) {
  const auto wrong = [](const std::string& text) {
    const auto rule = parse_alarm_rule(text);
    return rule.ok() ? std::string{"fine"} : rule.error().message;
  };
  EXPECT_THAT(wrong("late"), HasSubstr("write [GROUP/]unserved=TIME"));
  EXPECT_THAT(wrong("slow=5m"), HasSubstr("not a condition"));
  EXPECT_THAT(wrong("late=5"), HasSubstr("'late=5': "));
  EXPECT_THAT(wrong("late=5s"), HasSubstr("at least 10s"));
  EXPECT_THAT(wrong("overload=90%"), HasSubstr("'overload=90%': "));
  EXPECT_THAT(wrong("overload=1s"), HasSubstr("at least 10s"));
  EXPECT_THAT(wrong("output="), HasSubstr("texts of 1 to 100 bytes"));
  EXPECT_THAT(wrong("output=a||b"), HasSubstr("texts of 1 to 100 bytes"));
  EXPECT_THAT(wrong("output=a|" + std::string(101, 'b')), HasSubstr("texts of 1 to 100 bytes"));
  std::string many = "output=0";
  for (int i = 1; i <= 20; ++i) many += "|" + std::to_string(i);
  EXPECT_THAT(wrong(many), HasSubstr("21 texts, at most 20"));
  EXPECT_EQ(wrong("reports/output=/dev/sda|a=b"), "fine");
  EXPECT_THAT(wrong("backlog=0"), HasSubstr("from 1 to 1000000"));
  EXPECT_THAT(wrong("backlog=1e3"), HasSubstr("from 1 to 1000000"));
  EXPECT_THAT(wrong("failures=20"), HasSubstr("like failures=20%"));
  EXPECT_THAT(wrong("failures=101%"), HasSubstr("from 1% to 100%"));
  EXPECT_THAT(wrong("a b/late=5m"), HasSubstr("a b"));
  EXPECT_THAT(wrong("/late=5m"), Not(HasSubstr("fine")));
  EXPECT_EQ(wrong("reports/late=off"), "fine");
}

TEST(AlarmRule, ConfigRejectsRulesWithoutRecipientsAndDuplicateRules) {
  AlarmConfig config{.rules = {parse_alarm_rule("late=5m").value()}};
  ASSERT_FALSE(config.validate().ok());
  EXPECT_THAT(config.validate().error().message,
              HasSubstr("--alarm-when is given without a recipient"));
  config.recipients = {kTo};
  EXPECT_TRUE(config.validate().ok());
  config.rules.push_back(parse_alarm_rule("ops/late=5m").value());
  EXPECT_TRUE(config.validate().ok());
  config.rules.push_back(parse_alarm_rule("OPS/late=1h").value());
  ASSERT_FALSE(config.validate().ok());
  EXPECT_THAT(config.validate().error().message, HasSubstr("late of group 'OPS' twice"));
}

}  // namespace
}  // namespace carillon::jobtracker
