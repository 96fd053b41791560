#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "shared/base/random.h"
#include "shared/runtime/wakeup.h"
#include "tests/integration/tasktracker/alive.h"
#include "tests/integration/tasktracker/worker_bundle.h"
#include "tests/support/temp_folder.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using wire::RunOutcome;

// A worker with one thread and one tracker.
struct CommandBundle : WorkerBundle {
  explicit CommandBundle(Options options = {}) : WorkerBundle(std::move(options)) { start(); }

  // What it wrote to one stream.
  std::string output_of(wire::Stream stream) {
    std::string text;
    for (const wire::OutputChunk& chunk : tracker().chunks) {
      if (chunk.stream == stream) text += chunk.bytes;
    }
    return text;
  }
  // Submits it and waits until it has written this.
  void start_run(const JobSpec& spec, const std::string& text) {
    const std::int64_t job = ++last_job;
    tracker().submit(job, spec);
    ASSERT_TRUE(until([&] { return tracker().output_of(job).find(text) != std::string::npos; }));
  }
};

TEST(Command, ReceivesItsArgumentsUnchanged) {
  CommandBundle b;
  const auto result = b.run(CommandBundle::command({"printf", "%s|", "a b", "$HOME", "*", ""}));
  EXPECT_EQ(result.outcome, RunOutcome::kSucceeded);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(b.output(), "a b|$HOME|*||");
}

// The worker is stopped while it makes a child, and goes on an hour later.
class StoppedClock final : public Clock {
 public:
  WallTime wall_now() const override { return {}; }
  SteadyTime steady_now() const override {
    return SteadyTime{std::chrono::hours{::getpid() == worker_ ? 1 : 2}};
  }

 private:
  const pid_t worker_ = ::getpid();
};

TEST(Command, DoesNotStartAfterItsLeaseEnded) {
  const StoppedClock clock;
  const Environment environment;
  const Handlers handlers;
  const HttpSend http;
  const testing::TempFolder folder;
  Runner runner({.node = "host-1", .allow = {RunKind::kShell}}, handlers, environment, http, clock);
  ASSERT_TRUE(runner.start().ok());
  Wakeup ended;
  RunPool pool({}, runner, clock, [&] { ended.signal(); });
  ASSERT_TRUE(pool.start().ok());
  const JobSpec spec = CommandBundle::shell("touch " + folder.file("begun"));
  pool.add({{.id = {JobId{1}, 1}, .spec = wire::encode_spec(spec)}},
           clock.steady_now() + seconds{3});
  ended.wait();
  PoolNews news;
  pool.collect(news, false);
  ASSERT_THAT(news.ended, SizeIs(1));
  EXPECT_TRUE(news.ended[0].came_late);
  EXPECT_FALSE(std::filesystem::exists(folder.file("begun")));
}

TEST(Command, KeepsStdoutAndStderrSeparate) {
  CommandBundle b;
  (void)b.run(CommandBundle::shell("echo out; echo err >&2"));
  EXPECT_EQ(b.output_of(wire::Stream::kStdout), "out\n");
  EXPECT_EQ(b.output_of(wire::Stream::kStderr), "err\n");
}

TEST(Command, FailureReportsExitStatusAndLastStderrLine) {
  CommandBundle b;
  const auto result = b.run(CommandBundle::shell("echo one >&2; echo 'disk full' >&2; exit 3"));
  EXPECT_EQ(result.outcome, RunOutcome::kException);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.message, "exit status 3: disk full");
}

TEST(Command, RunsLaterAfterExitStatus75) {
  CommandBundle b;
  JobSpec spec = CommandBundle::shell("exit 75");
  spec.retries.base = seconds{17};
  const auto result = b.run(spec);
  EXPECT_EQ(result.outcome, RunOutcome::kLater);
  EXPECT_EQ(result.later, seconds{17});
}

TEST(Command, FailsPermanentlyAfterExitStatus76) {
  CommandBundle b;
  EXPECT_EQ(b.run(CommandBundle::shell("exit 76")).outcome, RunOutcome::kFailed);
}

TEST(Command, ReportsTheSignalThatKilledIt) {
  CommandBundle b;
  const auto result = b.run(CommandBundle::shell("kill -9 $$"));
  EXPECT_EQ(result.outcome, RunOutcome::kException);
  EXPECT_EQ(result.message, "killed by signal 9 (Killed)");
  EXPECT_EQ(result.exit_code, 137);
}

TEST(Command, RunsLaterWhenItsWorkerHasNoFileDescriptorsLeft) {
  CommandBundle b;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto result = b.run(CommandBundle::command({"true"}));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(result.outcome, RunOutcome::kLater);
  EXPECT_EQ(result.later, seconds{5});
  EXPECT_EQ(
      result.message,
      "cannot create a pipe for 'true': Too many open files (its worker has too few resources, "
      "it runs later)");
  EXPECT_EQ(b.run(CommandBundle::command({"true"})).outcome, RunOutcome::kSucceeded);
}

TEST(Command, ReportsAMissingProgram) {
  CommandBundle b;
  const auto result = b.run(CommandBundle::command({"no-such-program-here"}));
  EXPECT_EQ(result.outcome, RunOutcome::kException);
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_EQ(result.message,
            "cannot run 'no-such-program-here': No such file or directory (is it installed on "
            "this worker, and in its PATH?)");
}

TEST(Command, ReportsAFileThatIsNotExecutable) {
  CommandBundle b;
  const auto result = b.run(CommandBundle::command({"/etc/passwd"}));
  EXPECT_EQ(result.exit_code, 126);
  EXPECT_THAT(result.message, HasSubstr("Permission denied"));
}

TEST(Command, ReportsParamsThatAreTooLong) {
  CommandBundle b;
  JobSpec spec = CommandBundle::command({"true"});
  spec.params["x"] = std::string(200'000, 'x');
  const auto result = b.run(spec);
  EXPECT_EQ(result.outcome, RunOutcome::kException);
  EXPECT_THAT(result.message, HasSubstr("too long"));
}

TEST(Command, ReceivesTheJobInItsEnvironment) {
  CommandBundle b;
  JobSpec spec = CommandBundle::shell(
      "echo \"$CARILLON_TASK_ID/$CARILLON_JOB_ID/$CARILLON_ATTEMPT/$CARILLON_GROUP/"
      "$CARILLON_NODE/$CARILLON_PARAM_MAIL_TO/$CARILLON_TRIGGER_TIME\"");
  spec.params["mail-to"] = "ann";
  (void)b.run(spec);
  EXPECT_EQ(b.output(), "t1/1/1/default/host-1/ann/1970-01-01T00:00:00.000Z\n");
}

TEST(Command, StartsWithDefaultSignalsAndNoInheritedDescriptors) {
  CommandBundle b;
  (void)b.run(
      CommandBundle::shell("grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | wc -l"));
  // Of the shell's children: standard streams, and the folder that ls itself reads.
  EXPECT_EQ(b.output(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n4\n");
}

TEST(Command, ReceivesAPayloadOfAMebibyte) {
  CommandBundle b;
  JobSpec spec = CommandBundle::command({"sha256sum"});
  spec.payload = std::string(1024 * 1024, 'a');
  EXPECT_EQ(b.run(spec).outcome, RunOutcome::kSucceeded);
  EXPECT_THAT(b.output(),
              StartsWith("9bc1b2a288b26af7257a36277ae3816a7d4f16e89c1e7e77d0a5c48bad62b360"));
}

TEST(Command, MayEchoItsWholePayload) {
  CommandBundle b;
  JobSpec spec = CommandBundle::command({"cat"});
  SeededRandom random(1);
  for (int i = 0; i < 1024 * 1024 - 10; ++i) spec.payload += static_cast<char>(random.next());
  (void)b.run(spec);
  EXPECT_TRUE(b.output() == spec.payload) << "every byte, whatever it is";
}

TEST(Command, MayIgnoreItsPayload) {
  CommandBundle b;
  JobSpec spec = CommandBundle::command({"true"});
  spec.payload = std::string(1024 * 1024, 'a');
  EXPECT_EQ(b.run(spec).outcome, RunOutcome::kSucceeded);
}

TEST(Command, ReadsEmptyStdinWithoutAPayload) {
  CommandBundle b;
  (void)b.run(CommandBundle::command({"wc", "-c"}));
  EXPECT_EQ(b.output(), "0\n");
}

TEST(Command, ContinuesWhenItsOutputIsTruncated) {
  CommandBundle b;
  const auto result =
      b.run(CommandBundle::shell("head -c 5000000 /dev/zero; echo err >&2; exit 5"));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(b.output_of(wire::Stream::kStdout).size(), 1024U * 1024U);
  EXPECT_THAT(b.output_of(wire::Stream::kLog), HasSubstr("cut after 1 MiB"));
}

TEST(Command, StreamsItsOutputWhileItRuns) {
  CommandBundle b;
  b.start_run(CommandBundle::shell("echo halfway; exec sleep 60"), "halfway");
  EXPECT_EQ(b.tracker().result_of(b.last_job), nullptr);
}

// Its own process and one that it started, both asleep; it tells the other's number.
JobSpec family() { return WorkerBundle::shell("sleep 300 & echo $!; wait"); }

TEST(Command, TimeoutKillsItsWholeProcessGroup) {
  CommandBundle b;
  JobSpec spec = family();
  spec.timeout = milliseconds{200};
  const auto result = b.run(spec);
  EXPECT_EQ(result.outcome, RunOutcome::kTimedOut);
  EXPECT_EQ(result.message, "timed out after 200ms");
  EXPECT_EQ(result.exit_code, 128 + 15);
  EXPECT_TRUE(b.until([&] { return !is_alive(std::stoi(b.output())); }));
}

TEST(Command, KillEndsItsWholeProcessGroup) {
  CommandBundle b;
  b.start_run(family(), "\n");
  const pid_t child = std::stoi(b.output());
  EXPECT_TRUE(is_alive(child));
  b.tracker().kill(b.last_job);
  ASSERT_TRUE(b.until_result(b.last_job));
  EXPECT_EQ(b.tracker().result_of(b.last_job)->outcome, RunOutcome::kKilled);
  EXPECT_TRUE(b.until([&] { return !is_alive(child); }));
}

TEST(Command, IsKilledAfterTheGracePeriodWhenItIgnoresSigterm) {
  CommandBundle b(CommandBundle::Options{.kill_grace = milliseconds{200}});
  b.start_run(CommandBundle::shell("trap 'echo heard' TERM; echo up; while :; do sleep 0.05; done"),
              "up");
  const SteadyTime begin = b.clock.steady_now();
  b.tracker().kill(b.last_job);
  ASSERT_TRUE(b.until_result(b.last_job));
  EXPECT_GE(b.clock.steady_now() - begin, milliseconds{200});
  EXPECT_EQ(b.tracker().result_of(b.last_job)->exit_code, 128 + 9);
  EXPECT_THAT(b.output(), HasSubstr("heard"));
}

TEST(Command, IsKilledWithoutGraceWhenTheWorkerStopsAtOnce) {
  CommandBundle b;
  b.start_run(CommandBundle::shell("trap '' TERM; echo up; while :; do sleep 0.05; done"), "up");
  b.worker->request_stop(seconds{0});
  const SteadyTime begin = b.clock.steady_now();
  ASSERT_TRUE(b.until([&] { return b.stopped; }));
  EXPECT_LT(b.clock.steady_now() - begin, seconds{2});
  EXPECT_EQ(b.tracker().result_of(b.last_job)->outcome, RunOutcome::kLater);
}

TEST(Command, EndsWithItsProgramAndKillsLeftoverProcesses) {
  CommandBundle b(CommandBundle::Options{.kill_leftovers = true});
  const SteadyTime begin = b.clock.steady_now();
  const auto result = b.run(CommandBundle::shell("sleep 300 & echo $!"));
  EXPECT_LT(b.clock.steady_now() - begin, seconds{3});
  EXPECT_EQ(result.outcome, RunOutcome::kSucceeded);
  EXPECT_TRUE(b.until([&] { return !is_alive(std::stoi(b.output())); }));
}

TEST(Command, KeepsOutputWrittenJustBeforeTheEnd) {
  CommandBundle b(CommandBundle::Options{.kill_leftovers = true});
  (void)b.run(CommandBundle::shell("sleep 300 & head -c 200000 /dev/zero | tr '\\0' x; echo end"));
  EXPECT_EQ(b.output().size(), 200'004U);
  EXPECT_THAT(b.output(), EndsWith("end\n"));
}

TEST(Command, RunsManyCommandsConcurrently) {
  CommandBundle b(CommandBundle::Options{.threads = 8});
  for (int job = 1; job <= 100; ++job) {
    b.tracker().submit(job, CommandBundle::shell("echo " + std::to_string(job)));
  }
  ASSERT_TRUE(b.until([&] { return b.tracker().results.size() == 100; }));
  for (int job = 1; job <= 100; ++job) {
    EXPECT_EQ(b.tracker().output_of(job), std::to_string(job) + "\n");
  }
}

}  // namespace
}  // namespace carillon::tasktracker
