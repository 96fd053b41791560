#include "jobtracker/api/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/api/body.h"
#include "jobtracker/api/calendar.h"
#include "jobtracker/api/idempotency.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Submission, IsOneSpecOrAList) {
  const Submission one = read_submission(R"({"task_id":"a","shell":"true"})").value();
  EXPECT_TRUE(one.is_single);
  ASSERT_THAT(one.jobs, SizeIs(1));
  EXPECT_EQ(one.jobs.front().spec->task_id, "a");
  const Submission list =
      read_submission(R"({"jobs":[{"shell":"true"},{"shell":"false"}],"suspended":true})").value();
  EXPECT_FALSE(list.is_single);
  EXPECT_TRUE(list.suspended);
  EXPECT_THAT(list.jobs, SizeIs(2));
}

TEST(Submission, AnInvalidJobDoesNotSpoilTheOthers) {
  const Submission list =
      read_submission(R"({"jobs":[{"task_id":"a","shel":"true"},{"shell":"true"}]})").value();
  EXPECT_FALSE(list.jobs[0].spec);
  EXPECT_EQ(list.jobs[0].answer.task_id, "a");
  EXPECT_THAT(list.jobs[0].answer.reason, HasSubstr("shel"));
  EXPECT_TRUE(list.jobs[1].spec);
}

TEST(Submission, TheWordJobsInASpecIsNoList) {
  const Submission one = read_submission(R"({"shell":"echo \"jobs\"","tags":["jobs"]})").value();
  EXPECT_TRUE(one.is_single);
  EXPECT_TRUE(one.jobs.front().spec);
}

TEST(Submission, HiddenSecretsAreNotStored) {
  JobSpec spec;
  spec.run.kind = RunKind::kHttp;
  spec.run.http.url = "https://***@host/";
  EXPECT_THAT(check_no_mask(spec).error().message, HasSubstr("http.url"));
  spec.run.http.url = "https://host/";
  spec.run.http.headers["Authorization"] = "***";
  EXPECT_THAT(check_no_mask(spec).error().message, HasSubstr("Authorization"));
  spec.run.http.headers.clear();
  EXPECT_TRUE(check_no_mask(spec).ok());
}

TEST(ParseJson, RefusesWhatIsRepeatedDeepOrNotJson) {
  EXPECT_FALSE(parse_json(R"({"a":1,"a":2})").ok());
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":2}])").ok());
  EXPECT_FALSE(parse_json("{").ok());
  EXPECT_FALSE(parse_json("\xff").ok());
  EXPECT_FALSE(parse_json(std::string(1000, '[')).ok());
}

TEST(CallKey, OnlyTheSecretLeadsToItsNumber) {
  const Principal anna{.kind = "token", .name = "anna"};
  const net::HttpCall call{.method = "POST", .target = "/api/v1/jobs", .body = "{}"};
  const CallKey key = make_call_key(anna, call, "one", "secret");
  EXPECT_EQ(make_call_key(anna, call, "one", "secret").number, key.number);
  EXPECT_NE(make_call_key(anna, call, "one", "another secret").number, key.number);
  EXPECT_NE(make_call_key(anna, call, "two", "secret").number, key.number);
  EXPECT_NE(make_call_key({.kind = "user", .name = "anna"}, call, "one", "secret").number,
            key.number);
  EXPECT_EQ(make_call_key(anna, call, "one", "another secret").fingerprint, key.fingerprint);
  EXPECT_TRUE(key.number.validate().ok());
}

TEST(RecentKeys, AKeyWithAnotherFingerprintIsRefused) {
  RecentKeys keys;
  CallKey key{.number = {.client = 7, .sequence = 1}, .fingerprint = 1};
  EXPECT_TRUE(keys.note(key));
  EXPECT_TRUE(keys.note(key));
  key.fingerprint = 2;
  EXPECT_FALSE(keys.note(key));
}

TEST(RecentKeys, TheOldestIsForgottenFirst) {
  RecentKeys keys;
  for (std::size_t i = 0; i <= RecentKeys::kKeysMax; ++i) {
    const auto client = static_cast<std::int64_t>(i + 1);
    EXPECT_TRUE(keys.note({.number = {.client = client, .sequence = 1}, .fingerprint = 1}));
  }
  EXPECT_TRUE(keys.note({.number = {.client = 1, .sequence = 1}, .fingerprint = 2}));
  const auto last = static_cast<std::int64_t>(RecentKeys::kKeysMax);
  EXPECT_FALSE(keys.note({.number = {.client = last, .sequence = 1}, .fingerprint = 2}));
}

TEST(Calendar, AddsUpTheFiresOfAGroupByMinute) {
  Calendar calendar;
  EXPECT_EQ(calendar.add({{"group", "ops"}, {"minutes", "31:2 30:1"}, {"zones", "UTC"}}), 3);
  EXPECT_EQ(calendar.add({{"group", "billing"}, {"minutes", "30:5"}, {"zones", "Asia/Tokyo,UTC"}}),
            5);
  EXPECT_EQ(calendar.add({{"group", "ops"}, {"minutes", "31:4"}, {"zones", ""}}), 4);
  EXPECT_EQ(calendar.add({{"group", "ops"}, {"minutes", "nonsense"}, {"zones", ""}}), 0);
  calendar.sort();
  std::vector<std::string> shown;
  for (const Calendar::Minute& one : calendar.minutes) {
    shown.push_back(std::to_string(one.minute) + " " +
                    calendar.groups[static_cast<std::size_t>(one.group)] + " " +
                    std::to_string(one.fires));
  }
  EXPECT_THAT(shown, ElementsAre("30 billing 5", "30 ops 1", "31 ops 6"));
  EXPECT_THAT(calendar.zones, ElementsAre("Asia/Tokyo", "UTC"));
}

TEST(Calendar, ShowsClockChanges) {
  const WallTime from = parse_time("2027-03-28T00:00:00Z").value();
  const auto changes = clock_changes({"Europe/Berlin", "UTC"}, from, from + std::chrono::hours{24});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes.front().at, parse_time("2027-03-28T01:00:00Z").value());
  EXPECT_EQ(changes.front().zone, "Europe/Berlin");
  EXPECT_EQ(changes.front().change_s, 3600);
}

}  // namespace
}  // namespace carillon::jobtracker::api
