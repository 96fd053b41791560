#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(GroupWatch, ToldIsWhoLooksAfterAGroupThatNobodyServesAndWhenItIsServedAgain) {
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

TEST(GroupWatch, ATaskTrackerThatComesBackInTimeIsNothingToTell) {
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

TEST(GroupWatch, AGroupThatIsServedIsNotUnservedHoweverMuchWaits) {
  Watched w{{"unserved=1m"}};
  w.bundle->add_worker({.threads = 1}).behaviour = [](const wire::HandedJob&, const JobSpec&) {
    return FakeRun{.time = seconds{30}};
  };
  w.submit_many(20);
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.subjects(), IsEmpty());
}

TEST(GroupWatch, AJobThatWaitsForLongIsToldOfWhateverIsMoreUrgent) {
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

TEST(GroupWatch, ABacklogIsToldOfAtItsLimitAndWhenItIsBelow) {
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

TEST(GroupWatch, FailuresAreAPartOfTheRunsOfFiveMinutesRetriesIncluded) {
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

TEST(GroupWatch, FailuresAreOverWhenTheirFiveMinutesAreThoughNothingRuns) {
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

TEST(GroupWatch, AGroupsOwnRuleStandsForItAndMayBeOff) {
  Watched w{{"backlog=10", "Reports/backlog=50", "lab/backlog=off"}};
  w.submit_many(20, "default");
  w.submit_many(20, "reports");
  w.submit_many(20, "lab");
  w.bundle->run_for(minutes{2});
  EXPECT_THAT(w.subjects(),
              ElementsAre("[carillon] default: backlog: 20 due jobs (limit 10 jobs)"));
}

TEST(GroupWatch, WhatStillIsSoIsToldAgainAfterARestart) {
  Watched w{{"backlog=10"}};
  w.submit_many(20);
  w.bundle->run_for(minutes{2});
  ASSERT_THAT(w.subjects(), SizeIs(1));
  w.bundle->restart_after(seconds{5});
  w.bundle->run_for(minutes{2});
  EXPECT_THAT(w.subjects(), SizeIs(2));
}

TEST(GroupWatch, WhatComesAndGoesBetweenTwoMessagesIsNotToldOf) {
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

TEST(GroupWatch, FailuresAndConditionsOfAGroupAreOneMessage) {
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

TEST(AlarmRule, SaysWhatIsWrongAndHowToWriteIt) {
  const auto wrong = [](const std::string& text) {
    const auto rule = parse_alarm_rule(text);
    return rule.ok() ? std::string{"fine"} : rule.error().message;
  };
  EXPECT_THAT(wrong("late"), HasSubstr("write [GROUP/]unserved=TIME"));
  EXPECT_THAT(wrong("slow=5m"), HasSubstr("not a condition"));
  EXPECT_THAT(wrong("late=5"), HasSubstr("'late=5': "));
  EXPECT_THAT(wrong("late=5s"), HasSubstr("at least 10s"));
  EXPECT_THAT(wrong("backlog=0"), HasSubstr("from 1 to 1000000"));
  EXPECT_THAT(wrong("backlog=1e3"), HasSubstr("from 1 to 1000000"));
  EXPECT_THAT(wrong("failures=20"), HasSubstr("like failures=20%"));
  EXPECT_THAT(wrong("failures=101%"), HasSubstr("from 1% to 100%"));
  EXPECT_THAT(wrong("a b/late=5m"), HasSubstr("a b"));
  EXPECT_THAT(wrong("/late=5m"), Not(HasSubstr("fine")));
  EXPECT_EQ(wrong("reports/late=off"), "fine");
}

TEST(AlarmRule, NeedsSomebodyToTellAndStandsOnce) {
  AlarmConfig config{.rules = {parse_alarm_rule("late=5m").value()}};
  ASSERT_FALSE(config.validate().ok());
  EXPECT_THAT(config.validate().error().message, HasSubstr("--alarm"));
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
