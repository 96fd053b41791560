#include "jobclient/cli/crontab.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string data(const std::string& name) {
  std::ifstream file(std::string{CARILLON_TEST_DATA} + "/crontab/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

CrontabOptions options() { return {.users = {"root"}, .tz = "Europe/Berlin"}; }

std::vector<CrontabEntry> personal() { return read_crontab(data("personal"), options()); }

// The entry on a line of tests/data/crontab/personal.
CrontabEntry entry_on(std::int64_t line) {
  for (const CrontabEntry& entry : personal()) {
    if (entry.line == line) return entry;
  }
  ADD_FAILURE() << "no entry on line " << line;
  return {};
}

JobSpec only_job(const std::string& crontab, const CrontabOptions& how = options()) {
  const auto entries = read_crontab(crontab, how);
  EXPECT_EQ(entries.size(), 1u);
  EXPECT_TRUE(entries[0].job.ok()) << entries[0].job.error().message;
  return entries[0].job.value();
}

TEST(Crontab, FindsEveryEntryAndNothingElse) {
  std::vector<std::int64_t> lines;
  for (const CrontabEntry& entry : personal()) lines.push_back(entry.line);
  EXPECT_THAT(lines, ElementsAre(7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 23));
}

TEST(Crontab, AcceptsAByteOrderMark) {
  EXPECT_EQ(only_job("\xEF\xBB\xBF"
                     "0 1 * * * echo hi\n")
                .schedule.cron,
            "0 1 * * *");
}

TEST(Crontab, KeepsTheScheduleUnchanged) {
  const JobSpec job = entry_on(7).job.value();
  EXPECT_EQ(job.schedule.kind, ScheduleKind::kCron);
  EXPECT_EQ(job.schedule.cron, "*/5 * * * *");
  EXPECT_EQ(job.schedule.tz, "Europe/Berlin");
  EXPECT_EQ(job.schedule.dst, DstRule::kAuto);
  EXPECT_EQ(entry_on(10).job.value().schedule.cron, "0 9-17/2 * * MON-FRI");
  EXPECT_EQ(entry_on(11).job.value().schedule.cron, "@daily");
}

TEST(Crontab, AllowsOverlapLikeCron) {
  EXPECT_EQ(entry_on(7).job.value().overlap, Overlap::kParallel);
}

TEST(Crontab, RunsTheCommandInTheShellOfTheCrontab) {
  const carillon::Run run = entry_on(7).job.value().run;
  EXPECT_EQ(run.kind, RunKind::kCommand);
  EXPECT_THAT(run.command, ElementsAre("/bin/bash", "-c",
                                       "export PATH='/usr/local/bin:/usr/bin:/bin'\n"
                                       "cd \"${HOME:-/}\" || exit\n"
                                       "/usr/local/bin/check-disk --quiet"));
}

TEST(Crontab, RunsTheCommandInTheDefaultShellOtherwise) {
  const carillon::Run run = only_job("* * * * * date | tee x\n").run;
  EXPECT_EQ(run.kind, RunKind::kShell);
  EXPECT_EQ(run.shell, "cd \"${HOME:-/}\" || exit\ndate | tee x");
}

TEST(Crontab, QuotesTheEnvironmentForTheShell) {
  EXPECT_THAT(only_job("GREETING = \"it's a $day\"\n* * * * * greet\n").run.shell,
              StartsWith("export GREETING='it'\\''s a $day'\n"));
}

TEST(Crontab, AppliesAnEnvironmentLineToLaterEntries) {
  const auto entries = read_crontab("* * * * * a\nX=1\n* * * * * b\n", options());
  EXPECT_EQ(entries[0].job.value().run.shell.find("export X"), std::string::npos);
  EXPECT_THAT(entries[1].job.value().run.shell, StartsWith("export X='1'\n"));
}

TEST(Crontab, PassesTextAfterAPercentSignToStdin) {
  const CrontabEntry entry = entry_on(14);
  EXPECT_EQ(entry.job.value().payload, "Dear Ann,\n\nhave a rest\n");
  EXPECT_THAT(entry.job.value().run.command[2], HasSubstr("\nmail -s \"It is 10:15%\" ann"));
  EXPECT_THAT(entry.note, HasSubstr("stdin"));
}

TEST(Crontab, RefusesARebootEntryWithTheReason) {
  EXPECT_THAT(entry_on(13).job.error().message, HasSubstr("cannot start with the machine"));
}

TEST(Crontab, RefusesAnInvalidScheduleWithTheReason) {
  EXPECT_THAT(entry_on(17).job.error().message, HasSubstr("61 is out of range"));
  EXPECT_FALSE(entry_on(18).job.ok());
  EXPECT_THAT(entry_on(19).job.error().message, HasSubstr("no command"));
}

TEST(Crontab, UsesCronTzForSchedulesAndTzForCommands) {
  const CrontabEntry new_york = entry_on(21);
  EXPECT_EQ(new_york.job.value().schedule.tz, "America/New_York");
  const CrontabEntry with_tz = entry_on(23);
  EXPECT_EQ(with_tz.job.value().schedule.tz, "America/New_York");
  EXPECT_THAT(with_tz.job.value().run.command[2], HasSubstr("export TZ='UTC'\n"));
  EXPECT_THAT(only_job("TZ=UTC\n* * * * * x\n").schedule.tz, "Europe/Berlin");
}

TEST(Crontab, RefusesAnUnknownZone) {
  const auto entries = read_crontab("CRON_TZ=Mars/Olympus\n* * * * * x\n", options());
  EXPECT_THAT(entries[0].job.error().message, HasSubstr("Mars/Olympus"));
}

TEST(Crontab, NotesThatOutputIsNotMailed) {
  EXPECT_THAT(entry_on(7).note, HasSubstr("not mailed"));
  EXPECT_EQ(read_crontab("MAILTO=\"\"\n* * * * * x\n", options())[0].note, "");
}

TEST(Crontab, GivesTheSameTaskIdsInEveryImport) {
  std::vector<std::string> first;
  std::vector<std::string> second;
  for (const auto& entry : personal()) {
    if (entry.job.ok()) first.push_back(entry.job.value().task_id);
  }
  for (const auto& entry : personal()) {
    if (entry.job.ok()) second.push_back(entry.job.value().task_id);
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), first.size());
  EXPECT_THAT(first[0], StartsWith("cron-check-disk-"));
  EXPECT_THAT(first[1], StartsWith("cron-backup-sh-"));
}

TEST(Crontab, KeepsTheTaskIdWhenTheScheduleChanges) {
  EXPECT_EQ(only_job("0 1 * * * backup\n").task_id, only_job("0 2 * * * backup\n").task_id);
}

TEST(Crontab, NumbersTheTaskIdsOfARepeatedCommand) {
  const auto entries = read_crontab("0 1 * * * backup\n0 2 * * * backup\n", options());
  EXPECT_EQ(entries[1].job.value().task_id, entries[0].job.value().task_id + "-2");
}

TEST(Crontab, WarnsThatOutputOfBackgroundCommandsIsNotKept) {
  for (const char* line : {"x &", "x; y &\t", "x &%input"}) {
    EXPECT_THAT(read_crontab("* * * * * " + std::string{line} + "\n", options())[0].note,
                HasSubstr("redirect"))
        << line;
  }
  EXPECT_EQ(read_crontab("* * * * * x & wait\n", options())[0].note, "");
}

TEST(Crontab, DetectsASystemCrontabByItsRootEntries) {
  const auto entries = read_crontab(data("system"), options());
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].user, "root");
  EXPECT_EQ(entries[0].command, "cd / && run-parts --report /etc/cron.hourly");
  EXPECT_EQ(entries[0].job.value().owner, "root");
  EXPECT_EQ(entries[2].user, "www-data");
}

TEST(Crontab, DetectsASystemCrontabByItsPath) {
  CrontabOptions how = options();
  how.path = "/etc/cron.d/cache";
  EXPECT_EQ(read_crontab("* * * * * www-data purge\n", how)[0].user, "www-data");
  how.path = "cache";
  EXPECT_EQ(read_crontab("* * * * * www-data purge\n", how)[0].command, "www-data purge");
}

TEST(Crontab, UsesTheRequestedForm) {
  CrontabOptions how = options();
  how.form = CrontabOptions::Form::kUser;
  EXPECT_EQ(read_crontab(data("system"), how)[2].command, "www-data\t/usr/bin/purge-cache");
  how.form = CrontabOptions::Form::kSystem;
  EXPECT_EQ(read_crontab("* * * * * nobody-here x\n", how)[0].user, "nobody-here");
}

TEST(Crontab, RefusesEntriesOfOtherUsersUnlessAllowed) {
  CrontabOptions how = options();
  const auto refused = read_crontab(data("system"), how);
  EXPECT_THAT(refused[2].job.error().message, HasSubstr("--user www-data"));
  how.users = {"root", "www-data"};
  const auto taken = read_crontab(data("system"), how);
  EXPECT_TRUE(taken[2].job.ok());
  EXPECT_FALSE(taken[3].job.ok());
}

TEST(Crontab, GivesEveryJobTheChosenGroupAndRules) {
  CrontabOptions how = options();
  how.group = "ops";
  how.overlap = Overlap::kSkip;
  how.misfire = MisfirePolicy::kFireAll;
  how.replace = true;
  how.id_prefix = "host1-";
  const JobSpec job = only_job("* * * * * x\n", how);
  EXPECT_EQ(job.group, "ops");
  EXPECT_EQ(job.overlap, Overlap::kSkip);
  EXPECT_EQ(job.misfire.policy, MisfirePolicy::kFireAll);
  EXPECT_TRUE(job.replace_on_exist);
  EXPECT_THAT(job.task_id, StartsWith("host1-x-"));
}

TEST(Crontab, CutsTheDescriptionOfALongCommandBetweenCharacters) {
  std::string command = "echo ";
  for (int i = 0; i < 2000; ++i) command += "月";
  for (const char* before : {"", "x", "xx"}) {
    const JobSpec job = only_job("* * * * * " + std::string{before} + command + "\n");
    EXPECT_THAT(job.run.shell, HasSubstr(command));
    EXPECT_LE(job.description.size(), kTextBytesMax);
    EXPECT_GE(job.description.size(), kTextBytesMax - 2);
  }
}

TEST(Crontab, RefusesCommandsThatAreNoText) {
  using namespace std::string_literals;
  for (const std::string& command : {"\xff"s, "a\0b"s}) {
    const auto entries = read_crontab("* * * * * " + command + "\n", options());
    EXPECT_EQ(entries.at(0).job.error().message,
              "its command is not valid UTF-8 text without zero bytes");
  }
}

TEST(Crontab, AcceptsWindowsLineEndings) {
  EXPECT_EQ(read_crontab("* * * * * x\r\n", options())[0].command, "x");
}

TEST(Crontab, HasNoEntriesWhenItIsEmpty) {
  EXPECT_TRUE(read_crontab("\n# x\n", options()).empty());
}

}  // namespace
}  // namespace carillon::cli
