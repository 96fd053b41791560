#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/query_pages.h"

// Tags of jobs change without a replacement.
namespace carillon::jobtracker {
namespace {

using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::text_of;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using wire::Verb;

std::string refusal_in(const wire::Message& answer) {
  const auto* error = std::get_if<wire::ErrorReply>(&answer);
  return error == nullptr ? "ok" : error->error.message;
}

std::string set_tag(TrackerBundle& bundle, Verb verb, const std::string& task,
                    const std::string& tag) {
  return refusal_in(bundle.act({.verb = verb, .group = "default", .task_id = task, .remark = tag}));
}

std::string listed(TrackerBundle& bundle, const std::string& task, const std::string& field) {
  const auto rows = bundle.query({.what = "list", .task_id = task});
  return rows.empty() ? "no row" : text_of(rows.front(), field);
}

TEST(Tags, NextFireOfAnIntervalStays) {
  TrackerBundle bundle;
  bundle.submit(job_every("a", hours{1}));
  bundle.run_for(minutes{5});
  const std::string next = listed(bundle, "a", "next_fire");
  EXPECT_EQ(set_tag(bundle, Verb::kTag, "a", "nightly"), "ok");
  EXPECT_EQ(set_tag(bundle, Verb::kTag, "a", "nightly"), "ok");
  EXPECT_EQ(listed(bundle, "a", "tags"), "nightly");
  EXPECT_EQ(listed(bundle, "a", "next_fire"), next);
  bundle.restart_after(minutes{1});
  bundle.run_for(seconds{5});
  EXPECT_EQ(listed(bundle, "a", "tags"), "nightly");
  EXPECT_EQ(set_tag(bundle, Verb::kUntag, "a", "nightly"), "ok");
  EXPECT_EQ(listed(bundle, "a", "tags"), "");
}

TEST(Tags, WaitingRunsStayAndHiddenSecretsAreKept) {
  TrackerBundle bundle;
  JobSpec job = job_manual("a");
  job.run = {};
  job.run.kind = RunKind::kHttp;
  job.run.http.method = "POST";
  job.run.http.url = "http://ann:secret@127.0.0.1:9/";
  ASSERT_EQ(bundle.submit(job).reason, "");
  EXPECT_EQ(refusal_in(bundle.act(
                {.verb = Verb::kTrigger, .group = "default", .task_id = "a", .payload = "order"})),
            "ok");
  const auto before = bundle.query({.what = "waiting", .group = "default", .task_id = "a"});
  ASSERT_THAT(before, SizeIs(1));
  EXPECT_EQ(set_tag(bundle, Verb::kTag, "a", "x"), "ok");
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.query({.what = "waiting", .group = "default", .task_id = "a"}), before);
  EXPECT_THAT(bundle.tables().definitions.begin()->second.spec, HasSubstr("ann:secret@"));
}

TEST(Tags, RefusesWhatIsNoTag) {
  TrackerBundle bundle;
  bundle.submit(job_manual("a"));
  EXPECT_NE(set_tag(bundle, Verb::kTag, "a", ""), "ok");
  EXPECT_NE(set_tag(bundle, Verb::kTag, "a", std::string(70'000, 'x')), "ok");
  EXPECT_THAT(set_tag(bundle, Verb::kTag, "nobody", "x"), HasSubstr("nobody"));
}

}  // namespace
}  // namespace carillon::jobtracker
