#include "jobclient/cli/job_flags.h"

#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "jobclient/cli/program.h"
#include "shared/base/time_text.h"

namespace carillon::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const WallTime kNow = parse_time("2026-11-21T08:00:00Z").value();

Result<JobSpec> read(std::vector<std::string> flags) {
  static const Program program = declare_program();
  flags.insert(flags.begin(), "submit");
  const Result<Parsed> parsed = parse_configuration(program, flags, Environment{});
  if (!parsed.ok()) return parsed.error();
  return job_from_flags(parsed.value().configuration, kNow, -1);
}

// A job with these flags and something to run.
JobSpec job(std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--handler", "noop"});
  Result<JobSpec> made = read(std::move(flags));
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? std::move(made).value() : JobSpec{};
}

std::string refusal(std::vector<std::string> flags) {
  const Result<JobSpec> made = read(std::move(flags));
  return made.ok() ? "it was taken" : made.error().message;
}

class TempFile {
 public:
  TempFile(const std::string& ending, const std::string& content) {
    static int count = 0;
    path_ = ::testing::TempDir() + "job_flags_" + std::to_string(::getpid()) + "_" +
            std::to_string(++count) + ending;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(JobFlags, KeepTheDefaultsOfAJobWhenAbsent) {
  JobSpec plain;
  plain.run.handler = "noop";
  EXPECT_EQ(job({}), plain);
}

TEST(JobFlags, SetTaskIdGroupDescriptionOwnerAndTags) {
  const JobSpec made = job({"--task-id", "nightly", "--group", "ops", "--description", "a backup",
                            "--owner", "ann", "--tags", "db,disk", "--replace-on-exist"});
  EXPECT_EQ(made.task_id, "nightly");
  EXPECT_EQ(made.group, "ops");
  EXPECT_EQ(made.description, "a backup");
  EXPECT_EQ(made.owner, "ann");
  EXPECT_THAT(made.tags, ElementsAre("db", "disk"));
  EXPECT_TRUE(made.replace_on_exist);
}

TEST(JobFlags, AcceptATimeOrADelay) {
  EXPECT_EQ(job({"--now"}).schedule.kind, ScheduleKind::kNow);
  const Schedule at = job({"--at", "2026-12-24T18:00:00+01:00"}).schedule;
  EXPECT_EQ(at.kind, ScheduleKind::kAt);
  EXPECT_EQ(format_time(at.at), "2026-12-24T17:00:00.000Z");
  EXPECT_EQ(job({"--at", "+90s"}).schedule.at, kNow + seconds{90});
  EXPECT_EQ(job({"--at", "2026-12-24 18:00:00", "--tz", "Europe/Berlin"}).schedule.at, at.at);
}

TEST(JobFlags, AcceptACronExpression) {
  const Schedule schedule =
      job({"--cron", "0 0 2 * * ?", "--tz", "Asia/Shanghai", "--dst", "twice"}).schedule;
  EXPECT_EQ(schedule.kind, ScheduleKind::kCron);
  EXPECT_EQ(schedule.cron, "0 0 2 * * ?");
  EXPECT_EQ(schedule.tz, "Asia/Shanghai");
  EXPECT_EQ(schedule.dst, DstRule::kTwice);
}

// Without any job tracker, as `jobclient next` does.
TEST(JobFlags, RefuseAnInvalidOrNeverFiringCron) {
  EXPECT_THAT(refusal({"--cron", "0 0 24 * * ?"}), HasSubstr("hour 24 is out of range 0-23"));
  EXPECT_THAT(refusal({"--cron", "0 0 2 30 2 ?"}), HasSubstr("cron '0 0 2 30 2 ?': "));
  EXPECT_THAT(refusal({"--cron", "0 0 2 * * ? 2020"}), HasSubstr("cron '0 0 2 * * ? 2020': "));
  EXPECT_THAT(refusal({"--cron", "0 0 2 * * ? 2020", "--tz", "Asia/Shanghai"}),
              HasSubstr("cron '0 0 2 * * ? 2020': "));
  // Past in UTC, but still to come where the job tracker may be.
  EXPECT_EQ(job({"--cron", "0 0 7 21 11 ? 2026"}).schedule.cron, "0 0 7 21 11 ? 2026");
  EXPECT_THAT(refusal({"--cron", "0 0 7 21 11 ? 2026", "--tz", "UTC"}), HasSubstr("2026"));
  // A zone that only the job tracker may know.
  EXPECT_EQ(job({"--cron", "@daily", "--tz", "Mars/Olympus"}).schedule.tz, "Mars/Olympus");
}

TEST(JobFlags, RefuseAnEmptyTaskId) {
  EXPECT_EQ(refusal({"--task-id", "", "--handler", "x"}),
            "--task-id: '' is empty (leave it out to get a generated one)");
}

TEST(JobFlags, RefuseAnEmptyZoneOrLanguage) {
  EXPECT_EQ(refusal({"--cron", "@daily", "--tz", "", "--handler", "x"}),
            "--tz: '' is empty (leave it out for the job tracker's zone)");
  EXPECT_THAT(refusal({"--script", "x.sh", "--language", ""}),
              HasSubstr("--language: '' is empty"));
}

TEST(JobFlags, RefuseRepeatedOrUnnamedParamsAndHeaders) {
  EXPECT_EQ(refusal({"--handler", "x", "--param", "a=1", "--param", "a=2"}),
            "--param 'a' was given twice");
  EXPECT_EQ(refusal({"--http", "http://h/", "--header", "X: 1", "--header", "X: 2"}),
            "--header 'X' was given twice");
  EXPECT_EQ(refusal({"--handler", "x", "--param", "=x"}),
            "--param '=x' has no name before the '=' (write NAME=VALUE)");
  EXPECT_EQ(refusal({"--handler", "x", "--param", "x"}),
            "--param 'x' has no '=' (write NAME=VALUE)");
}

TEST(JobFlags, RefuseADoubleDashWithoutACommand) {
  EXPECT_EQ(refusal({"--handler", "greet", "--"}),
            "nothing follows -- (write PROGRAM [ARGUMENT]... there, or leave out the --)");
}

TEST(JobFlags, RefuseParamsOfAnHttpJob) {
  EXPECT_EQ(refusal({"--http", "http://h/", "--param", "a=b"}),
            "params cannot be combined with http (put them into its url, headers or body)");
}

TEST(JobFlags, AcceptIntervalFixedDelayAndManualSchedules) {
  const Schedule every =
      job({"--every", "1h30m", "--count", "3", "--first", "2026-11-22T00:00:00Z"}).schedule;
  EXPECT_EQ(every.kind, ScheduleKind::kEvery);
  EXPECT_EQ(every.interval, minutes{90});
  EXPECT_EQ(every.count, 3);
  EXPECT_EQ(every.first, kNow + hours{16});
  const Schedule delay = job({"--fixed-delay", "5m", "--first", "+1m"}).schedule;
  EXPECT_EQ(delay.kind, ScheduleKind::kFixedDelay);
  EXPECT_EQ(delay.interval, minutes{5});
  EXPECT_EQ(delay.first, kNow + minutes{1});
  EXPECT_EQ(job({"--manual"}).schedule.kind, ScheduleKind::kManual);
}

TEST(JobFlags, AcceptPriorityTimeoutDeadlineAndOverlap) {
  const JobSpec made = job({"--manual", "--priority", "5", "--timeout", "1m", "--start-deadline",
                            "2h", "--overlap", "parallel"});
  EXPECT_EQ(made.priority, 5);
  EXPECT_EQ(made.timeout, minutes{1});
  EXPECT_EQ(made.start_deadline, hours{2});
  EXPECT_EQ(made.overlap, Overlap::kParallel);
  EXPECT_THAT(refusal({"--handler", "noop", "--overlap", "parallel"}),
              HasSubstr("overlap cannot be combined with now"));
}

TEST(JobFlags, AcceptRetries) {
  const RetryPolicy retries =
      job({"--retries", "4", "--retry-policy", "exponential", "--retry-base", "2s", "--retry-cap",
           "1m", "--retry-jitter", "0.25"})
          .retries;
  EXPECT_EQ(retries, (RetryPolicy{.max = 4,
                                  .policy = RetryBackoff::kExponential,
                                  .base = seconds{2},
                                  .cap = minutes{1},
                                  .jitter = 0.25}));
}

TEST(JobFlags, AcceptARetryBaseWithoutRetries) {
  EXPECT_EQ(job({"--retry-base", "1s"}).retries, (RetryPolicy{.max = 0, .base = seconds{1}}));
}

TEST(JobFlags, AcceptAMisfirePolicy) {
  const Misfire misfire = job({"--every", "1m", "--misfire", "fire_all", "--misfire-max", "50",
                               "--misfire-window", "6h", "--misfire-threshold", "30s"})
                              .misfire;
  EXPECT_EQ(misfire, (Misfire{.policy = MisfirePolicy::kFireAll,
                              .max = 50,
                              .window = hours{6},
                              .threshold = seconds{30}}));
  EXPECT_EQ(job({"--every", "1m", "--misfire", "skip"}).misfire.policy, MisfirePolicy::kSkip);
}

TEST(JobFlags, AcceptACommandAfterTheDoubleDash) {
  const JobSpec made = read({"--task-id", "x", "--", "echo", "-n", "--task-id", "y"}).value();
  EXPECT_EQ(made.task_id, "x");
  EXPECT_EQ(made.run.kind, RunKind::kCommand);
  EXPECT_THAT(made.run.command, ElementsAre("echo", "-n", "--task-id", "y"));
}

TEST(JobFlags, AcceptAShellLine) {
  const carillon::Run run = read({"--shell", "date | tee x"}).value().run;
  EXPECT_EQ(run.kind, RunKind::kShell);
  EXPECT_EQ(run.shell, "date | tee x");
}

TEST(JobFlags, SendTheTextOfAScript) {
  const TempFile file(".py", "print(1)\n");
  const carillon::Run run = read({"--script", file.path()}).value().run;
  EXPECT_EQ(run.kind, RunKind::kScript);
  EXPECT_EQ(run.script_language, "python");
  EXPECT_EQ(run.script_source, "print(1)\n");
}

TEST(JobFlags, DetectTheScriptLanguageByItsFirstLine) {
  const TempFile env("", "#!/usr/bin/env python3\nprint(1)\n");
  EXPECT_EQ(read({"--script", env.path()}).value().run.script_language, "python");
  const TempFile plain("", "#!/bin/bash -e\ntrue\n");
  EXPECT_EQ(read({"--script", plain.path()}).value().run.script_language, "bash");
  EXPECT_EQ(read({"--script", plain.path(), "--language", "sh"}).value().run.script_language, "sh");
  const TempFile unknown("", "print 1\n");
  EXPECT_THAT(refusal({"--script", unknown.path()}), HasSubstr("--language"));
}

TEST(JobFlags, AcceptAnHttpRequest) {
  const HttpRequest request =
      read({"--http", "https://example.org/run", "--method", "PUT", "--header", "X-Team: ops",
            "--header", "Accept:text/plain", "--body", "{}"})
          .value()
          .run.http;
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.url, "https://example.org/run");
  EXPECT_THAT(request.headers, ElementsAre(Pair("Accept", "text/plain"), Pair("X-Team", "ops")));
  EXPECT_EQ(request.body, "{}");
  EXPECT_EQ(read({"--http", "http://x/", "--body", "b"}).value().run.http.method, "POST");
}

TEST(JobFlags, AcceptAClientGroupForFeedback) {
  const JobSpec told = job({"--need-feedback", "--client-group", "billing"});
  EXPECT_TRUE(told.need_feedback);
  EXPECT_EQ(told.client_group, "billing");
  EXPECT_THAT(refusal({"--handler", "noop", "--need-feedback"}), HasSubstr("without client_group"));
}

TEST(JobFlags, AcceptChildJobs) {
  EXPECT_THAT(job({"--child", "ops/report", "--child", "default/a/b"}).children,
              ElementsAre(Child{.group = "ops", .task_id = "report"}, Child{.task_id = "a/b"}));
  EXPECT_EQ(refusal({"--handler", "noop", "--child", "report"}),
            "--child 'report' names no group (write GROUP/TASK_ID, like default/report)");
  EXPECT_EQ(refusal({"--handler", "noop", "--child", "default/"}),
            "the task_id of a child is empty");
}

TEST(JobFlags, AcceptParamsAndAPayload) {
  const JobSpec made =
      job({"--param", "day=2026-11-20", "--param", "query=a=b", "--payload", "hi"});
  EXPECT_THAT(made.params, ElementsAre(Pair("day", "2026-11-20"), Pair("query", "a=b")));
  EXPECT_EQ(made.payload, "hi");
}

TEST(JobFlags, AcceptABinaryPayloadFromAFile) {
  const std::string bytes("\0\xff\n\0", 4);
  const TempFile file(".bin", bytes);
  EXPECT_EQ(job({"--payload-file", file.path()}).payload, bytes);
}

TEST(JobFlags, ExplainWhyAPayloadFileCannotBeRead) {
  EXPECT_EQ(refusal({"--handler", "x", "--payload-file", "/no/such/file"}),
            "cannot read '/no/such/file': No such file or directory");
  EXPECT_EQ(refusal({"--handler", "x", "--payload-file", "/tmp"}),
            "cannot read '/tmp': Is a directory");
}

TEST(JobFlags, RefuseAPayloadThatIsTooLarge) {
  const TempFile file(".bin", std::string(kPayloadBytesMax + 1, 'x'));
  EXPECT_THAT(refusal({"--handler", "x", "--payload-file", file.path()}),
              HasSubstr("too large, the limit is 1048576 bytes"));
}

TEST(JobFlags, RefuseContradictoryFlags) {
  EXPECT_EQ(refusal({"--handler", "x", "--cron", "* * * * *", "--every", "5m"}),
            "--cron and --every contradict each other (give one)");
  EXPECT_EQ(refusal({"--handler", "x", "--shell", "y"}),
            "--shell and --handler contradict each other (give one)");
  EXPECT_EQ(refusal({"--shell", "y", "--", "echo"}),
            "--shell and a command after -- contradict each other (give one)");
  EXPECT_EQ(refusal({"--handler", "x", "--payload", "a", "--payload-file", "b"}),
            "--payload and --payload-file contradict each other (give one)");
}

TEST(JobFlags, RefuseFlagsThatRequireAnotherFlag) {
  EXPECT_EQ(refusal({"--handler", "x", "--tz", "UTC"}), "--tz goes with --cron and --at only");
  EXPECT_EQ(refusal({"--handler", "x", "--count", "3"}),
            "--count goes with --every and --fixed-delay only");
  EXPECT_EQ(refusal({"--handler", "x", "--body", "b"}), "--body goes with --http only");
  EXPECT_EQ(refusal({"--handler", "x", "--language", "sh"}), "--language goes with --script only");
  EXPECT_EQ(refusal({"--handler", "x", "--retry-jitter", "0.5"}),
            "--retry-jitter goes with --retries only");
  EXPECT_EQ(refusal({"--handler", "x", "--misfire-max", "1"}),
            "--misfire-max goes with --misfire fire_all only");
  EXPECT_EQ(refusal({"--handler", "x", "--retries", "3", "--retry-policy", "exponential",
                     "--retry-cap", "1s"}),
            "--retry-cap is 1s, must be at least --retry-base, which is 30s");
}

TEST(JobFlags, AcceptRouteBlockAndExecutorAddresses) {
  const JobSpec pushed = job({"--route", "ROUND", "--block", "COVER_EARLY", "--address",
                              "http://10.0.0.1:9999/", "--address", "http://10.0.0.2:9999/"});
  EXPECT_EQ(pushed.dispatch, Dispatch::kPush);
  EXPECT_EQ(pushed.push.route, Route::kRound);
  EXPECT_EQ(pushed.push.block, Block::kCoverEarly);
  EXPECT_THAT(pushed.push.addresses, ElementsAre("http://10.0.0.1:9999/", "http://10.0.0.2:9999/"));
  EXPECT_EQ(pushed.overlap, Overlap::kCancelRunning);
  EXPECT_EQ(job({"--block", "COVER_EARLY", "--overlap", "queue"}).overlap, Overlap::kQueue);
  EXPECT_EQ(job({"--dispatch", "push"}).overlap, Overlap::kSkip);
  EXPECT_EQ(refusal({"--handler", "x", "--dispatch", "pull", "--route", "ROUND"}),
            "--route goes with --dispatch push only");
  EXPECT_THAT(refusal({"--handler", "x", "--route", "round"}), HasSubstr("ROUND"));
}

TEST(JobFlags, RefuseAJobWithNothingToRun) {
  EXPECT_THAT(refusal({"--task-id", "x"}), HasSubstr("nothing to run"));
}

TEST(JobFlags, NameTheFlagOfAnInvalidValue) {
  EXPECT_THAT(refusal({"--handler", "x", "--at", "tomorrow"}), HasSubstr("--at: 'tomorrow'"));
  EXPECT_THAT(refusal({"--handler", "x", "--at", "+5"}), HasSubstr("without a unit"));
  EXPECT_THAT(refusal({"--handler", "x", "--at", "5m"}), HasSubstr("(write +5m "));
  EXPECT_THAT(refusal({"--handler", "x", "--at", "2026-12-01 08:00:00"}), HasSubstr("--tz"));
  EXPECT_THAT(refusal({"--handler", "x", "--priority", "1000"}), HasSubstr("priority"));
  EXPECT_THAT(refusal({"--handler", "x", "--param", "novalue"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal({"--handler", "x", "--retries", "1", "--retry-jitter", "2"}),
              HasSubstr("--retry-jitter '2'"));
  EXPECT_THAT(refusal({"--handler", "x", "--group", "no spaces"}), HasSubstr("no spaces"));
}

}  // namespace
}  // namespace carillon::cli
