#include "jobtracker/audit/auditor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

namespace carillon::jobtracker {
namespace {

using carillon::testing::job_cron;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using wire::Verb;

// "action task outcome", newest first.
std::vector<std::string> audited(TrackerBundle& bundle, const std::string& task_id = {}) {
  std::vector<std::string> lines;
  const auto rows = bundle.query(
      {.what = "audit", .group = task_id.empty() ? "" : "default", .task_id = task_id});
  for (const wire::Row& row : rows) {
    const auto text = [&](const std::string& name) {
      for (const auto& [key, value] : row) {
        if (key == name) return std::get<std::string>(value);
      }
      return std::string{"none"};
    };
    lines.push_back(text("action") + " " + text("task_id") + " " + text("outcome"));
  }
  return lines;
}

TEST(Audit, EachChangeHasARow) {
  TrackerBundle bundle;
  (void)bundle.submit(job_cron("nightly", "0 3 * * *"));
  (void)bundle.act(Verb::kSuspend, "nightly");
  (void)bundle.act(Verb::kResume, "nightly");
  JobSpec again = job_cron("nightly", "0 4 * * *");
  again.replace_on_exist = true;
  (void)bundle.submit(again);
  (void)bundle.act(Verb::kTrigger, "nightly");
  (void)bundle.act(Verb::kCancel, "nightly");
  EXPECT_THAT(audited(bundle, "nightly"),
              ElementsAre("cancel nightly done", "trigger nightly done", "replace nightly done",
                          "resume nightly done", "suspend nightly done", "submit nightly done"));
  const auto& tables = bundle.tables().audit;
  const auto row = [&](const std::string& action) {
    for (const auto& [id, one] : tables) {
      if (one.action == action) return one;
    }
    return AuditRow{};
  };
  EXPECT_THAT(row("replace").before, HasSubstr("0 3 * * *"));
  EXPECT_THAT(row("replace").after, HasSubstr("0 4 * * *"));
  EXPECT_EQ(row("suspend").before, R"({"suspended":false})");
  EXPECT_EQ(row("suspend").after, R"({"suspended":true})");
}

TEST(Audit, LargeSubmissionHasOneRow) {
  TrackerBundle bundle;
  (void)bundle.submit(std::vector<JobSpec>(100, job_now({})));
  EXPECT_THAT(audited(bundle), ElementsAre("submit  done"));
}

TEST(Audit, RefusedAttemptsAreRecordedAtABoundedRate) {
  TrackerBundle bundle;
  (void)bundle.act(Verb::kCancel, "nothing");
  bundle.run_for(std::chrono::seconds{1});
  EXPECT_THAT(audited(bundle),
              ElementsAre(AllOf(HasSubstr("cancel nothing refused:"), HasSubstr("not"))));
  for (int i = 0; i < 2 * Auditor::kRefusedMax; ++i) (void)bundle.act(Verb::kCancel, "nothing");
  bundle.run_for(std::chrono::minutes{2});
  EXPECT_EQ(bundle.tables().audit.size(), std::size_t{Auditor::kRefusedMax});
  (void)bundle.act(Verb::kCancel, "nothing");
  bundle.run_for(std::chrono::seconds{1});
  ASSERT_EQ(bundle.tables().audit.size(), std::size_t{Auditor::kRefusedMax + 1});
  EXPECT_THAT(bundle.tables().audit.rbegin()->second.after,
              HasSubstr("unrecorded_refusals_before"));
}

TEST(Audit, JobsAreRecordedWithoutPasswordsAndLongTexts) {
  JobSpec spec = job_now("call");
  spec.run = {.kind = RunKind::kHttp,
              .http = {.url = "https://user:secret@example.com/a?b=c@d",
                       .headers = {{"Authorization", "Bearer secret"},
                                   {"X-Api-Key", "secret"},
                                   {"Content-Type", "text/plain"}}}};
  spec.payload = std::string(100'000, 'x');
  const std::string text = audited_spec(spec);
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, AllOf(HasSubstr("https://***@example.com/a?b=c@d"), HasSubstr("text/plain"),
                          HasSubstr("(100000 bytes)")));
}

TEST(Audit, ShowNamesTheLastChange) {
  TrackerBundle bundle;
  (void)bundle.submit(job_cron("nightly", "0 3 * * *"));
  (void)bundle.act(Verb::kTrigger, "nightly");
  const auto rows = bundle.query({.what = "show", .group = "default", .task_id = "nightly"});
  ASSERT_THAT(rows, SizeIs(1));
  const auto& [name, value] = rows.front().back();
  EXPECT_EQ(name, "changed_at");
  EXPECT_THAT(std::get<std::string>(value), Not(::testing::IsEmpty()));
}

TEST(Audit, OldRowsAreDeleted) {
  TrackerBundle bundle({.tracker = {.retention = {.audit = std::chrono::minutes{10}}}});
  (void)bundle.submit(job_now("a"));
  ASSERT_EQ(bundle.tables().audit.size(), 1u);
  bundle.run_for(std::chrono::minutes{12});
  EXPECT_EQ(bundle.tables().audit.size(), 0u);
}

}  // namespace
}  // namespace carillon::jobtracker
