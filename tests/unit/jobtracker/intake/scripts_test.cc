#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/support/tracker_bundle.h"

// Scripts of defined tasks, and their versions.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_cron;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::Verb;

JobSpec with_script(JobSpec job, const std::string& source, const std::string& remark = {}) {
  job.run = {.kind = RunKind::kScript,
             .script_language = "bash",
             .script_source = source,
             .script_remark = remark};
  return job;
}

struct Scripts {
  std::string set(const std::string& source, const std::string& remark = {},
                  std::int64_t version = 0) {
    wire::Act act{.verb = Verb::kSetScript, .group = "default", .task_id = "a"};
    act.payload = source;
    act.remark = remark;
    act.script_version = version;
    const wire::Message answer = bundle.act(std::move(act));
    if (const auto* acted = std::get_if<wire::Acted>(&answer)) return acted->message;
    return std::get<wire::ErrorReply>(answer).error.message;
  }
  // "source remark", a star where it is in use; newest first.
  std::vector<std::string> versions() {
    std::vector<std::string> all;
    for (const wire::Row& row :
         bundle.query({.what = "scripts", .group = "default", .task_id = "a"})) {
      const auto field = [&](const std::string& name) {
        for (const auto& [key, value] : row) {
          if (key == name) return value;
        }
        return wire::Field{};
      };
      const std::string version = std::to_string(std::get<std::int64_t>(field("version")));
      const auto one =
          bundle.query({.what = "script", .group = "default", .task_id = "a", .after = version});
      all.push_back(std::get<std::string>(one.at(0).back().second) +
                    (std::get<bool>(field("used")) ? "*" : "") + " " +
                    std::get<std::string>(field("remark")));
    }
    return all;
  }
  // The scripts that ran, in order.
  void watch(FakeWorker& worker) {
    worker.behaviour = [this](const wire::HandedJob&, const JobSpec& spec) {
      ran.push_back(spec.run.script_source);
      return FakeRun{};
    };
  }

  TrackerBundle bundle{};
  std::vector<std::string> ran{};
};

TEST(ScriptVersions, NextFireRunsTheNewVersionUnderTheSameSchedule) {
  Scripts test;
  test.watch(test.bundle.add_worker());
  test.bundle.submit(with_script(job_cron("a", "0 * * * * ?"), "one", "first"));
  ASSERT_TRUE(test.bundle.run_until([&] { return test.ran.size() == 1; }));
  const Definition before = *test.bundle.definition("a");
  EXPECT_EQ(test.set("two", "second"), "task 'a' now has another script");
  const Definition after = *test.bundle.definition("a");
  EXPECT_EQ(after.version, before.version);
  EXPECT_EQ(after.next_fire, before.next_fire);
  EXPECT_EQ(after.fired, before.fired);
  ASSERT_TRUE(test.bundle.run_until([&] { return test.ran.size() == 2; }));
  EXPECT_THAT(test.ran, ElementsAre("one", "two"));
  EXPECT_THAT(test.versions(), ElementsAre("two* second", "one first"));

  test.bundle.restart_after(seconds{1});
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(test.versions(), ElementsAre("two* second", "one first"));
  EXPECT_EQ(test.set("one", "back"), "task 'a' now has another script");
  ASSERT_TRUE(test.bundle.run_until([&] { return test.ran.size() == 3; }));
  EXPECT_EQ(test.ran.back(), "one");
  EXPECT_THAT(test.versions(), ElementsAre("one* back", "two second", "one first"));
}

TEST(ScriptVersions, ReplacementKeepsVersionsAndCancelRemovesThem) {
  Scripts test;
  test.bundle.submit(with_script(job_manual("a"), "one"));
  JobSpec job = with_script(job_manual("a"), "two");
  EXPECT_EQ(test.bundle.submit(job).status, wire::SubmitStatus::kDuplicate);
  EXPECT_THAT(test.versions(), ElementsAre("one* "));
  job.replace_on_exist = true;
  EXPECT_EQ(test.bundle.submit(job).status, wire::SubmitStatus::kAccepted);
  EXPECT_THAT(test.versions(), ElementsAre("two* ", "one "));
  test.bundle.act(Verb::kCancel, "a");
  EXPECT_THAT(test.bundle.tables().scripts, IsEmpty());
}

TEST(ScriptVersions, ScriptStoredBeforeVersionsExistedIsKeptAsAVersion) {
  Scripts test;
  test.bundle.submit(with_script(job_manual("a"), "one"));
  // As an older program has left it.
  const_cast<MemoryTables&>(test.bundle.tables()).scripts.clear();
  test.set("two");
  EXPECT_THAT(test.versions(), ElementsAre("two* ", "one "));
}

TEST(ScriptVersions, ImportedVersionIsKeptButNotUsed) {
  Scripts test;
  test.bundle.submit(with_script(job_manual("a"), "now"));
  EXPECT_EQ(test.set("once", "imported", 1000), "version 1000 of the script of task 'a' kept");
  EXPECT_EQ(test.set("again", "imported", 1000), "version 1000 of the script of task 'a' kept");
  EXPECT_THAT(test.versions(), ElementsAre("now* ", "once imported"));
  EXPECT_THAT(test.set("x", "", 9'000'000'000'000'000),
              HasSubstr("must be a time that has passed"));
}

TEST(ScriptVersions, JobsWithoutAnEditableScriptAreRefusedWithTheReason) {
  Scripts test;
  test.bundle.submit(job_manual("a"));
  EXPECT_THAT(test.set("x"), HasSubstr("task 'a': it does not run a script"));
  EXPECT_THAT(test.bundle.query({.what = "scripts", .group = "default", .task_id = "a"}),
              IsEmpty());
  Scripts once;
  once.bundle.submit(with_script(job_now("a"), "one"));
  EXPECT_THAT(once.set("x"), HasSubstr("task 'a' runs once"));
  Scripts empty;
  empty.bundle.submit(with_script(job_manual("a"), "one"));
  EXPECT_THAT(empty.set(""), HasSubstr("script.source is empty"));
  EXPECT_THAT(empty.set("x", "two\nlines"), HasSubstr("script.remark"));
}

TEST(ScriptVersions, TaskWithAGeneratedIdAcceptsANewVersion) {
  Scripts test;
  const std::string made = test.bundle.submit(with_script(job_manual(""), "first")).task_id;
  wire::Act act{.verb = Verb::kSetScript, .group = "default", .task_id = made};
  act.payload = "second";
  const wire::Message answer = test.bundle.act(std::move(act));
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(answer));
}

}  // namespace
}  // namespace carillon::jobtracker
