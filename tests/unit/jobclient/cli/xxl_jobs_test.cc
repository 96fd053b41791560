#include "jobclient/cli/xxl_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/time_text.h"

namespace carillon::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WallTime xxl_time(const std::string& text) { return parse_time(text).value(); }

std::int64_t xxl_ms(const std::string& text) {
  return std::chrono::floor<std::chrono::milliseconds>(xxl_time(text)).time_since_epoch().count();
}

XxlOptions xxl_options() {
  XxlOptions options;
  options.zone = Zone::load("Asia/Shanghai").value();
  options.now = xxl_time("2026-11-21T20:00:00Z");
  options.dispatch = XxlDispatch::kPull;
  return options;
}

// As its admin stores one that it runs.
XxlJob xxl_row() {
  return {.id = 17,
          .group = 3,
          .name = "月报",
          .author = "ann",
          .schedule_type = "CRON",
          .schedule_conf = "0 30 2 * * ?",
          .misfire = "DO_NOTHING",
          .route = "ROUND",
          .handler = "monthly",
          .param = "region=eu",
          .block = "SERIAL_EXECUTION",
          .glue_type = "BEAN",
          .is_running = true,
          .next_ms = xxl_ms("2026-11-22T18:30:00Z")};
}

XxlDatabase xxl_database(std::vector<XxlJob> jobs) {
  return {.groups = {{.id = 3, .app_name = "billing", .title = "Billing"},
                     {.id = 4, .app_name = "mail", .is_manual = true, .addresses = "http://m:1/"}},
          .jobs = std::move(jobs)};
}

XxlEntry xxl_entry(const XxlJob& row, const XxlOptions& options = xxl_options()) {
  auto entries = read_xxl_jobs(xxl_database({row}), options);
  EXPECT_EQ(entries.size(), 1u);
  return std::move(entries.at(0));
}

TEST(XxlJobs, CronJobKeepsItsExpressionInTheAdminsZone) {
  XxlJob row = xxl_row();
  row.timeout_s = 90;
  row.retries = 2;
  const XxlEntry entry = xxl_entry(row);
  const JobSpec& job = entry.job.value();
  EXPECT_EQ(job.task_id, "xxl-17");
  EXPECT_EQ(job.group, "billing");
  EXPECT_EQ(job.description, "月报");
  EXPECT_EQ(job.owner, "ann");
  EXPECT_EQ(job.schedule.cron, "0 30 2 * * ?");
  EXPECT_EQ(job.schedule.tz, "Asia/Shanghai");
  EXPECT_EQ(job.run.handler, "monthly");
  EXPECT_EQ(job.payload, "region=eu");
  EXPECT_EQ(job.timeout, std::chrono::seconds{90});
  EXPECT_EQ(job.retries.max, 2);
  EXPECT_EQ(job.retries.base, std::chrono::seconds{10});
  EXPECT_FALSE(entry.is_suspended);
  EXPECT_THAT(entry.notes, IsEmpty());
}

TEST(XxlJobs, MapsBlockAndMisfireStrategies) {
  XxlJob row = xxl_row();
  const auto overlap = [&row](const char* block) {
    row.block = block;
    return xxl_entry(row).job.value().overlap;
  };
  EXPECT_EQ(overlap("SERIAL_EXECUTION"), Overlap::kQueue);
  EXPECT_EQ(overlap("DISCARD_LATER"), Overlap::kSkip);
  EXPECT_EQ(overlap("COVER_EARLY"), Overlap::kCancelRunning);
  EXPECT_EQ(overlap(""), Overlap::kQueue);
  EXPECT_EQ(xxl_entry(row).job.value().misfire.policy, MisfirePolicy::kSkip);
  row.misfire = "FIRE_ONCE_NOW";
  EXPECT_EQ(xxl_entry(row).job.value().misfire.policy, MisfirePolicy::kFireOnce);
  EXPECT_THAT(xxl_entry(row).notes, IsEmpty());
  row.misfire = "FIRE_TWICE";
  row.block = "SERIAL";
  EXPECT_EQ(xxl_entry(row).job.value().misfire.policy, MisfirePolicy::kSkip);
  EXPECT_THAT(xxl_entry(row).notes,
              ElementsAre("block strategy 'SERIAL' is unknown: SERIAL_EXECUTION is used",
                          "misfire strategy 'FIRE_TWICE' is unknown: DO_NOTHING is used"));
}

TEST(XxlJobs, StoppedJobIsSuspendedUnlessItHasNoSchedule) {
  XxlJob row = xxl_row();
  row.is_running = false;
  row.next_ms = 0;
  EXPECT_TRUE(xxl_entry(row).is_suspended);
  row.schedule_type = "NONE";
  const XxlEntry manual = xxl_entry(row);
  EXPECT_FALSE(manual.is_suspended);
  EXPECT_EQ(manual.job.value().schedule.kind, ScheduleKind::kManual);
  EXPECT_EQ(manual.job.value().schedule.cron, "");
}

TEST(XxlJobs, FixedRateJobKeepsItsGrid) {
  XxlJob row = xxl_row();
  row.schedule_type = "FIX_RATE";
  row.schedule_conf = "45";
  row.next_ms = xxl_ms("2026-11-21T20:00:07Z");
  XxlEntry entry = xxl_entry(row);
  EXPECT_EQ(entry.schedule, "every 45s");
  EXPECT_EQ(entry.job.value().schedule.interval, std::chrono::seconds{45});
  EXPECT_EQ(entry.job.value().schedule.first, xxl_time("2026-11-21T20:00:07Z"));
  EXPECT_THAT(entry.notes, IsEmpty());
  row.next_ms = xxl_ms("2026-11-21T19:59:00Z");
  entry = xxl_entry(row);
  EXPECT_EQ(entry.job.value().schedule.first, xxl_time("2026-11-21T20:00:30Z"));
  EXPECT_THAT(entry.notes, ElementsAre(HasSubstr("has overdue fires in xxl-job")));
  row.is_running = false;
  // Not before it can be suspended.
  EXPECT_EQ(xxl_entry(row).job.value().schedule.first, xxl_time("2026-11-21T20:00:45Z"));
  for (const char* wrong : {"", "0", "-1", "1m", "99999999999"}) {
    row.schedule_conf = wrong;
    EXPECT_THAT(xxl_entry(row).job.error().message, HasSubstr("must be 1 to 2147483647 (seconds)"))
        << wrong;
  }
}

TEST(XxlJobs, SurvivesTimesThatNoClockShows) {
  XxlJob row = xxl_row();
  row.next_ms = INT64_MAX;
  EXPECT_THAT(xxl_entry(row).notes, ElementsAre(HasSubstr("fires planned that do not exist")));
  row.glue_type = "GLUE_SHELL";
  row.glue_source = "b";
  XxlDatabase database = xxl_database({row});
  database.scripts[17] = {{.glue_type = "GLUE_SHELL", .source = "a", .saved_s = INT64_MAX},
                          {.glue_type = "GLUE_SHELL", .source = "c", .saved_s = INT64_MIN}};
  const XxlEntry entry = read_xxl_jobs(database, xxl_options()).at(0);
  ASSERT_EQ(entry.scripts.size(), 2u);
  EXPECT_LT(entry.scripts[0].version, entry.scripts[1].version);
}

TEST(XxlJobs, NotesThatXxlJobFiresInAnotherTimeZone) {
  XxlJob row = xxl_row();
  row.next_ms = xxl_ms("2026-11-22T01:30:00Z");
  EXPECT_THAT(xxl_entry(row).notes, ElementsAre(HasSubstr("--tz must be the zone")));
}

TEST(XxlJobs, RefusesUnsupportedSettingsByName) {
  const auto refusal = [](auto change, XxlOptions options = xxl_options()) {
    XxlJob row = xxl_row();
    change(row);
    return xxl_entry(row, options).job.error().message;
  };
  EXPECT_THAT(refusal([](XxlJob& row) { row.schedule_conf = "0 0 0 1 1 ? 2020"; }),
              HasSubstr("its last year, 2020, has passed"));
  EXPECT_THAT(refusal([](XxlJob& row) { row.schedule_conf = ""; }), HasSubstr("cron"));
  EXPECT_THAT(refusal([](XxlJob& row) { row.schedule_type = "FIX_DELAY"; }),
              HasSubstr("its schedule type is 'FIX_DELAY'"));
  EXPECT_THAT(refusal([](XxlJob& row) { row.handler = " "; }), HasSubstr("names no handler"));
  EXPECT_THAT(refusal([](XxlJob& row) { row.group = 9; }), HasSubstr("executor group 9"));
  EXPECT_THAT(refusal([](XxlJob& row) { row.glue_type = "GLUE_GROOVY"; }),
              HasSubstr("GLUE_GROOVY needs an executor in Java"));
  EXPECT_THAT(refusal([](XxlJob& row) { row.route = "SHARDING_BROADCAST"; }),
              HasSubstr("SHARDING_BROADCAST"));
  XxlOptions push = xxl_options();
  push.dispatch = XxlDispatch::kPush;
  EXPECT_THAT(refusal([](XxlJob& row) { row.route = "NEAREST"; }, push),
              HasSubstr("route NEAREST is unknown"));
}

TEST(XxlJobs, PushedJobKeepsItsRouteBlockAndScript) {
  XxlOptions push = xxl_options();
  push.dispatch = XxlDispatch::kPush;
  XxlJob row = xxl_row();
  row.route = "SHARDING_BROADCAST";
  row.block = "COVER_EARLY";
  const XxlEntry entry = xxl_entry(row, push);
  const JobSpec& job = entry.job.value();
  EXPECT_EQ(job.dispatch, Dispatch::kPush);
  EXPECT_EQ(job.push.route, Route::kShardingBroadcast);
  EXPECT_EQ(job.push.block, Block::kCoverEarly);
  EXPECT_EQ(job.overlap, Overlap::kCancelRunning);
  EXPECT_EQ(job.payload, "region=eu");
  EXPECT_THAT(entry.notes, IsEmpty());
  row.glue_type = "GLUE_GROOVY";
  row.glue_source = "class A {}";
  EXPECT_EQ(xxl_entry(row, push).job.value().run.script_language, "groovy");
}

TEST(XxlJobs, ScriptKeepsItsSourceAndVersions) {
  XxlJob row = xxl_row();
  row.glue_type = "GLUE_SHELL";
  row.glue_source = "#!/bin/bash\r\necho $1\r\n";
  XxlDatabase database = xxl_database({row});
  database.scripts[17] = {{.glue_type = "GLUE_PYTHON", .source = "print(1)", .saved_s = 1000},
                          {.glue_type = "GLUE_NONE", .source = "?", .saved_s = 1000},
                          {.glue_type = "GLUE_SHELL", .source = "a\r\n", .remark = "try"},
                          {.glue_type = "GLUE_SHELL",
                           .source = "#!/bin/bash\necho $1\n",
                           .remark = "says it",
                           .saved_s = 2000}};
  const XxlEntry entry = read_xxl_jobs(database, xxl_options()).at(0);
  EXPECT_EQ(entry.job.value().run.script_remark, "says it");
  ASSERT_EQ(entry.scripts.size(), 2u);
  EXPECT_EQ(entry.scripts[0].language, "python");
  EXPECT_EQ(entry.scripts[0].version, 1'000'000);
  EXPECT_EQ(entry.scripts[1].source, "a\n");
  EXPECT_EQ(entry.scripts[1].remark, "try");
  EXPECT_EQ(entry.scripts[1].version, 1'000'002);
  EXPECT_EQ(entry.job.value().run.script_language, "bash");
  EXPECT_EQ(entry.job.value().run.script_source, "#!/bin/bash\necho $1\n");
  EXPECT_THAT(entry.notes, ElementsAre(HasSubstr("the parameter on stdin")));
  const std::pair<const char*, const char*> languages[] = {{"GLUE_PYTHON", "python"},
                                                           {"GLUE_PYTHON2", "python2"},
                                                           {"GLUE_PHP", "php"},
                                                           {"GLUE_NODEJS", "node"},
                                                           {"GLUE_POWERSHELL", "powershell"}};
  for (const auto& [glue, language] : languages) {
    row.glue_type = glue;
    EXPECT_EQ(xxl_entry(row).job.value().run.script_language, language);
  }
}

TEST(XxlJobs, NamesChildrenByGroupAndTaskId) {
  XxlJob parent = xxl_row();
  parent.children = " 18,19 ,,17, 77,18,x";
  XxlJob child = xxl_row();
  child.id = 18;
  XxlJob other = xxl_row();
  other.id = 19;
  other.group = 4;
  XxlOptions options = xxl_options();
  options.groups = {"billing"};
  const auto entries = read_xxl_jobs(xxl_database({parent, child, other}), options);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_THAT(entries[0].job.value().children,
              ElementsAre(Child{.group = "billing", .task_id = "xxl-18"},
                          Child{.group = "mail", .task_id = "xxl-19"}));
  EXPECT_THAT(entries[0].notes,
              ElementsAre(HasSubstr("names itself"), HasSubstr("child job 77 does not exist"),
                          HasSubstr("child job x does not exist")));
}

TEST(XxlJobs, CutsALoopOfChildrenAtItsLastJob) {
  const auto job = [](std::int64_t id, std::string children, std::int64_t group = 3) {
    XxlJob row = xxl_row();
    row.id = id;
    row.group = group;
    row.children = std::move(children);
    return row;
  };
  const auto children = [](const XxlEntry& entry) {
    std::string all;
    for (const Child& child : entry.job.value().children) all += child.task_id + " ";
    return all;
  };
  // 17 -> 18 -> 19 -> 17, and 20 beside it, from which two ways lead to 19.
  const XxlDatabase database = xxl_database(
      {job(17, "18"), job(18, "19"), job(19, "17,21", 4), job(20, "18,19"), job(21, "")});
  const auto entries = read_xxl_jobs(database, xxl_options());
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(children(entries[0]), "xxl-18 ");
  EXPECT_EQ(children(entries[1]), "xxl-19 ");
  EXPECT_EQ(children(entries[2]), "xxl-21 ");
  EXPECT_THAT(entries[2].notes, ElementsAre("child job 17 triggers it in turn: left out"));
  EXPECT_EQ(children(entries[3]), "xxl-18 xxl-19 ");
  EXPECT_THAT(entries[3].notes, IsEmpty());
  // Also when its jobs are taken over group by group.
  XxlOptions mail = xxl_options();
  mail.groups = {"mail"};
  const auto alone = read_xxl_jobs(database, mail);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(children(alone[0]), "xxl-21 ");
}

TEST(XxlJobs, OmitsARefusedChildFromItsParent) {
  XxlJob parent = xxl_row();
  parent.children = "18,19";
  XxlJob refused = xxl_row();
  refused.id = 18;
  refused.handler = "";
  XxlJob child = xxl_row();
  child.id = 19;
  const auto entries = read_xxl_jobs(xxl_database({parent, refused, child}), xxl_options());
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_FALSE(entries[1].job.ok());
  EXPECT_THAT(entries[0].job.value().children,
              ElementsAre(Child{.group = "billing", .task_id = "xxl-19"}));
  EXPECT_THAT(entries[0].notes, ElementsAre("child job 18 cannot be imported: left out"));
}

TEST(XxlJobs, KeepsTheAlarmAddresses) {
  XxlJob row = xxl_row();
  row.alarm_email = "ops@example.com , ann,bob@example.com,bob@example.com";
  const auto entry = xxl_entry(row);
  EXPECT_THAT(entry.job.value().alarm, ElementsAre("ops@example.com", "bob@example.com"));
  EXPECT_THAT(entry.notes, ElementsAre("alarm e-mail 'ann' is not an address: left out"));
}

TEST(XxlJobs, NotesOmittedSettings) {
  XxlJob row = xxl_row();
  row.route = "FIRST";
  EXPECT_THAT(xxl_entry(row).notes, ElementsAre(HasSubstr("route FIRST")));
}

TEST(XxlJobs, ListsGroupsAndUsersThatAreNotImported) {
  XxlDatabase database = xxl_database({});
  database.users = {
      {.name = "admin", .is_admin = true}, {.name = "ann", .groups = "3,4,9"}, {.name = "guest"}};
  XxlOptions options = xxl_options();
  options.dispatch = XxlDispatch::kPush;
  const auto left = what_xxl_leaves(database, options);
  ASSERT_EQ(left.size(), 5u);
  EXPECT_EQ(left[0].name, "billing");
  EXPECT_EQ(left[0].title, "Billing");
  EXPECT_THAT(left[0].note, HasSubstr("register here"));
  EXPECT_THAT(left[1].note,
              HasSubstr("jobclient groups add mail --executor --address http://m:1/"));
  EXPECT_THAT(left[2].note, HasSubstr("administrator;"));
  EXPECT_THAT(left[3].note, HasSubstr("may use billing, mail, 9;"));
  EXPECT_THAT(left[4].note, HasSubstr("may use no group;"));
  options.groups = {"mail"};
  EXPECT_EQ(what_xxl_leaves(database, options).size(), 1u);
}

}  // namespace
}  // namespace carillon::cli
