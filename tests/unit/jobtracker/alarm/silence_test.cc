#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/query_pages.h"

// Node groups about which nobody is told for a while, the history of messages, and test messages.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_now;
using carillon::testing::text_of;
using carillon::testing::texts_of;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kAnn = "ann@example.com";

// A job tracker that tells Ann of a backlog of three jobs and of failures, in the group "default".
struct Told {
  explicit Told(bool has_worker) {
    AlarmConfig config{.recipients = {kAnn}, .give_up = hours{2}};
    config.rules.push_back(parse_alarm_rule("backlog=3").value());
    bundle = std::make_unique<TrackerBundle>(
        TrackerBundle::Options{.tracker = {.alarms = std::move(config)}});
    bundle->add_worker().behaviour = [](const wire::HandedJob&, const JobSpec&) {
      return FakeRun{.outcome = wire::RunOutcome::kFailed};
    };
    bundle->run_for(seconds{1});
    if (!has_worker) bundle->workers().front()->die();
  }

  // None: it ends.
  wire::Message silence(std::optional<Duration> time, const std::string& group = "default") {
    const WallTime until = bundle->now() + time.value_or(Duration{});
    return bundle->act(wire::Act{.verb = wire::Verb::kSilence,
                                 .group = group,
                                 .until_us = time ? until.time_since_epoch().count() : 0});
  }
  wire::Message test(const std::string& recipient) {
    return bundle->act(wire::Act{.verb = wire::Verb::kTestAlarm, .addresses = {recipient}});
  }
  void submit(int jobs) {
    for (int i = 0; i < jobs; ++i) bundle->submit(job_now("job-" + std::to_string(++submitted)));
  }
  std::vector<std::string> subjects() const {
    std::vector<std::string> all;
    for (const net::Delivery& one : bundle->courier.to(kAnn)) all.push_back(one.subject);
    return all;
  }
  std::vector<wire::Row> rows(const std::string& what) { return bundle->query({.what = what}); }
  std::vector<std::string> audited() const {
    std::vector<std::string> all;
    for (const auto& [id, row] : bundle->tables().audit)
      all.push_back(row.action + " " + row.group + " " + row.outcome.substr(0, 7));
    return all;
  }

  std::unique_ptr<TrackerBundle> bundle{};
  int submitted = 0;
};

std::string error_of(const wire::Message& answer) {
  const auto* error = std::get_if<wire::ErrorReply>(&answer);
  return error == nullptr ? std::string{"none"} : error->error.message;
}

TEST(Silence, FailuresDuringItAreNeverSent) {
  Told w{/*has_worker=*/true};
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(w.silence(minutes{10})));
  w.submit(1);
  w.bundle->run_for(minutes{5});
  EXPECT_THAT(w.bundle->log(), SizeIs(1)) << "it has failed";
  EXPECT_THAT(w.bundle->tables().alarms, IsEmpty());
  w.bundle->run_for(minutes{10});
  EXPECT_THAT(w.subjects(), IsEmpty());
  w.submit(1);
  w.bundle->run_for(minutes{1});
  EXPECT_THAT(w.subjects(), ElementsAre("[carillon] default: 1 failure of job-2"));
}

TEST(Silence, ConditionThatHoldsAtItsEndIsSentThen) {
  Told w{/*has_worker=*/false};
  w.silence(minutes{10});
  w.submit(3);
  w.bundle->run_for(minutes{9});
  EXPECT_THAT(w.subjects(), IsEmpty());
  const auto rows = w.rows("alarms");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(text_of(rows[0], "rule"), "backlog");
  EXPECT_EQ(text_of(rows[0], "state"), "silenced");
  EXPECT_EQ(text_of(rows[0], "until").size(), text_of(rows[0], "since").size());
  w.bundle->run_for(minutes{2});
  EXPECT_THAT(w.subjects(), ElementsAre("[carillon] default: backlog: 3 due jobs (limit 3 jobs)"));
  EXPECT_THAT(texts_of(w.rows("alarms"), "state"), ElementsAre("firing"));
}

TEST(Silence, ConditionThatEndsDuringItIsNeverSent) {
  Told w{/*has_worker=*/false};
  w.silence(minutes{10});
  w.submit(3);
  w.bundle->run_for(minutes{2});
  w.bundle->add_worker();
  w.bundle->run_for(minutes{20});
  EXPECT_THAT(w.subjects(), IsEmpty());
  EXPECT_THAT(w.rows("alarms"), IsEmpty());
}

TEST(Silence, UndeliveredMessageWaitsForItsEndHoweverLong) {
  Told w{/*has_worker=*/true};
  w.bundle->courier.hanging = {kAnn};
  w.submit(1);
  w.bundle->run_for(minutes{1});
  w.silence(hours{4});
  w.bundle->run_for(minutes{1});
  const std::size_t tries = w.subjects().size();
  w.bundle->run_for(hours{4} - minutes{2});
  EXPECT_THAT(w.subjects(), SizeIs(tries));
  w.bundle->run_for(minutes{10});
  EXPECT_THAT(w.bundle->tables().alarms, SizeIs(1)) << "the next try failed";
  w.bundle->courier.hanging.clear();
  w.bundle->run_for(minutes{10});
  EXPECT_THAT(w.bundle->tables().alarms, IsEmpty());
  EXPECT_EQ(w.bundle->stat("alarms_dropped_total"), 0);
}

TEST(Silence, SurvivesRestartsAndEndsWhenAsked) {
  Told w{/*has_worker=*/true};
  w.silence(hours{5});
  EXPECT_THAT(texts_of(w.rows("alarms"), "state"), ElementsAre("silenced")) << "without an alarm";
  EXPECT_EQ(text_of(w.rows("alarms")[0], "rule"), "");
  w.bundle->restart_after(minutes{1});
  w.submit(1);
  w.bundle->run_for(minutes{1});
  w.bundle->begin_next_session();
  w.submit(1);
  w.bundle->run_for(minutes{1});
  EXPECT_THAT(w.bundle->log(), SizeIs(2));
  EXPECT_THAT(w.subjects(), IsEmpty());

  w.silence(std::nullopt);
  EXPECT_THAT(w.rows("alarms"), IsEmpty());
  EXPECT_THAT(w.bundle->tables().silences, IsEmpty());
  w.submit(1);
  w.bundle->run_for(minutes{1});
  EXPECT_THAT(w.subjects(), ElementsAre("[carillon] default: 1 failure of job-3"));
  EXPECT_THAT(w.audited(), ::testing::Contains("silence default done").Times(2));
}

TEST(Silence, RefusesUnknownGroupsAndTimesThatAreNotToCome) {
  Told w{/*has_worker=*/true};
  EXPECT_EQ(error_of(w.silence(minutes{1}, "nobody")), "there is no group 'nobody'");
  EXPECT_THAT(error_of(w.silence(-minutes{1})), HasSubstr("not a time in the next 366 days"));
  EXPECT_THAT(error_of(w.silence(hours{24 * 400})), HasSubstr("not a time in the next 366 days"));
  w.bundle->run_for(seconds{1});
  EXPECT_THAT(w.bundle->tables().silences, IsEmpty());
  EXPECT_THAT(w.audited(), SizeIs(3));
}

TEST(AlarmHistory, KeepsWhatBecameOfEachMessage) {
  Told w{/*has_worker=*/false};
  w.submit(3);
  w.bundle->run_for(minutes{1});
  w.bundle->courier.hanging = {kAnn};
  w.bundle->add_worker();
  w.bundle->run_for(minutes{4});
  auto rows = w.rows("alarm_history");
  EXPECT_THAT(texts_of(rows, "state"), ElementsAre("failed", "firing"));
  EXPECT_THAT(texts_of(rows, "rule"), ElementsAre("backlog", "backlog"));
  EXPECT_THAT(text_of(rows[0], "message"),
              AllOf(HasSubstr("backlog is over"), HasSubstr("(not delivered: timed out)")));

  w.bundle->courier.hanging.clear();
  w.bundle->run_for(minutes{10});
  rows = w.rows("alarm_history");
  EXPECT_THAT(texts_of(rows, "state"), ElementsAre("over", "firing"));
  EXPECT_EQ(text_of(rows[0], "group"), "default");
  EXPECT_EQ(text_of(rows[0], "recipients"), kAnn);
  w.bundle->restart_after(minutes{1});
  w.bundle->run_for(seconds{1});
  EXPECT_EQ(texts_of(w.rows("alarm_history"), "id"), texts_of(rows, "id"));
}

TEST(AlarmHistory, HidesSecretsOfUrlsAndComesInPages) {
  Told w{/*has_worker=*/true};
  for (int i = 0; i < 3; ++i) {
    JobSpec job = job_now("job-" + std::to_string(i));
    job.alarm = {"https://ann:secret@chat.example.com/hook/secret"};
    w.bundle->submit(std::move(job));
    w.bundle->run_for(minutes{2});
  }
  const auto rows = carillon::testing::every_page(*w.bundle, {.what = "alarm_history", .limit = 2});
  EXPECT_THAT(texts_of(rows, "rule"), ElementsAre("job-2", "job-1", "job-0"));
  EXPECT_THAT(texts_of(rows, "state"), ElementsAre("delivered", "delivered", "delivered"));
  EXPECT_EQ(text_of(rows[0], "recipients"), "https://chat.example.com");
  EXPECT_EQ(text_of(w.rows("alarm_rules")[0], "recipients"), kAnn);
}

TEST(AlarmTest, SaysWhatBecameOfTheMessage) {
  Told w{/*has_worker=*/true};
  const std::string hook = "https://chat.example.com/secret";
  const wire::Message delivered = w.test(hook);
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(delivered)) << error_of(delivered);
  EXPECT_EQ(std::get<wire::Acted>(delivered).message,
            "test message delivered to https://chat.example.com");
  ASSERT_THAT(w.bundle->courier.to(hook), SizeIs(1));
  EXPECT_THAT(w.bundle->courier.to(hook)[0].body, HasSubstr("this is a test message"));

  w.bundle->courier.hanging = {kAnn};
  EXPECT_EQ(error_of(w.test(kAnn)), "cannot deliver a message to ann@example.com: timed out");
  EXPECT_THAT(w.bundle->courier.to(kAnn), SizeIs(1)) << "once, although the client asked again";
  EXPECT_THAT(error_of(w.test("nonsense")), HasSubstr("nonsense"));
  w.bundle->courier.has_mail = false;
  EXPECT_THAT(error_of(w.test(kAnn)), HasSubstr("no mail server is configured"));
  w.bundle->run_for(seconds{1});
  EXPECT_THAT(w.audited(), ElementsAre("test_alarm  done", "test_alarm  refused",
                                       "test_alarm  refused", "test_alarm  refused"));
  EXPECT_THAT(w.rows("alarm_history"), IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
