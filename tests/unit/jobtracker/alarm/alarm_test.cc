#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Who is told of failures, when, and that nothing is forgotten.
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using wire::RunOutcome;

const std::string kOps = "ops@example.com";
const std::string kHook = "https://chat.example.com/hook";

// A job tracker with a worker all of whose runs end like this.
struct Failing {
  explicit Failing(AlarmConfig config = {}, RunOutcome outcome = RunOutcome::kFailed)
      : bundle({.tracker = {.alarms = std::move(config)}}) {
    bundle.add_worker().behaviour = [outcome](const wire::HandedJob&, const JobSpec&) {
      return FakeRun{.outcome = outcome, .later = minutes{5}, .message = "no space left"};
    };
  }

  void submit(JobSpec job, std::vector<std::string> alarm) {
    job.alarm = std::move(alarm);
    bundle.submit(std::move(job));
  }
  std::vector<net::Delivery> to(const std::string& recipient) const {
    return bundle.courier.to(recipient);
  }

  TrackerBundle bundle;
};

TEST(Alarm, FailureIsSentOnceToEachRecipientOfTheJob) {
  Failing b;
  b.submit(job_now("backup"), {kOps, kHook});
  b.bundle.run_for(minutes{10});
  ASSERT_THAT(b.to(kOps), SizeIs(1));
  EXPECT_EQ(b.to(kOps)[0].subject, "[carillon] default: 1 failure of backup");
  EXPECT_THAT(b.to(kOps)[0].body, AllOf(HasSubstr("backup: failed"), HasSubstr("no space left")));
  ASSERT_THAT(b.to(kHook), SizeIs(1));
  EXPECT_THAT(b.to(kHook)[0].body, HasSubstr(R"("task_id":"backup","failures":1)"));
  EXPECT_THAT(b.bundle.tables().alarms, IsEmpty());
  EXPECT_EQ(b.bundle.stat("alarms_sent_total"), 2);
  EXPECT_EQ(b.bundle.stat("alarms_waiting"), 0);
}

TEST(Alarm, OneShotJobAlarmCarriesDescriptionAndOwner) {
  Failing b;
  JobSpec job = job_now("backup");
  job.description = "Shop database";
  job.owner = "ann";
  b.submit(std::move(job), {kHook});
  b.bundle.run_for(minutes{10});
  ASSERT_THAT(b.to(kHook), SizeIs(1));
  EXPECT_THAT(b.to(kHook)[0].body, HasSubstr(R"("description":"Shop database","owner":"ann")"));
}

TEST(Alarm, JobsWithoutRecipientsUseTheJobTrackersRecipients) {
  Failing b{{.recipients = {kHook}}};
  b.submit(job_now("a"), {});
  b.submit(job_now("quiet"), {std::string{kNoAlarm}});
  b.submit(job_now("own"), {kOps});
  b.bundle.run_for(minutes{10});
  ASSERT_THAT(b.to(kHook), SizeIs(1));
  EXPECT_THAT(b.to(kHook)[0].body, AllOf(HasSubstr(R"("a")"), Not(HasSubstr("quiet"))));
  EXPECT_THAT(b.to(kOps), SizeIs(1));
}

TEST(Alarm, OnlyTheFinalFailureOfAJobIsSent) {
  Failing b{{}, RunOutcome::kException};
  JobSpec job = job_now("a");
  job.retries = {.max = 2, .base = seconds{10}};
  b.submit(std::move(job), {kOps});
  b.bundle.run_for(seconds{15});
  EXPECT_THAT(b.to(kOps), IsEmpty()) << "retries remain";
  b.bundle.run_for(minutes{10});
  ASSERT_THAT(b.to(kOps), SizeIs(1));
  EXPECT_THAT(b.to(kOps)[0].body, HasSubstr("attempt 3"));
}

TEST(Alarm, SuccessDiscardLaterAndKillSendNoAlarm) {
  for (const RunOutcome outcome :
       {RunOutcome::kSucceeded, RunOutcome::kDiscarded, RunOutcome::kLater, RunOutcome::kKilled}) {
    SCOPED_TRACE(static_cast<int>(outcome));
    Failing b{{}, outcome};
    b.submit(job_now("a"), {kOps});
    b.bundle.run_for(minutes{10});
    EXPECT_THAT(b.to(kOps), IsEmpty());
  }
}

TEST(Alarm, FailureStormSendsOneMessagePerIntervalCountingAllFailures) {
  Failing b;
  for (int i = 0; i < 300; ++i) b.submit(job_now("job-" + std::to_string(i)), {kOps});
  b.submit(job_every("each-second", seconds{1}), {kOps});
  b.bundle.run_for(seconds{30});
  ASSERT_THAT(b.to(kOps), SizeIs(1));
  EXPECT_THAT(b.to(kOps)[0].body, HasSubstr("of other jobs."));
  EXPECT_THAT(b.bundle.tables().alarms, SizeIs(::testing::Le(2 * (kAlarmLines + 1))));
  b.bundle.run_for(seconds{120});
  ASSERT_THAT(b.to(kOps), SizeIs(3)) << "one a minute";
  EXPECT_THAT(b.to(kOps)[2].subject, HasSubstr(" failures of each-second"));
}

TEST(Alarm, QuarantineSendsAnAlarm) {
  TrackerBundle bundle;
  JobSpec job = job_every("killer", hours{1});
  job.alarm = {kOps};
  job.description = "kills its worker";
  bundle.submit(std::move(job));
  const auto die_of_it = [&] {
    auto& worker = bundle.add_worker();
    worker.behaviour = [](const wire::HandedJob&, const JobSpec&) {
      return FakeRun{.time = hours{9}};
    };
    EXPECT_TRUE(bundle.run_until([&] { return worker.busy() > 0; }));
    worker.die();
    bundle.run_for(seconds{10});
  };
  die_of_it();
  die_of_it();
  EXPECT_THAT(bundle.courier.to(kOps), IsEmpty());
  die_of_it();
  ASSERT_THAT(bundle.courier.to(kOps), SizeIs(1));
  EXPECT_THAT(bundle.courier.to(kOps)[0].body,
              AllOf(HasSubstr("quarantine"), HasSubstr("kills its worker")));
}

TEST(Alarm, UnreachableRecipientIsRetriedAndDelaysNoOtherRecipient) {
  Failing b;
  b.bundle.courier.hanging = {kOps};
  b.submit(job_now("a"), {kOps, kHook});
  b.bundle.run_for(seconds{10});
  EXPECT_THAT(b.to(kHook), SizeIs(1));
  b.bundle.run_for(hours{1});
  EXPECT_GE(b.to(kOps).size(), 10U);
  EXPECT_LE(b.to(kOps).size(), 20U);
  b.submit(job_now("later"), {kOps});
  b.bundle.courier.hanging.clear();
  ASSERT_TRUE(b.bundle.run_until([&] { return b.bundle.tables().alarms.empty(); }));
  const auto told = b.to(kOps);
  EXPECT_THAT(told[told.size() - 2].body, AllOf(HasSubstr("a: failed"), Not(HasSubstr("later"))));
  EXPECT_THAT(told.back().body, HasSubstr("later: failed"));
  EXPECT_NE(told.front().id, told.back().id);
}

TEST(Alarm, UndeliverableMessageIsDroppedAfterTheGiveUpTime) {
  Failing b{{.give_up = hours{1}}};
  b.bundle.courier.hanging = {kOps};
  b.submit(job_now("a"), {kOps});
  b.bundle.run_for(minutes{55});
  EXPECT_THAT(b.bundle.tables().alarms, SizeIs(1));
  b.bundle.run_for(minutes{15});
  EXPECT_THAT(b.bundle.tables().alarms, IsEmpty());
  EXPECT_EQ(b.bundle.stat("alarms_dropped_total"), 1);
}

TEST(Alarm, FailureIsNotSentBeforeItIsStored) {
  Failing b;
  b.submit(job_now("a"), {kOps});
  ASSERT_TRUE(b.bundle.run_until([&] { return !b.bundle.runs().empty(); }));
  b.bundle.connection().away_until = b.bundle.clock.steady_now() + seconds{20};
  b.bundle.run_for(seconds{15});
  EXPECT_THAT(b.to(kOps), IsEmpty());
  b.bundle.run_for(seconds{15});
  EXPECT_THAT(b.to(kOps), SizeIs(1));
}

TEST(Alarm, PendingMessageIsSentAfterAJobTrackerCrash) {
  Failing b;
  b.submit(job_now("a"), {kOps});
  ASSERT_TRUE(b.bundle.run_until([&] { return !b.bundle.tables().alarms.empty(); }));
  b.bundle.restart_after(minutes{1});
  EXPECT_THAT(b.to(kOps), IsEmpty()) << "it died before the message went";
  b.bundle.run_for(seconds{10});
  ASSERT_THAT(b.to(kOps), SizeIs(1));
  EXPECT_THAT(b.bundle.tables().alarms, IsEmpty());
  b.bundle.restart_after(minutes{1});
  b.bundle.run_for(minutes{5});
  EXPECT_THAT(b.to(kOps), SizeIs(1)) << "and not again";
}

TEST(Alarm, CrashAfterDeliveryResendsTheSameMessageId) {
  Failing b;
  b.submit(job_now("a"), {kOps});
  ASSERT_TRUE(b.bundle.run_until([&] { return !b.to(kOps).empty(); }));
  b.bundle.restart_after(minutes{1});
  b.bundle.run_for(seconds{10});
  ASSERT_THAT(b.to(kOps), SizeIs(2));
  EXPECT_EQ(b.to(kOps)[0].id, b.to(kOps)[1].id);
  EXPECT_EQ(b.to(kOps)[0].body, b.to(kOps)[1].body);
}

TEST(Alarm, UrlRecipientsGetAlarmsWithoutAMailServer) {
  Failing b;
  b.bundle.courier.has_mail = false;
  b.submit(job_now("a"), {kOps, kHook});
  b.bundle.run_for(minutes{1});
  EXPECT_THAT(b.to(kOps), IsEmpty());
  EXPECT_THAT(b.to(kHook), SizeIs(1));
  EXPECT_EQ(b.bundle.stat("alarms_dropped_total"), 1);
}

TEST(Alarm, SubmitWarnsAboutMailRecipientsWithoutAMailServer) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(seconds{1});
  const auto warning_for = [&](std::vector<std::string> alarm) {
    JobSpec job = job_now("");
    job.alarm = std::move(alarm);
    return bundle.submit(std::move(job)).warning;
  };
  EXPECT_EQ(warning_for({kOps, kHook}), "");
  bundle.courier.has_mail = false;
  EXPECT_EQ(warning_for({kHook, kOps}),
            "alarms by mail are not sent: the job tracker has no mail server (see --smtp)");
  EXPECT_EQ(warning_for({kHook}), "");
  EXPECT_EQ(warning_for({std::string{kNoAlarm}}), "");
  EXPECT_EQ(warning_for({}), "");
}

TEST(Alarm, MessagesBeyondTheLimitAreDroppedAndLogged) {
  Failing b{{.messages_max = 2}};
  b.bundle.courier.hanging = {"a@x.org", "b@x.org"};
  b.submit(job_now("job"), {"a@x.org", "b@x.org", "c@x.org"});
  b.bundle.run_for(minutes{1});
  EXPECT_EQ(b.bundle.stat("alarms_waiting"), 2);
  EXPECT_EQ(b.bundle.stat("alarms_dropped_total"), 1);
  EXPECT_THAT(b.bundle.log("job")[0].message,
              HasSubstr("alarm dropped, too many are undelivered; no space left"));
}

}  // namespace
}  // namespace carillon::jobtracker
