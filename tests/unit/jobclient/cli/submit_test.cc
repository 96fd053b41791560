#include "jobclient/cli/submit.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobclient/cli/follow.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::ostringstream& stream) {
  std::vector<std::string> lines;
  std::istringstream text(stream.str());
  std::string line;
  while (std::getline(text, line)) lines.push_back(line);
  return lines;
}

wire::Message refuse_all(const wire::Message& request) {
  wire::Submitted submitted;
  for (const JobSpec& job : std::get<wire::Submit>(request).jobs) {
    submitted.answers.push_back({.task_id = job.task_id,
                                 .group = job.group,
                                 .status = wire::SubmitStatus::kDuplicate,
                                 .reason = "task 'nightly' is defined already"});
  }
  return submitted;
}

// A tracker whose jobs end at the second question: job 7, after two pieces of output.
FakeTracker::Answer running_job(Row ended) {
  auto questions = std::make_shared<int>(0);
  return [questions, ended](const wire::Message& request) -> wire::Message {
    if (std::holds_alternative<wire::Submit>(request)) return accept_all(request);
    if (std::holds_alternative<wire::Act>(request)) {
      return wire::Acted{.job_id = JobId{7}, .message = "triggered"};
    }
    const auto& query = std::get<wire::Query>(request);
    if (query.what == "job") {
      if (++*questions == 1) {
        return wire::Rows{.rows = {{{"state", std::string{"executing"}}, {"done", false}}}};
      }
      return wire::Rows{.rows = {ended}};
    }
    if (query.after.empty()) {
      return wire::Rows{.rows = {{{"seq", std::int64_t{1}},
                                  {"stream", std::string{"stdout"}},
                                  {"text", std::string{"to out\n"}}}},
                        .next = "1"};
    }
    if (query.after == "1" && *questions == 2) {
      return wire::Rows{.rows = {{{"seq", std::int64_t{2}},
                                  {"stream", std::string{"stderr"}},
                                  {"text", std::string{"to err\n"}}}},
                        .next = "2"};
    }
    return wire::Rows{.next = query.after};
  };
}

Row ended(const std::string& state, Field exit_code, const std::string& message = "") {
  return {{"job_id", std::string{"7"}},
          {"state", state},
          {"exit_code", std::move(exit_code)},
          {"message", message},
          {"done", true}};
}

TEST(Submit, PrintsOneLineForAnAcceptedJob) {
  Cli cli([](const wire::Message& request) {
    return std::holds_alternative<wire::Query>(request) ? wire::Message{wire::Rows{}}
                                                        : accept_all(request);
  });
  EXPECT_EQ(cli.run({"submit", "--task-id", "nightly", "--cron", "0 2 * * *", "--tz", "UTC", "--",
                     "backup"}),
            kDone);
  EXPECT_EQ(cli.out.str(), "accepted  nightly  group default  job 7  tz UTC\n");
  EXPECT_EQ(cli.err.str(), "");
}

// Accepts jobs, which `show` says to fire, or to be due, at the beginning of 2127.
wire::Message fires_later(const wire::Message& request) {
  if (std::holds_alternative<wire::Submit>(request)) return accept_all(request);
  const auto& query = std::get<wire::Query>(request);
  const Field time{std::string{"2127-01-01T00:00:00.000Z"}};
  if (query.task_id != "at" && query.task_id != "held")
    return wire::Rows{.rows = {Row{{"next_fire", time}}}};
  const std::string state = query.task_id == "held" ? "suspended" : "delayed";
  return wire::Rows{.rows = {Row{{"trigger_time", time}, {"state", state}}}};
}

TEST(Submit, PrintsTheNextFireInTheZoneOfTheSchedule) {
  Cli cli(fires_later);
  const auto submit = [&](std::vector<std::string> flags) {
    cli.out.str("");
    flags.insert(flags.begin(), {"submit", "--handler", "noop", "--task-id"});
    EXPECT_EQ(cli.run(flags), kDone);
    return cli.out.str();
  };
  EXPECT_EQ(
      submit({"a", "--cron", "@daily", "--tz", "Asia/Shanghai"}),
      "accepted  a  group default  job 7  tz Asia/Shanghai  next fire Wed 2127-01-01 08:00:00 "
      "+08:00\n");
  const std::string in_berlin =
      "  group default  job 7  next fire Wed 2127-01-01 01:00:00 +01:00\n";
  EXPECT_EQ(submit({"b", "--every", "1h"}), "accepted  b" + in_berlin);
  EXPECT_EQ(submit({"at", "--at", "+1h"}), "accepted  at" + in_berlin);
  EXPECT_EQ(submit({"held", "--at", "+1h"}), "accepted  held  group default  job 7\n");
  const auto asked = cli.tracker.asked<wire::Query>().size();
  EXPECT_EQ(submit({"now"}), "accepted  now  group default  job 7\n");
  EXPECT_THAT(submit({"now", "-o", "json"}), Not(HasSubstr("fire")));
  EXPECT_EQ(cli.tracker.asked<wire::Query>().size(), asked);
  EXPECT_THAT(submit({"c", "--every", "1h", "-o", "json"}),
              HasSubstr(R"("next_fire":"2127-01-01T00:00:00.000Z")"));
}

TEST(Submit, PrintsAnObjectInJson) {
  Cli cli(accept_all);
  EXPECT_EQ(cli.run({"submit", "-o", "json", "--task-id", "a", "--", "true"}), kDone);
  EXPECT_EQ(cli.out.str(), R"({"task_id":"a","group":"default","job_id":"7","status":"accepted"})"
                           "\n");
}

TEST(Submit, ExitsWithOneWhenTheTrackerRefuses) {
  Cli cli(refuse_all);
  EXPECT_EQ(cli.run({"submit", "--task-id", "nightly", "--", "true"}), kRefused);
  EXPECT_EQ(cli.out.str(),
            "duplicate  nightly  group default  task 'nightly' is defined already\n");
}

TEST(Submit, ExitsWithTwoOnWrongInput) {
  Cli cli(accept_all);
  EXPECT_EQ(cli.run({"submit", "--handler", "x", "--payload-file", "/no/such"}), kWrongInput);
  EXPECT_EQ(cli.err.str(),
            "jobclient: submit: cannot read '/no/such': No such file or directory\n");
  EXPECT_TRUE(cli.tracker.asked<wire::Submit>().empty());
}

TEST(Submit, ExitsWithThreeWhenNoTrackerIsReachable) {
  Cli cli(accept_all);
  cli.tracker.is_reachable = false;
  EXPECT_EQ(cli.run({"submit", "--", "true"}), kNoTracker);
  EXPECT_THAT(cli.err.str(), StartsWith("jobclient: submit: no job tracker reachable at"));
}

TEST(SubmitWait, PrintsTheOutputAndExitsWithTheJobsStatus) {
  Cli cli(running_job(ended("failed", std::int64_t{3})));
  EXPECT_EQ(cli.run({"submit", "--wait", "--", "x"}), 3);
  EXPECT_EQ(cli.out.str(), "to out\n");
  EXPECT_EQ(cli.err.str(), "to err\njobclient: submit: job 7 ended as failed\n");
  EXPECT_EQ(cli.pauses, 1);
}

TEST(SubmitWait, ExitsWithZeroForAJobThatSucceeded) {
  Cli cli(running_job(ended("succeeded", std::int64_t{0})));
  EXPECT_EQ(cli.run({"submit", "--wait", "--", "x"}), kDone);
  EXPECT_EQ(cli.err.str(), "to err\n");
}

// A tracker whose job 7 waits for so many questions and succeeds then; `show` gives the reason from
// the second time on.
FakeTracker::Answer waiting_job(int questions, const std::string& reason) {
  auto left = std::make_shared<int>(questions);
  auto shown = std::make_shared<int>(0);
  return [=](const wire::Message& request) -> wire::Message {
    if (std::holds_alternative<wire::Submit>(request)) return accept_all(request);
    const auto& query = std::get<wire::Query>(request);
    if (query.what == "output") return wire::Rows{};
    if (query.what == "show") {
      EXPECT_EQ(query.task_id, "a");
      EXPECT_EQ(query.group, "ops");
      return wire::Rows{.rows = {Row{{"reason", Field{++*shown > 1 ? reason : std::string{}}}}}};
    }
    if (--*left < 0) return wire::Rows{.rows = {ended("succeeded", std::int64_t{0})}};
    return wire::Rows{.rows = {{{"job_id", std::string{"7"}},
                                {"task_id", std::string{"a"}},
                                {"group", std::string{"ops"}},
                                {"state", std::string{"waiting"}},
                                {"done", false}}}};
  };
}

TEST(SubmitWait, ReportsOnceWhyAWaitingJobDoesNotRun) {
  for (const char* format : {"table", "json"}) {
    SCOPED_TRACE(format);
    Cli cli(waiting_job(200, "no task tracker of group 'ops' is connected"));
    EXPECT_EQ(cli.run({"submit", "--wait", "-o", format, "--", "x"}), kDone);
    EXPECT_EQ(cli.err.str(),
              "jobclient: submit: job 7 waits: no task tracker of group 'ops' is connected\n");
    EXPECT_EQ(cli.out.str(), std::string{format} == "json" ? "[]\n" : "");
  }
}

TEST(SubmitWait, StaysSilentForShortWaitsAndBusyWorkers) {
  Cli soon(waiting_job(10, "no task tracker of group 'ops' is connected"));
  EXPECT_EQ(soon.run({"submit", "--wait", "--", "x"}), kDone);
  EXPECT_EQ(soon.err.str(), "");
  Cli busy(waiting_job(200, ""));
  EXPECT_EQ(busy.run({"submit", "--wait", "--", "x"}), kDone);
  EXPECT_EQ(busy.err.str(), "");
}

TEST(SubmitWait, ExitsWith128PlusTheSignalThatEndedTheJob) {
  Cli cli(running_job(ended("failed", std::monostate{}, "killed by signal 9 (Killed)")));
  EXPECT_EQ(cli.run({"submit", "--wait", "--", "x"}), 137);
}

// Whatever kind of run it was: a command that SIGTERM stops ends with 143 too.
TEST(SubmitWait, ExitsWith143ForAKilledOrTimedOutRun) {
  for (const char* state : {"timed_out", "killed"}) {
    SCOPED_TRACE(state);
    Cli handler(running_job(ended(state, std::monostate{}, "timed out after 1s")));
    EXPECT_EQ(handler.run({"submit", "--wait", "--handler", "x"}), 143);
    Cli command(running_job(ended(state, std::int64_t{143}, "timed out after 1s")));
    EXPECT_EQ(command.run({"submit", "--wait", "--", "x"}), 143);
    Cli its_own(running_job(ended(state, std::int64_t{7}, "timed out after 1s")));
    EXPECT_EQ(its_own.run({"submit", "--wait", "--", "x"}), 7);
  }
}

TEST(SubmitWait, ExitsWithOneForAFailureWithoutAStatus) {
  Cli cli(running_job(ended("failed", std::monostate{}, "the handler threw")));
  EXPECT_EQ(cli.run({"submit", "--wait", "--handler", "x"}), 1);
}

TEST(SubmitWait, ExitsWith125ForAJobThatNeverRan) {
  Cli cli(running_job(ended("expired", std::monostate{})));
  EXPECT_EQ(cli.run({"submit", "--wait", "--", "x"}), kWaitFailed);
}

TEST(SubmitWait, ExitsWith125WhenSubmissionFails) {
  Cli refused(refuse_all);
  EXPECT_EQ(refused.run({"submit", "--wait", "--", "x"}), kWaitFailed);
  EXPECT_THAT(refused.err.str(), HasSubstr("is duplicate: task 'nightly' is defined already"));
  Cli unreachable(accept_all);
  unreachable.tracker.is_reachable = false;
  EXPECT_EQ(unreachable.run({"submit", "--wait", "--", "x"}), kWaitFailed);
}

TEST(SubmitWait, ExitsWithTwoForWrongUsage) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--manual", "--", "x"},
                                                {},
                                                {"--priority", "1000", "--", "x"},
                                                {"--tracker", "nowhere", "--", "x"}}) {
    Cli cli(running_job({}));
    std::vector<std::string> arguments{"submit", "--wait"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(cli.run(arguments), kWrongInput) << cli.err.str();
    EXPECT_TRUE(cli.tracker.asked<wire::Submit>().empty());
  }
}

TEST(SubmitWait, NamesTheJobWhenWaitingFails) {
  Cli cli([](const wire::Message& request) -> wire::Message {
    if (std::holds_alternative<wire::Submit>(request)) return accept_all(request);
    return wire::ErrorReply{{ErrorCode::kDenied, "not for you"}};
  });
  EXPECT_EQ(cli.run({"submit", "--wait", "--", "x"}), kWaitFailed);
  EXPECT_EQ(cli.err.str(), "jobclient: submit: cannot follow job 7: not for you\n");
}

TEST(SubmitWait, ExitsWith125WhenOutputCannotBeWritten) {
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"submit", "--", "x"}, {"trigger", "nightly"}}) {
    Cli cli(running_job(ended("succeeded", std::int64_t{0})));
    cli.out.setstate(std::ios::badbit);
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.begin() + 1, "--wait");
    EXPECT_EQ(cli.run(arguments), kWaitFailed);
    EXPECT_THAT(cli.err.str(), HasSubstr(": cannot write the output (is the disk full?)\n"));
  }
}

TEST(WaitInterrupted, NamesTheCommandThatEndsTheJob) {
  Cli cli(accept_all);
  const Surroundings around{
      .program = cli.program, .clock = cli.clock, .out = cli.out, .err = cli.err};
  const auto parsed = parse_configuration(cli.program, {"submit", "--wait"}, Environment{});
  ASSERT_TRUE(parsed.ok());
  const Context context(parsed.value().configuration, around);
  const auto words = [&](const char* kind, const char* state) {
    return signal_message_on(
        context, JobId{7},
        {{"task_id", "ann's job"}, {"group", "ops"}, {"kind", kind}, {"state", state}});
  };
  const std::string seen = "(follow it: jobclient logs -f --job 7; ";
  EXPECT_EQ(words("now", "executing"),
            "jobclient: submit: job 7 continues " + seen + "stop it: jobclient kill --job 7)\n");
  EXPECT_EQ(words("at", "waiting"), "jobclient: submit: job 7 still waits " + seen +
                                        "end it: jobclient cancel 'ann'\\''s job' --group ops)\n");
  EXPECT_EQ(words("cron", "waiting"), "jobclient: submit: job 7 still waits " + seen +
                                          "stop it: jobclient kill --job 7 once it runs)\n");
}

TEST(TriggerWait, ExitsWithTheStatusOfTheJob) {
  Cli cli(running_job(ended("failed", std::int64_t{4})));
  EXPECT_EQ(cli.run({"trigger", "nightly", "--wait", "--payload", "x", "--force"}), 4);
  const auto asked = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].verb, wire::Verb::kTrigger);
  EXPECT_EQ(asked[0].payload, "x");
  EXPECT_TRUE(asked[0].force);
}

TEST(Trigger, AcceptsOnePayloadFromAFileOrStdin) {
  Cli cli(running_job(ended("succeeded", std::int64_t{0})));
  cli.give_input("from stdin");
  EXPECT_EQ(cli.run({"trigger", "nightly", "--payload-file", "-"}), kDone);
  const auto asked = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].payload, "from stdin");
  EXPECT_EQ(cli.run({"trigger", "nightly", "--payload-file", "/no/such"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("/no/such"));
  EXPECT_EQ(cli.run({"trigger", "nightly", "--payload-file", "-", "--payload", "x"}), kWrongInput);
  EXPECT_EQ(cli.tracker.asked<wire::Act>().size(), 1u);
}

TEST(SubmitLines, AnswersEveryLineInOrder) {
  Cli cli(accept_all);
  std::string input;
  for (int i = 0; i < 2500; ++i) {
    input += R"({"task_id":"t)" + std::to_string(i) + R"(","handler":"noop"})" + "\n";
  }
  cli.give_input(input);
  EXPECT_EQ(cli.run({"submit", "--stdin", "-o", "jsonl"}), kDone);
  const auto lines = lines_of(cli.out);
  ASSERT_EQ(lines.size(), 2500u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_THAT(lines[i], StartsWith("{\"task_id\":\"t" + std::to_string(i) + "\","));
  }
  EXPECT_EQ(cli.tracker.asked<wire::Submit>().size(), 3u);
}

TEST(SubmitLines, RejectsABadLineByItsNumberAndContinues) {
  Cli cli(accept_all);
  cli.give_input(
      "{\"task_id\":\"a\",\"command\":[\"true\"]}\n"
      "no json\n"
      "{\"task_id\":\"b\",\"handler\":\"noop\",\"priority\":1000}\n"
      "{\"task_id\":\"c\",\"shell\":\"date\"}\n");
  EXPECT_EQ(cli.run({"submit", "--stdin", "-o", "jsonl"}), kRefused);
  const auto lines = lines_of(cli.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[0], HasSubstr(R"("task_id":"a")"));
  EXPECT_THAT(lines[1], HasSubstr(R"("status":"rejected","reason":"line 2: )"));
  EXPECT_THAT(lines[2], HasSubstr(R"("reason":"line 3: )"));
  EXPECT_THAT(lines[2], HasSubstr("1000"));
  EXPECT_THAT(lines[3], HasSubstr(R"("task_id":"c")"));
}

TEST(SubmitLines, NamesTheTaskOfAnUnreadableLine) {
  Cli cli(accept_all);
  cli.give_input(
      "{\"task_id\":\"a\",\"group\":\"ops\",\"comand\":[\"true\"]}\n"
      "{\"comand\":[\"true\"],\"task_id\":\"b\"}\n"
      "{\"task_id\":7}\n"
      "[]\n"
      "{\"task_id\":\"c\"\n");
  EXPECT_EQ(cli.run({"submit", "--stdin", "-o", "jsonl"}), kRefused);
  const auto lines = lines_of(cli.out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], StartsWith(R"({"task_id":"a","group":"ops","status":"rejected","reason")"));
  EXPECT_THAT(lines[1], StartsWith(R"({"task_id":"b","group":"default","status":"rejected")"));
  EXPECT_THAT(lines[2], StartsWith(R"({"task_id":"","group":"default","status":"rejected")"));
  EXPECT_THAT(lines[3], StartsWith(R"({"task_id":"","group":"","status":"rejected")"));
  EXPECT_THAT(lines[4], HasSubstr(R"("reason":"line 5: not JSON)"));
}

TEST(SubmitLines, SkipsBlankLinesButCountsThem) {
  Cli cli(accept_all);
  cli.give_input("\n{\"task_id\":\"a\",\"handler\":\"noop\"}\n \t\r\n\nbad\n\n");
  EXPECT_EQ(cli.run({"submit", "--stdin", "-o", "jsonl"}), kRefused);
  const auto lines = lines_of(cli.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr(R"("status":"accepted")"));
  EXPECT_THAT(lines[1], HasSubstr("line 5: not JSON"));
}

TEST(SubmitLines, PrintsAnArrayInJson) {
  Cli cli(accept_all);
  cli.give_input("{\"task_id\":\"a\",\"handler\":\"noop\"}\n");
  EXPECT_EQ(cli.run({"submit", "--stdin", "-o", "json"}), kDone);
  EXPECT_EQ(cli.out.str(),
            "[\n{\"task_id\":\"a\",\"group\":\"default\",\"job_id\":\"7\",\"status\":\"accepted\"}"
            "\n]\n");
}

TEST(SubmitLines, ReportsTheNumberOfAcceptedLinesInTableFormat) {
  Cli cli(accept_all);
  cli.give_input("{\"task_id\":\"a\",\"handler\":\"noop\"}\nbad\n");
  EXPECT_EQ(cli.run({"submit", "--stdin"}), kRefused);
  EXPECT_EQ(lines_of(cli.out).size(), 2u);
  EXPECT_EQ(cli.err.str(), "2 jobs: 1 accepted, 1 not accepted\n");
}

TEST(SubmitLines, AcceptsEmptyInput) {
  Cli cli(accept_all);
  cli.give_input("");
  EXPECT_EQ(cli.run({"submit", "--stdin"}), kDone);
  EXPECT_EQ(cli.out.str(), "");
}

TEST(SubmitLines, ReportsUnsubmittedLinesWhenNoTrackerIsReachable) {
  Cli cli(accept_all);
  cli.tracker.is_reachable = false;
  cli.give_input("{\"task_id\":\"a\",\"handler\":\"noop\"}\n");
  EXPECT_EQ(cli.run({"submit", "--stdin"}), kNoTracker);
  EXPECT_THAT(cli.out.str(), StartsWith("not_taken  a  group default  line 1: no job tracker"));
  EXPECT_THAT(cli.err.str(), HasSubstr("submit: line 1: no job tracker reachable"));
  EXPECT_THAT(cli.err.str(), HasSubstr("; nothing after line 1 was submitted"));
}

TEST(SubmitLines, AnswersEveryLineReadEvenIfAMessageFails) {
  auto messages = std::make_shared<int>(0);
  Cli cli([messages](const wire::Message& request) -> wire::Message {
    if (++*messages == 2) return wire::ErrorReply{{ErrorCode::kDenied, "not now"}};
    return accept_all(request);
  });
  std::string input;
  for (int i = 0; i < 2500; ++i) {
    input += R"({"task_id":"t)" + std::to_string(i) + R"(","handler":"noop"})" + "\n";
  }
  cli.give_input(input);
  EXPECT_EQ(cli.run({"submit", "--stdin", "-o", "jsonl"}), kRefused);
  const auto lines = lines_of(cli.out);
  ASSERT_EQ(lines.size(), 2500u);
  EXPECT_THAT(lines[999], HasSubstr(R"("status":"accepted")"));
  EXPECT_EQ(
      lines[1000],
      R"({"task_id":"t1000","group":"default","status":"not_taken","reason":"line 1001: not now"})");
  EXPECT_THAT(lines[2000], HasSubstr(R"("status":"accepted")"));
  EXPECT_THAT(cli.err.str(), HasSubstr("line 1001: not now; nothing after line 2500 was"));
}

TEST(SubmitLines, RefusesFlagsOfASingleJob) {
  Cli cli(accept_all);
  EXPECT_EQ(cli.run({"submit", "--stdin", "--cron", "@daily"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--stdin and --cron contradict each other"));
}

// ---- --offline and flush ----

struct OfflineCli : Cli {
  OfflineCli() : Cli(accept_all) { tracker.is_reachable = false; }
  int run_here(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--data", folder.path().string()});
    return run(arguments);
  }
  // What the next call prints.
  void forget_output() {
    out.str("");
    err.str("");
  }

  carillon::testing::TempFolder folder;
};

TEST(Offline, StoresAndReportsAJobWhenNoTrackerIsReachable) {
  OfflineCli cli;
  EXPECT_EQ(cli.run_here({"submit", "--offline", "--task-id", "kept", "--handler", "noop"}), kDone);
  EXPECT_THAT(cli.out.str(), StartsWith("stored  kept  group default  no job tracker reachable"));
  EXPECT_TRUE(cli.tracker.asked<wire::Submit>().empty());
}

TEST(Submit, ExplainsWhyAJobHasNoSingleRunToAwait) {
  Cli cli(accept_all);
  EXPECT_EQ(cli.run({"submit", "--wait", "--manual", "--", "x"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("a manual job has none until it is triggered"));
  cli.err.str("");
  EXPECT_EQ(cli.run({"submit", "--wait", "--every", "5m", "--", "x"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("this job has a schedule"));
}

TEST(Submit, ExplainsHowToRepeatWithoutEnd) {
  Cli cli(accept_all);
  EXPECT_EQ(cli.run({"submit", "--every", "5m", "--count", "-1", "--", "x"}), kWrongInput);
  EXPECT_EQ(cli.err.str(),
            "jobclient: --count: -1 is too small, the minimum is 1 (leave it out for no end)\n");
}

TEST(Offline, NothingIsStoredWithoutTheFlag) {
  OfflineCli cli;
  EXPECT_EQ(cli.run_here({"submit", "--task-id", "kept", "--handler", "noop"}), kNoTracker);
  EXPECT_TRUE(std::filesystem::is_empty(cli.folder.path()));
}

TEST(Offline, ReachableJobTrackerGetsTheJobDirectly) {
  OfflineCli cli;
  cli.tracker.is_reachable = true;
  EXPECT_EQ(cli.run_here({"submit", "--offline", "--task-id", "now", "--handler", "noop"}), kDone);
  EXPECT_THAT(cli.out.str(), StartsWith("accepted  now"));
  EXPECT_TRUE(std::filesystem::is_empty(cli.folder.path()));
}

TEST(Offline, FlushDeliversInOrderAndReportsEachJob) {
  OfflineCli cli;
  for (const char* task : {"one", "two"}) {
    cli.run_here({"submit", "--offline", "--task-id", task, "--handler", "noop"});
  }
  cli.forget_output();
  EXPECT_EQ(cli.run_here({"flush"}), kNoTracker);
  EXPECT_THAT(cli.err.str(), HasSubstr("stored submissions that wait: 2"));
  cli.forget_output();
  cli.tracker.is_reachable = true;
  EXPECT_EQ(cli.run_here({"flush"}), kDone);
  EXPECT_EQ(cli.out.str(),
            "accepted  one  group default  job 7\naccepted  two  group default  job 8\n");
  cli.forget_output();
  EXPECT_EQ(cli.run_here({"flush", "-o", "json"}), kDone);
  EXPECT_EQ(cli.out.str(), "[]\n");
}

TEST(Offline, AnyCallDeliversStoredJobsFirstAndReportsOnStderr) {
  OfflineCli cli;
  cli.run_here({"submit", "--offline", "--task-id", "kept", "--handler", "noop"});
  cli.forget_output();
  cli.tracker.is_reachable = true;
  EXPECT_EQ(cli.run_here({"submit", "--task-id", "next", "--handler", "noop"}), kDone);
  EXPECT_EQ(cli.err.str(), "jobclient: stored jobs delivered: 1\n");
  const auto asked = cli.tracker.asked<wire::Submit>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].jobs[0].task_id, "kept");
  EXPECT_EQ(asked[1].jobs[0].task_id, "next");
}

TEST(Offline, FlushReportsARefusedJobAndFails) {
  OfflineCli cli;
  cli.run_here({"submit", "--offline", "--task-id", "nightly", "--handler", "noop"});
  cli.forget_output();
  Cli refusing(refuse_all);
  EXPECT_EQ(refusing.run({"flush", "--data", cli.folder.path().string()}), kRefused);
  EXPECT_THAT(refusing.out.str(), HasSubstr("task 'nightly' is defined already"));
}

TEST(Offline, ManyLinesAreStoredAndCounted) {
  OfflineCli cli;
  cli.give_input(
      "{\"task_id\":\"a\",\"handler\":\"noop\"}\n{\"task_id\":\"b\",\"handler\":\"noop\"}\n");
  EXPECT_EQ(cli.run_here({"submit", "--offline", "--stdin"}), kDone);
  EXPECT_THAT(cli.err.str(), HasSubstr("2 jobs: 0 accepted, 2 stored, 0 not accepted"));
}

TEST(Offline, ConflictsWithWait) {
  OfflineCli cli;
  EXPECT_EQ(cli.run_here({"submit", "--offline", "--wait", "--", "true"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--wait and --offline contradict each other"));
}

}  // namespace
}  // namespace carillon::cli
