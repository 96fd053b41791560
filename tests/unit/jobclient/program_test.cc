// The program as it is built: what it does without a job tracker.

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int status = -1;
  std::string out{};
  std::string err{};
};

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  ::lseek(fd, 0, SEEK_SET);
  ssize_t got = 0;
  while ((got = ::read(fd, chunk.data(), chunk.size())) > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

int anonymous_file(const std::string& content = {}) {
  std::string path = ::testing::TempDir() + "jobclient_XXXXXX";
  const int fd = ::mkstemp(path.data());
  ::unlink(path.c_str());
  EXPECT_EQ(::write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

// Runs the program with a fixed environment: without any CARILLON_ variable.
Outcome run(const std::vector<std::string>& arguments, const std::string& input = {},
            const char* out_path = nullptr, const char* tz = "UTC") {
  const int in = anonymous_file(input);
  const int out = out_path != nullptr ? ::open(out_path, O_WRONLY) : anonymous_file();
  const int err = anonymous_file();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    ::clearenv();
    ::setenv("TZ", tz, 1);
    ::setenv("HOME", "/nonexistent", 1);
    std::string program = CARILLON_BIN_DIR "/jobclient";
    std::vector<char*> argv{program.data()};
    std::vector<std::string> copies = arguments;
    for (std::string& argument : copies) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(in);
  Outcome outcome{.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  if (out_path == nullptr) outcome.out = read_all(out);
  if (out_path != nullptr) ::close(out);
  outcome.err = read_all(err);
  return outcome;
}

// Nothing listens at port 1.
const std::vector<std::string> kNobody{"--tracker", "tcp://127.0.0.1:1", "--insecure",
                                       "--connect-timeout", "300ms"};

Outcome run_without_tracker(std::vector<std::string> arguments, const std::string& input = {}) {
  arguments.insert(arguments.begin(), kNobody.begin(), kNobody.end());
  return run(arguments, input);
}

TEST(JobclientProgram, PreviewsFiresWithoutATracker) {
  const Outcome outcome =
      run({"next", "0 0 2 * * ?", "--from", "2026-11-21T08:00:00Z", "-n", "1", "-o", "jsonl"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "{\"utc\":\"2026-11-22T02:00:00.000Z\",\"local\":\"2026-11-22T02:00:00+00:00\","
            "\"note\":\"\"}\n");
}

TEST(JobclientProgram, UsesTheTimeZoneFromTheTzVariable) {
  const std::vector<std::string> next{"next", "0 0 2 * * ?", "--from", "2026-11-21T08:00:00Z",
                                      "-n",   "1",           "-o",     "jsonl"};
  for (const char* tz : {"Asia/Shanghai", ":Asia/Shanghai"}) {
    EXPECT_THAT(run(next, {}, nullptr, tz).out, HasSubstr("\"2026-11-21T18:00:00.000Z\"")) << tz;
  }
  EXPECT_EQ(run(next, {}, nullptr, "/etc/localtime").status, 0);
  const Outcome outcome = run(next, {}, nullptr, "Nowhere/X");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, StartsWith("{\"error\":\"TZ: time zone 'Nowhere/X' is not in"));
  EXPECT_EQ(outcome.out, "");
  std::vector<std::string> with_zone = next;
  with_zone.insert(with_zone.end(), {"--tz", "UTC"});
  EXPECT_EQ(run(with_zone, {}, nullptr, "Nowhere/X").status, 0);
  EXPECT_THAT(run({"next", "--stdin"}, "{\"cron\":\"@daily\",\"n\":1}\n", nullptr, "Nowhere/X").out,
              StartsWith("{\"error\":\"TZ: time zone 'Nowhere/X'"));
}

TEST(JobclientProgram, AnswersThousandsOfLinesOfFires) {
  std::string input;
  for (int i = 0; i < 5000; ++i) {
    input += "{\"cron\":\"*/5 * * * *\",\"from\":\"2026-11-21T08:00:00Z\",\"n\":1}\n";
  }
  const Outcome outcome = run({"next", "--stdin"}, input);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string line = "{\"fires\":[\"2026-11-21T08:05:00.000Z\"]}\n";
  EXPECT_EQ(outcome.out.size(), 5000 * line.size());
  EXPECT_THAT(outcome.out, StartsWith(line));
}

TEST(JobclientProgram, ListsItsVerbsInTheHelp) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* verb :
       {"submit", "cancel",  "suspend",        "resume",     "trigger",    "kill",  "show",
        "list",   "waiting", "executing",      "history",    "logs",       "nodes", "groups",
        "next",   "stats",   "import crontab", "import lts", "completion", "help"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string{"\n  "} + verb)) << verb;
  }
  EXPECT_EQ(run({"help"}).out, outcome.out);
  EXPECT_THAT(run({"submit", "--help"}).out, HasSubstr("--payload-file"));
  EXPECT_THAT(run({"--version"}).out, StartsWith("jobclient "));
}

TEST(JobclientProgram, WritesABashCompletionScript) {
  const Outcome outcome = run({"completion", "bash"});
  EXPECT_EQ(outcome.status, 0);
  const std::string path = ::testing::TempDir() + "jobclient_completion.bash";
  std::ofstream(path) << outcome.out;
  EXPECT_EQ(std::system(("bash -n " + path).c_str()), 0);
  std::remove(path.c_str());
  EXPECT_THAT(run({"completion", "zsh"}).out, HasSubstr("jobclient"));
  EXPECT_EQ(run({"completion", "fish"}).status, 2);
}

TEST(JobclientProgram, PreviewsACrontabWithoutATracker) {
  const std::string path = CARILLON_TEST_DATA "/crontab/personal";
  const Outcome outcome = run({"import", "crontab", path, "-o", "jsonl"});
  EXPECT_EQ(outcome.status, 1) << "some of its lines are refused";
  EXPECT_THAT(outcome.out, HasSubstr("\"status\":\"would submit\",\"task_id\":\"cron-check-disk-"));
  EXPECT_THAT(outcome.out, HasSubstr("\"schedule\":\"@reboot\""));
  EXPECT_EQ(run({"import", "crontab", "-"}, "0 2 * * * backup\n").status, 0);
}

TEST(JobclientProgram, ExitsWithTwoOnWrongUsage) {
  EXPECT_EQ(run({}).status, 2);
  const Outcome unknown = run({"sbmit"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, StartsWith("jobclient: "));
  EXPECT_THAT(unknown.err, HasSubstr("submit"));
  EXPECT_EQ(run({"submit", "--task-idd", "x"}).status, 2);
  EXPECT_EQ(run({"submit", "--task-id", "x"}).status, 2);
  EXPECT_EQ(run({"stats", "--tracker", "nonsense"}).status, 2);
  EXPECT_EQ(run({"stats", "-o", "yaml"}).status, 2);
}

TEST(JobclientProgram, ExitsWithThreeWhenNoTrackerIsReachable) {
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"submit", "--", "true"},
                                             {"list"},
                                             {"cancel", "x"},
                                             {"kill", "x"},
                                             {"logs", "x"},
                                             {"stats"}}) {
    const Outcome outcome = run_without_tracker(verb);
    EXPECT_EQ(outcome.status, 3) << verb[0];
    EXPECT_THAT(outcome.err, StartsWith("jobclient: " + verb[0] +
                                        ": no job tracker reachable at tcp://127.0.0.1:1 within "
                                        "300ms"));
  }
}

TEST(JobclientProgram, ExitsWith125WhenItCannotWait) {
  EXPECT_EQ(run_without_tracker({"submit", "--wait", "--", "true"}).status, 125);
  EXPECT_EQ(run_without_tracker({"trigger", "x", "--wait"}).status, 125);
}

TEST(JobclientProgram, ExitsWithThreeWhenLinesCannotBeSubmitted) {
  const Outcome outcome = run_without_tracker({"submit", "--stdin"},
                                              "{\"handler\":\"noop\"}\n{\"handler\":\"noop\"}\n");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("; nothing after line 2 was submitted"));
}

TEST(JobclientProgram, ReportsThatItsOutputCannotBeWritten) {
  const Outcome outcome = run({"next", "@daily"}, {}, "/dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "jobclient: cannot write the output (is the disk full?)\n");
}

}  // namespace
