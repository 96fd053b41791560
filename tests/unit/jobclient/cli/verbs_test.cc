#include <atomic>
#include <cstdlib>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobclient/cli/act.h"
#include "jobclient/cli/ask.h"
#include "shared/base/time_text.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

wire::Message acted(const wire::Message&) { return wire::Acted{.message = "done so"}; }
wire::Message no_rows(const wire::Message&) { return wire::Rows{}; }
wire::Message not_found(const wire::Message&) {
  return wire::ErrorReply{{ErrorCode::kNotFound, "no task 'x' in group 'default'"}};
}

// Of the groups default, mail and ops the last has a task.
wire::Message in_group_ops(const wire::Message& request) {
  const auto* query = std::get_if<wire::Query>(&request);
  if (query == nullptr) return not_found(request);
  const Row group = {{"group", std::string{"ops"}}};
  if (query->what == "groups") {
    return wire::Rows{
        .rows = {{{"group", std::string{"default"}}}, {{"group", std::string{"mail"}}}, group}};
  }
  if (query->what == "show" && query->group == "ops") return wire::Rows{.rows = {group}};
  const bool is_of_task = query->what == "show" || query->what.starts_with("script");
  return is_of_task ? not_found(request) : wire::Rows{};
}

// One that has ended is in the history only.
wire::Message ended_in_group_ops(const wire::Message& request) {
  const auto* query = std::get_if<wire::Query>(&request);
  if (query == nullptr || query->what == "show") return not_found(request);
  const bool is_there = query->what == "history" && query->group.empty();
  return is_there ? wire::Rows{.rows = {{{"group", std::string{"ops"}}}}} : wire::Rows{};
}

Row waiting_row(const std::string& id) {
  return {{"job_id", id},
          {"task_id", "task-" + id},
          {"group", std::string{"ops"}},
          {"trigger_time", std::string{"2026-11-21T08:30:00.000Z"}},
          {"priority", std::int64_t{100}},
          {"attempt", std::int64_t{0}},
          {"kind", std::string{"cron"}},
          {"state", std::string{"waiting"}}};
}

// Two pages of two rows each.
wire::Message two_pages(const wire::Message& request) {
  const auto& query = std::get<wire::Query>(request);
  if (query.after.empty()) {
    return wire::Rows{.rows = {waiting_row("1"), waiting_row("2")}, .next = "2"};
  }
  return wire::Rows{.rows = {waiting_row("3"), waiting_row("4")}};
}

class ActVerb : public ::testing::TestWithParam<std::pair<const char*, wire::Verb>> {};

TEST_P(ActVerb, NamesTheTaskAndPrintsTheOutcome) {
  const auto [name, verb] = GetParam();
  Cli cli(acted);
  EXPECT_EQ(cli.run({name, "nightly", "--group", "ops"}), kDone);
  EXPECT_EQ(cli.out.str(), "done so\n");
  const auto asked = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].verb, verb);
  EXPECT_EQ(asked[0].task_id, "nightly");
  EXPECT_EQ(asked[0].group, "ops");
}

TEST_P(ActVerb, ExitsWithFourForAnUnknownTask) {
  Cli cli(not_found);
  EXPECT_EQ(cli.run({GetParam().first, "x"}), kNotFound);
  EXPECT_EQ(cli.err.str(),
            std::string{"jobclient: "} + GetParam().first + ": no task 'x' in group 'default'\n");
}

TEST_P(ActVerb, NamesTheGroupThatHasTheTask) {
  Cli cli(in_group_ops);
  EXPECT_EQ(cli.run({GetParam().first, "x"}), kNotFound);
  EXPECT_EQ(cli.err.str(),
            std::string{"jobclient: "} + GetParam().first +
                ": task 'x' is not in group 'default', it is in group 'ops': --group ops\n");
}

INSTANTIATE_TEST_SUITE_P(Verbs, ActVerb,
                         ::testing::Values(std::pair{"cancel", wire::Verb::kCancel},
                                           std::pair{"suspend", wire::Verb::kSuspend},
                                           std::pair{"resume", wire::Verb::kResume},
                                           std::pair{"trigger", wire::Verb::kTrigger},
                                           std::pair{"kill", wire::Verb::kKill}),
                         [](const auto& verb) { return std::string{verb.param.first}; });

TEST(Act, TakesSeveralTasksAndFailsWhenOneDoes) {
  Cli cli([](const wire::Message& request) -> wire::Message {
    const auto* act = std::get_if<wire::Act>(&request);
    if (act == nullptr || act->task_id == "b")
      return wire::ErrorReply{{ErrorCode::kNotFound, "no task 'b'"}};
    return wire::Acted{.message = act->task_id + " done"};
  });
  EXPECT_EQ(cli.run({"suspend", "a", "b", "c"}), kRefused);
  EXPECT_EQ(cli.out.str(), "a done\nc done\n");
  EXPECT_EQ(cli.err.str(), "jobclient: suspend: no task 'b'\n");
}

TEST(AlarmVerbs, SilenceUnsilenceAndTest) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"alarms", "silence", "ops", "--for", "4h"}), kDone);
  EXPECT_EQ(cli.run({"alarms", "unsilence", "ops"}), kDone);
  EXPECT_EQ(cli.run({"alarms", "test", "ann@example.com"}), kDone);
  EXPECT_EQ(cli.out.str(), "done so\ndone so\ndone so\n");
  EXPECT_EQ(cli.run({"alarms", "silence", "ops"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--for is missing"));
  const auto asked = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].verb, wire::Verb::kSilence);
  EXPECT_EQ(asked[0].group, "ops");
  EXPECT_EQ(WallTime{Duration{asked[0].until_us}}, cli.clock.wall_now() + std::chrono::hours{4});
  EXPECT_EQ(asked[1].verb, wire::Verb::kSilence);
  EXPECT_EQ(asked[1].until_us, 0);
  EXPECT_EQ(asked[2].verb, wire::Verb::kTestAlarm);
  EXPECT_EQ(asked[2].addresses, std::vector<std::string>{"ann@example.com"});
}

TEST(AlarmVerbs, ListWhatIsFiringOrWhatWasSent) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({"alarms", "--group", "ops"}), kDone);
  EXPECT_EQ(cli.run({"alarms", "--history"}), kDone);
  EXPECT_EQ(cli.err.str(), "no alarm is on in group ops\nno alarm was sent\n");
  const auto asked = cli.tracker.asked<wire::Query>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].what, "alarms");
  EXPECT_EQ(asked[1].what, "alarm_history");
}

TEST(Program, PrintsErrorsAsJsonWhenAskedForJson) {
  Cli cli(not_found);
  EXPECT_EQ(cli.run({"show", "x", "-o", "json"}), kNotFound);
  EXPECT_EQ(cli.run({"-o", "json", "show"}), kWrongInput);
  EXPECT_EQ(cli.err.str(),
            R"({"error":"no task 'x' in group 'default'","verb":"show","exit_status":4})"
            "\n"
            R"({"error":"show needs TASK_ID","exit_status":2})"
            "\n");
}

TEST(Program, NamesTheVerbAndTheFlagThatAreMeant) {
  for (const auto& [typed, meant] : std::vector<std::pair<std::string, std::string>>{
           {"ls", "list"}, {"delete", "cancel"}, {"pause", "suspend"}, {"version", "--version"}}) {
    Cli cli(acted);
    EXPECT_EQ(cli.run({typed}), kWrongInput);
    EXPECT_THAT(cli.err.str(), HasSubstr("did you mean '" + meant + "'?"));
  }
  Cli cli(acted);
  EXPECT_EQ(cli.run({"submit", "--retry", "3", "--", "x"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("did you mean '--retries'?"));
}

TEST(List, ShowsTheLastResultOfWhatIsWanted) {
  Cli cli([](const wire::Message& request) -> wire::Message {
    const auto& query = std::get<wire::Query>(request);
    if (query.what == "history") return wire::Rows{.rows = {{{"state", std::string{"failed"}}}}};
    wire::Rows rows;
    for (const auto& [id, tags] : {std::pair{"a", "db,disk"}, std::pair{"b", "web"}}) {
      rows.rows.push_back({{"task_id", std::string{id}},
                           {"state", std::string{"active"}},
                           {"last_fire", std::string{"2026-11-21T08:30:00.000Z"}},
                           {"tags", std::string{tags}}});
    }
    return rows;
  });
  EXPECT_EQ(cli.run({"list", "--state", "active,ended", "--tags", "disk,mail"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("a "));
  EXPECT_THAT(cli.out.str(), HasSubstr("failed\n"));
  EXPECT_THAT(cli.out.str(), ::testing::Not(HasSubstr("\nb ")));
}

TEST(GroupsSplit, RequiresANumberOfParts) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"groups", "split", "mail"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), StartsWith("jobclient: groups split: --parts is missing (2,"));
  EXPECT_EQ(cli.tracker.asked<wire::Act>().size(), 0u);
  for (const char* wrong : {"1", "3", "128", "-2"}) {
    cli.err.str("");
    EXPECT_EQ(cli.run({"groups", "split", "mail", "--parts", wrong}), kWrongInput);
    EXPECT_EQ(cli.err.str(), std::string{"jobclient: groups split: --parts: "} + wrong +
                                 " is not one of 2, 4, 8, 16, 32 and 64\n");
  }
  EXPECT_EQ(cli.tracker.asked<wire::Act>().size(), 0u);
  EXPECT_EQ(cli.run({"groups", "split", "mail", "--parts", "8"}), kDone);
  EXPECT_EQ(cli.tracker.asked<wire::Act>().at(0).parts, 8);
}

TEST(OtherGroups, AreSuggestedByEveryVerbOnATask) {
  for (const auto& verb : std::vector<std::vector<std::string>>{
           {"show"}, {"logs"}, {"scripts", "list"}, {"scripts", "show"}, {"trigger", "--wait"}}) {
    SCOPED_TRACE(verb.back());
    std::vector<std::string> arguments = verb;
    arguments.emplace_back("x");
    Cli cli(in_group_ops);
    EXPECT_NE(cli.run(arguments), kDone);
    EXPECT_THAT(cli.err.str(), HasSubstr("it is in group 'ops': --group ops\n"));
  }
}

TEST(OtherGroups, AreSuggestedForAnEndedTask) {
  Cli cli(ended_in_group_ops);
  EXPECT_EQ(cli.run({"logs", "x"}), kNotFound);
  EXPECT_THAT(cli.err.str(), HasSubstr("it has ended in group 'ops': --group ops\n"));
}

TEST(OtherGroups, AreNotSuggestedWhenTheGroupHasTheTask) {
  Cli cli(in_group_ops);
  EXPECT_EQ(cli.run({"kill", "x", "--group", "ops"}), kNotFound);
  EXPECT_EQ(cli.err.str(), "jobclient: kill: no task 'x' in group 'default'\n");
}

TEST(Kill, AcceptsAJobInsteadOfATask) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"kill", "--job", "7211", "-o", "json"}), kDone);
  EXPECT_EQ(cli.tracker.asked<wire::Act>()[0].job_id, JobId{7211});
  EXPECT_EQ(cli.out.str(), "{\"message\":\"done so\"}\n");
}

TEST(Kill, RequiresEitherATaskOrAJob) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"kill"}), kWrongInput);
  EXPECT_EQ(cli.run({"kill", "x", "--job", "7"}), kWrongInput);
  EXPECT_EQ(cli.run({"kill", "--job", "seven"}), kWrongInput);
  EXPECT_EQ(cli.run({"kill", "--job", "7", "--group", "other"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--group cannot be combined with --job"));
  EXPECT_EQ(cli.run({"logs", "--job", "7", "--group", "other"}), kWrongInput);
}

TEST(Ask, ReadsEveryPage) {
  Cli cli(two_pages);
  EXPECT_EQ(cli.run({"waiting", "--group", "ops"}), kDone);
  EXPECT_EQ(cli.out.str(),
            "JOB ID  TASK ID  GROUP  TRIGGER TIME  PRIORITY  ATTEMPT  KIND  STATE\n"
            "     1  task-1   ops    09:30:00           100        0  cron  waiting\n"
            "     2  task-2   ops    09:30:00           100        0  cron  waiting\n"
            "     3  task-3   ops    09:30:00           100        0  cron  waiting\n"
            "     4  task-4   ops    09:30:00           100        0  cron  waiting\n");
  const auto asked = cli.tracker.asked<wire::Query>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].what, "waiting");
  EXPECT_EQ(asked[1].group, "ops");
  EXPECT_EQ(asked[1].after, "2");
}

TEST(Ask, FallsBackToUtcWhenTheUsersZoneIsUnknown) {
  Cli cli(two_pages);
  cli.zone = Error{ErrorCode::kInvalidArgument, "TZ: time zone 'Nowhere/X' is not known"};
  EXPECT_EQ(cli.run({"waiting"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("08:30:00"));
  EXPECT_EQ(cli.err.str(), "jobclient: times are in UTC: TZ: time zone 'Nowhere/X' is not known\n");
  cli.err.str("");
  EXPECT_EQ(cli.run({"waiting", "-o", "json"}), kDone);
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Ask, StopsAtTheLimit) {
  Cli cli(two_pages);
  EXPECT_EQ(cli.run({"waiting", "--limit", "3", "-o", "jsonl"}), kDone);
  const std::string out = cli.out.str();
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_EQ(cli.tracker.asked<wire::Query>()[1].limit, 1);
}

class AskVerb : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(AskVerb, ReportsAnEmptyResultOnStderr) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({GetParam().first}), kDone);
  EXPECT_EQ(cli.out.str(), "");
  EXPECT_EQ(cli.err.str(), std::string{GetParam().second} + "\n");
  EXPECT_EQ(cli.tracker.asked<wire::Query>()[0].what, GetParam().first);
}

TEST_P(AskVerb, PrintsAnEmptyArrayInJson) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({GetParam().first, "-o", "json"}), kDone);
  EXPECT_EQ(cli.out.str(), "[]\n");
  EXPECT_EQ(cli.err.str(), "");
}

INSTANTIATE_TEST_SUITE_P(Verbs, AskVerb,
                         ::testing::Values(std::pair{"list", "nothing is defined"},
                                           std::pair{"waiting", "nothing is waiting"},
                                           std::pair{"executing", "nothing is executing"},
                                           std::pair{"history", "nothing has ended"},
                                           std::pair{"nodes", "no node is known"},
                                           std::pair{"groups", "no node group is known"}),
                         [](const auto& verb) { return std::string{verb.param.first}; });

TEST(Ask, NamesTheGroupOfAnEmptyResult) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({"waiting", "--group", "mail"}), kDone);
  EXPECT_EQ(cli.err.str(), "nothing is waiting in group mail\n");
}

// A job that has written nothing: how far it is, in `state`.
FakeTracker::Answer silent_job(const std::string& state, bool done) {
  return [state, done](const wire::Message& request) -> wire::Message {
    if (std::get<wire::Query>(request).what != "job") return wire::Rows{};
    return wire::Rows{.rows = {{{"state", state}, {"done", done}}}};
  };
}

TEST(History, QueriesRunsEndedSinceATime) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({"history", "nightly", "--since", "1h", "--limit", "5"}), kDone);
  const auto query = cli.tracker.asked<wire::Query>()[0];
  EXPECT_EQ(query.task_id, "nightly");
  EXPECT_EQ(query.limit, 5);
  const WallTime since = cli.clock.wall_now() - std::chrono::hours{1};
  EXPECT_EQ(query.since_us, since.time_since_epoch().count());
  EXPECT_EQ(cli.err.str(), "nothing has ended of task nightly\n");
}

// Three pages of two rows each, every third of which has failed.
wire::Message some_failed(const wire::Message& request) {
  const int first = std::atoi(std::get<wire::Query>(request).after.c_str());
  wire::Rows page{.next = first < 4 ? std::to_string(first + 2) : ""};
  for (int i = first; i < first + 2; ++i) {
    page.rows.push_back({{"job_id", std::to_string(i)},
                         {"state", std::string{i % 3 == 1 ? "failed" : "succeeded"}}});
  }
  return page;
}

TEST(History, FiltersAllPagesByState) {
  Cli cli(some_failed);
  EXPECT_EQ(cli.run({"history", "-o", "jsonl", "--state", "failed", "--state", "lost"}), kDone);
  EXPECT_EQ(cli.out.str(),
            "{\"job_id\":\"1\",\"state\":\"failed\"}\n{\"job_id\":\"4\",\"state\":\"failed\"}\n");
  cli.out.str("");
  EXPECT_EQ(cli.run({"history", "-o", "jsonl", "--state", "failed", "--limit", "1"}), kDone);
  EXPECT_EQ(cli.out.str(), "{\"job_id\":\"1\",\"state\":\"failed\"}\n");
  EXPECT_EQ(cli.run({"history", "--state", "killed", "--state", "lost"}), kDone);
  EXPECT_EQ(cli.err.str(), "nothing has ended as killed or lost\n");
}

TEST(History, RefusesAnUnknownState) {
  Cli unknown(no_rows);
  EXPECT_EQ(unknown.run({"history", "--state", "failed,broken"}), kWrongInput);
  EXPECT_THAT(unknown.err.str(), HasSubstr("--state: 'broken' is not one of "));
  Cli empty(no_rows);
  EXPECT_EQ(empty.run({"history", "--state", ""}), kWrongInput);
  EXPECT_THAT(empty.err.str(), HasSubstr("--state: '' has no entries"));
}

TEST(History, QueriesOneJob) {
  Cli cli(silent_job("waiting", false));
  EXPECT_EQ(cli.run({"history", "--job", "7"}), kDone);
  EXPECT_EQ(cli.tracker.asked<wire::Query>().back().job_id, JobId{7});
  EXPECT_EQ(cli.err.str(), "nothing has ended of job 7\n");
  EXPECT_EQ(cli.run({"history", "--job", "seven"}), kWrongInput);
}

TEST(History, ExitsWithFourForAnUnknownJob) {
  Cli cli(not_found);
  EXPECT_EQ(cli.run({"history", "--job", "7"}), kNotFound);
}

TEST(History, RefusesAnInvalidTime) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({"history", "--since", "yesterday"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--since 'yesterday' is neither a duration nor a time"));
}

// 150 rows at a time, without an end.
wire::Message endless(const wire::Message&) {
  return wire::Rows{.rows = std::vector<Row>(150, waiting_row("7")), .next = "more"};
}

TEST(Ask, LimitsRowsOnATerminal) {
  Cli cli(endless);
  cli.terminal.out_is_terminal = true;
  EXPECT_EQ(cli.run({"waiting"}), kDone);
  const std::string out = cli.out.str();
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 201);
  EXPECT_EQ(cli.err.str(), "only the first 200 rows are shown; --limit 0 shows all\n");
}

// 201 rows of one page have failed, and 50 have not.
wire::Message mostly_failed(const wire::Message&) {
  wire::Rows page;
  for (int i = 0; i < 251; ++i) {
    page.rows.push_back(
        {{"job_id", std::to_string(i)}, {"state", std::string{i < 50 ? "succeeded" : "failed"}}});
  }
  return page;
}

TEST(Ask, ReportsWhetherMoreFilteredRowsFollow) {
  Cli cli(mostly_failed);
  cli.terminal.out_is_terminal = true;
  EXPECT_EQ(cli.run({"history", "--state", "failed"}), kDone);
  EXPECT_EQ(cli.err.str(), "only the first 200 rows are shown; --limit 0 shows all\n");
  cli.err.str("");
  EXPECT_EQ(cli.run({"history", "--state", "succeeded"}), kDone);
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Ask, ShowsTheRequestedNumberOfRowsOnATerminal) {
  Cli cli(endless);
  cli.terminal.out_is_terminal = true;
  EXPECT_EQ(cli.run({"waiting", "--limit", "300"}), kDone);
  const std::string out = cli.out.str();
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 301);
  EXPECT_EQ(cli.err.str(), "");
}

TEST(Show, ExpandsTheSpecInATableButNotInJson) {
  const auto answer = [](const wire::Message&) -> wire::Message {
    JobSpec spec;
    spec.task_id = "nightly";
    spec.run.kind = RunKind::kCommand;
    spec.run.command = {"a", "b"};
    return wire::Rows{.rows = {{{"task_id", std::string{"nightly"}},
                                {"state", std::string{"active"}},
                                {"spec", wire::encode_spec(spec)}}}};
  };
  Cli table(answer);
  EXPECT_EQ(table.run({"show", "nightly"}), kDone);
  EXPECT_EQ(table.out.str(),
            "task_id  nightly\n"
            "state    active\n"
            "group    default\n"
            "now      true\n"
            "command  [\"a\",\"b\"]\n");
  Cli json(answer);
  EXPECT_EQ(json.run({"show", "nightly", "-o", "json"}), kDone);
  EXPECT_EQ(
      json.out.str(),
      R"({"task_id":"nightly","state":"active","spec":{"task_id":"nightly","group":"default","now":true,"command":["a","b"]}})"
      "\n");
}

TEST(Show, ReportsAJobThatCannotBeRead) {
  Cli cli([](const wire::Message&) -> wire::Message {
    return wire::Rows{.rows = {{{"spec", std::string{"\xc1"}}}}};
  });
  EXPECT_EQ(cli.run({"show", "nightly"}), kRefused);
  EXPECT_THAT(cli.err.str(), HasSubstr("cannot be read"));
}

TEST(Show, ExitsWithFourForAnUnknownTask) {
  Cli refused(not_found);
  EXPECT_EQ(refused.run({"show", "x"}), kNotFound);
  Cli empty(no_rows);
  EXPECT_EQ(empty.run({"show", "x"}), kNotFound);
}

TEST(Stats, ArePrintedAsOneObject) {
  Cli cli([](const wire::Message&) -> wire::Message {
    return wire::Rows{.rows = {{{"submitted", std::int64_t{12}}, {"load", 0.5}}}};
  });
  EXPECT_EQ(cli.run({"stats", "-o", "json"}), kDone);
  EXPECT_EQ(cli.out.str(), "{\"submitted\":12,\"load\":0.5}\n");
}

// Output of job 7: of task "t", which ran last.
wire::Message logs_of_seven(const wire::Message& request) {
  const auto& query = std::get<wire::Query>(request);
  if (query.what == "executing" || query.what == "waiting") return wire::Rows{};
  if (query.what == "history") {
    return wire::Rows{.rows = {{{"job_id", std::string{"7"}}, {"task_id", query.task_id}}}};
  }
  if (query.what == "job") return wire::Rows{.rows = {{{"done", true}}}};
  if (query.after == "2") return wire::Rows{.next = "2"};
  return wire::Rows{.rows = {{{"seq", std::int64_t{1}},
                              {"stream", std::string{"stdout"}},
                              {"at", std::string{"2026-11-21T07:00:00.000Z"}},
                              {"text", std::string{"one\ntw"}}},
                             {{"seq", std::int64_t{2}},
                              {"stream", std::string{"stdout"}},
                              {"at", std::string{"2026-11-21T07:00:01.000Z"}},
                              {"text", std::string{"o\n"}}}},
                    .next = "2"};
}

TEST(Logs, PrintsTheOutputOfATasksLastRun) {
  Cli cli(logs_of_seven);
  EXPECT_EQ(cli.run({"logs", "t"}), kDone);
  EXPECT_EQ(cli.out.str(), "one\ntwo\n");
  EXPECT_EQ(cli.tracker.asked<wire::Query>().back().job_id, JobId{7});
}

TEST(Logs, KeepsEscapeSequencesFromATerminal) {
  const auto escape = [](const wire::Message& request) -> wire::Message {
    const auto& query = std::get<wire::Query>(request);
    if (query.what != "output" || !query.after.empty()) return logs_of_seven(request);
    return wire::Rows{
        .rows = {{{"stream", std::string{"stdout"}}, {"text", std::string{"\x1b]0;a\x07\xe5\xa4"}}},
                 {{"stream", std::string{"stdout"}}, {"text", std::string{"\x87\n"}}}},
        .next = "2"};
  };
  Cli piped(escape);
  EXPECT_EQ(piped.run({"logs", "--job", "7"}), kDone);
  EXPECT_EQ(piped.out.str(), "\x1b]0;a\x07备\n");
  Cli cli(escape);
  cli.terminal.out_is_terminal = true;
  EXPECT_EQ(cli.run({"logs", "--job", "7"}), kDone);
  EXPECT_EQ(cli.out.str(), "\\x1b]0;a\\x07备\n") << "a cut character is whole";
}

TEST(Logs, PrintsTheLastLinesOnly) {
  Cli cli(logs_of_seven);
  EXPECT_EQ(cli.run({"logs", "t", "--tail", "1"}), kDone);
  EXPECT_EQ(cli.out.str(), "two\n");
}

TEST(Logs, SkipsACancelledFireWithoutOutput) {
  Cli cli([](const wire::Message& request) -> wire::Message {
    wire::Message answer = logs_of_seven(request);
    const auto& query = std::get<wire::Query>(request);
    if (query.what != "history") return answer;
    auto& rows = std::get<wire::Rows>(answer).rows;
    rows.insert(
        rows.begin(),
        {{"job_id", std::string{"9"}}, {"task_id", query.task_id}, {"attempt", std::int64_t{0}}});
    return answer;
  });
  EXPECT_EQ(cli.run({"logs", "t"}), kDone);
  EXPECT_EQ(cli.out.str(), "one\ntwo\n");
}

TEST(Logs, PrefixesLinesWithTimes) {
  Cli cli(logs_of_seven);
  EXPECT_EQ(cli.run({"logs", "--job", "7", "-t"}), kDone);
  EXPECT_EQ(cli.out.str(), "08:00:00 one\n08:00:00 two\n");
}

TEST(Logs, ArePrintedAsOneArrayInJson) {
  const std::string one =
      R"({"seq":1,"stream":"stdout","at":"2026-11-21T07:00:00.000Z","text":"one\ntw"})";
  const std::string two =
      R"({"seq":2,"stream":"stdout","at":"2026-11-21T07:00:01.000Z","text":"o\n"})";
  for (const char* more : {"--timestamps", "--follow"}) {
    SCOPED_TRACE(more);
    Cli json(logs_of_seven);
    EXPECT_EQ(json.run({"logs", "--job", "7", more, "-o", "json"}), kDone);
    EXPECT_EQ(json.out.str(), "[\n" + one + ",\n" + two + "\n]\n");
    Cli lines(logs_of_seven);
    EXPECT_EQ(lines.run({"logs", "--job", "7", more, "-o", "jsonl"}), kDone);
    EXPECT_EQ(lines.out.str(), one + "\n" + two + "\n");
  }
}

TEST(Logs, FollowsUntilTheJobHasEnded) {
  Cli cli(logs_of_seven);
  EXPECT_EQ(cli.run({"logs", "-f", "--job", "7"}), kDone);
  EXPECT_EQ(cli.out.str(), "one\ntwo\n");
}

TEST(Logs, ReportsThatNothingWasWritten) {
  Cli ended(silent_job("succeeded", true));
  EXPECT_EQ(ended.run({"logs", "--job", "7"}), kDone);
  EXPECT_EQ(ended.err.str(), "job 7 has no output\n");
  Cli waiting(silent_job("waiting", false));
  EXPECT_EQ(waiting.run({"logs", "--job", "7"}), kDone);
  EXPECT_EQ(waiting.err.str(), "job 7 has no output yet; its state is waiting\n");
  Cli json(silent_job("succeeded", true));
  EXPECT_EQ(json.run({"logs", "--job", "7", "-o", "json"}), kDone);
  EXPECT_EQ(json.out.str() + json.err.str(), "[]\n");
}

TEST(Logs, ExitsWithFourForAnUnknownJob) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"-f"}, {"-o", "json"}}) {
    Cli cli([](const wire::Message& request) -> wire::Message {
      if (std::get<wire::Query>(request).what == "output") return wire::Rows{};
      return wire::ErrorReply{{ErrorCode::kNotFound, "job 7 is not known"}};
    });
    std::vector<std::string> arguments{"logs", "--job", "7"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(cli.run(arguments), kNotFound);
    EXPECT_EQ(cli.err.str(),
              more.size() == 2
                  ? "{\"error\":\"job 7 is not known\",\"verb\":\"logs\",\"exit_status\":4}\n"
                  : "jobclient: logs: job 7 is not known\n");
  }
}

TEST(Logs, RefusesAnInvalidJobId) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({"logs", "--job", "seven"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--job 'seven' is not a job id"));
}

TEST(Logs, SearchesATaskOnEveryPage) {
  Cli cli([](const wire::Message& request) -> wire::Message {
    const auto& query = std::get<wire::Query>(request);
    if (query.what == "executing" && query.after.empty()) return wire::Rows{.next = "5"};
    return logs_of_seven(request);
  });
  EXPECT_EQ(cli.run({"logs", "t"}), kDone);
  EXPECT_EQ(cli.out.str(), "one\ntwo\n");
  EXPECT_EQ(cli.tracker.asked<wire::Query>()[1].after, "5");
}

TEST(Logs, ExitsWithFourForATaskThatNeverRan) {
  Cli cli(no_rows);
  EXPECT_EQ(cli.run({"logs", "x"}), kNotFound);
}

TEST(Logs, KeepsRetryingWhileFollowing) {
  auto failures = std::make_shared<int>(0);
  Cli cli([failures](const wire::Message& request) -> wire::Message {
    if (std::get<wire::Query>(request).what == "job" && ++*failures <= 3) {
      return wire::ErrorReply{{ErrorCode::kUnavailable, "the store is away"}};
    }
    return logs_of_seven(request);
  });
  EXPECT_EQ(cli.run({"logs", "-f", "--job", "7"}), kDone);
  EXPECT_EQ(cli.err.str(),
            "jobclient: logs: the store is away; still trying\n"
            "jobclient: logs: connected again\n");
}

TEST(FeedbackVerb, PrintsResultsAndAcknowledgesThem) {
  const auto two_then_none = [](const wire::Message& request) -> wire::Message {
    if (!std::get<wire::FetchFeedback>(request).done.empty()) return wire::Feedback{};
    return wire::Feedback{{{.id = 5, .job_id = JobId{7}, .task_id = "a", .state = "succeeded"},
                           {.id = 6,
                            .job_id = JobId{8},
                            .task_id = "b",
                            .attempt = 2,
                            .state = "failed",
                            .exit_code = 3,
                            .message = "exit status 3"}}};
  };
  Cli cli(two_then_none);
  EXPECT_EQ(cli.run({"-o", "jsonl", "feedback", "--client-group", "billing", "--limit", "2"}),
            kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr(R"({"job_id":"7","task_id":"a")"));
  EXPECT_THAT(cli.out.str(), HasSubstr(R"("state":"failed")"));
  EXPECT_THAT(cli.out.str(), HasSubstr(R"("exit_code":3,"message":"exit status 3"})"));
  const auto asked = cli.tracker.asked<wire::FetchFeedback>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].client_group, "billing");
  EXPECT_EQ(asked[0].limit, 2);
  EXPECT_EQ(asked[1].done, (std::vector<std::int64_t>{5, 6}));
  EXPECT_EQ(asked[1].limit, 0) << "only to acknowledge";
  EXPECT_EQ(asked[1].listener, asked[0].listener);

  Cli lines(two_then_none);
  EXPECT_EQ(lines.run({"feedback", "--client-group", "billing", "--limit", "2"}), kDone);
  EXPECT_THAT(lines.out.str(), HasSubstr("b    job 8  failed  exit status 3\n"));
}

TEST(FeedbackVerb, KeepsRetryingAndRequiresAClientGroup) {
  auto failures = std::make_shared<int>(0);
  Cli cli([failures](const wire::Message& request) -> wire::Message {
    if (++*failures <= 2) return wire::ErrorReply{{ErrorCode::kUnavailable, "the store is away"}};
    if (!std::get<wire::FetchFeedback>(request).done.empty()) return wire::Feedback{};
    return wire::Feedback{{{.id = 5, .task_id = "a", .state = "succeeded"}}};
  });
  EXPECT_EQ(cli.run({"feedback", "--client-group", "billing", "--limit", "1"}), kDone);
  EXPECT_THAT(cli.err.str(), HasSubstr("jobclient: feedback: connected again"));
  EXPECT_EQ(cli.run({"feedback"}), kWrongInput);
  cli.err.str("");
  EXPECT_EQ(cli.run({"feedback", "--client-group", "a b"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("client_group is 'a b', must have only letters"));
}

TEST(ImportCrontab, PreviewsSubmissionsWithoutATracker) {
  Cli cli(acted);
  cli.tracker.is_reachable = false;
  cli.give_input("0 2 * * * backup\n@reboot agent\n");
  EXPECT_EQ(cli.run({"import", "crontab", "-"}), kRefused);
  EXPECT_THAT(cli.out.str(), HasSubstr("would submit"));
  EXPECT_THAT(cli.out.str(), HasSubstr("0 2 * * *"));
  EXPECT_THAT(cli.err.str(), StartsWith("read as a personal crontab, without users before the "
                                        "commands (--system: with them)\nline 2: jobs cannot "
                                        "start with the machine"));
  EXPECT_THAT(cli.err.str(), HasSubstr("add --apply to submit 1 job\n"));
}

TEST(ImportCrontab, ReportsTheCrontabFormAndEachRefusedLine) {
  Cli cli(acted);
  cli.give_input(
      "MAILTO=root\n"
      "1 * * * * root a\n"
      "2 * * * * root b\n"
      "61 * * * * ann c\n"
      "3 * * * * ann d\n"
      "4 * * * * root e\n");
  EXPECT_EQ(cli.run({"import", "crontab", "-"}), kRefused);
  EXPECT_THAT(cli.err.str(), StartsWith("read as a system crontab, with a user before each command "
                                        "(--personal: without)\n"
                                        "lines 2, 3, 6: runs as root, but a task tracker"));
  EXPECT_THAT(cli.err.str(), HasSubstr("\nline 4: "));
  EXPECT_THAT(cli.err.str(), HasSubstr("61 is out of range"));
  EXPECT_THAT(cli.err.str(), HasSubstr("add --apply to submit 1 job\n"));
}

TEST(ImportCrontab, DoesNotReportARequestedForm) {
  Cli cli(acted);
  cli.give_input("1 * * * * root a\n");
  EXPECT_EQ(cli.run({"import", "crontab", "-", "--personal"}), kDone);
  EXPECT_EQ(cli.err.str(), "nothing was submitted; add --apply to submit 1 job\n");
  EXPECT_THAT(cli.out.str(), HasSubstr("root a"));
}

TEST(ImportCrontab, SubmitsWithApply) {
  Cli cli(accept_all);
  cli.give_input("0 2 * * * backup\n0 3 * * * report\n");
  EXPECT_EQ(cli.run({"import", "crontab", "-", "--apply", "--group", "ops", "-o", "jsonl"}), kDone);
  const auto asked = cli.tracker.asked<wire::Submit>();
  ASSERT_EQ(asked.size(), 1u);
  ASSERT_EQ(asked[0].jobs.size(), 2u);
  EXPECT_EQ(asked[0].jobs[1].group, "ops");
  EXPECT_EQ(asked[0].jobs[1].schedule.tz, "Europe/Berlin");
  EXPECT_THAT(cli.out.str(), HasSubstr(R"("status":"accepted")"));
}

TEST(ImportCrontab, ReportsTheOutcomeOfEachEntryWhenAMessageFails) {
  auto messages = std::make_shared<int>(0);
  Cli cli([messages](const wire::Message& request) -> wire::Message {
    if (++*messages == 2) return wire::ErrorReply{{ErrorCode::kDenied, "not now"}};
    return accept_all(request);
  });
  std::string crontab;
  for (int i = 0; i < 1001; ++i) crontab += "@daily task-" + std::to_string(i) + "\n";
  cli.give_input(crontab);
  EXPECT_EQ(cli.run({"import", "crontab", "-", "--personal", "--apply", "-o", "jsonl"}), kRefused);
  EXPECT_THAT(cli.out.str(), HasSubstr(R"("status":"accepted")"));
  EXPECT_THAT(cli.out.str(), HasSubstr(R"("line":1001,"status":"not_taken")"));
  EXPECT_THAT(cli.err.str(), HasSubstr(R"({"error":"not now","verb":"import crontab")"));
}

TEST(ImportCrontab, ExplainsWhyAFileCannotBeRead) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"import", "crontab", "/no/such"}), kWrongInput);
  EXPECT_EQ(cli.err.str(),
            "jobclient: import crontab: cannot read '/no/such': No such file or directory\n");
}

TEST(Help, DescribesAVerb) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"help", "import", "crontab"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("--apply"));
  EXPECT_EQ(cli.run({"help", "sbmit"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("did you mean 'submit'?"));
}

TEST(Program, RefusesUnknownVerbsAndFlags) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"flash"}), kWrongInput);
  EXPECT_EQ(cli.run({"submit", "--ofline", "--", "true"}), kWrongInput);
  EXPECT_EQ(cli.run({}), kWrongInput);
  EXPECT_THAT(cli.err.str(), StartsWith("jobclient: "));
}

TEST(Program, RefusesAnInvalidTrackerAddress) {
  Cli cli(acted);
  EXPECT_EQ(cli.run({"list", "--tracker", "localhost"}), kWrongInput);
  EXPECT_EQ(cli.err.str(),
            "jobclient: --tracker: 'localhost' is not an address, must look like "
            "tcp://127.0.0.1:35001\n");
}

// Two waits would make the shortest of calls last twice --connect-timeout.
TEST(Program, WaitsOnceForAConnectionWithStoredJobs) {
  const testing::TempFolder folder;
  JobClientOptions options{.connect_timeout = std::chrono::seconds{2}, .data = folder.path()};
  FakeTracker tracker(acted);
  tracker.is_reachable = false;
  const auto client = tracker.open(options, options.connect_timeout).value();
  JobSpec job;
  job.run.handler = "noop";
  ASSERT_EQ(client->submit_one(job).value().status, SubmitStatus::kStored);
  ASSERT_EQ(client->flush().error().code, ErrorCode::kUnavailable);
  const SystemClock clock;
  const SteadyTime began = clock.steady_now();
  EXPECT_EQ(client->list().error().code, ErrorCode::kUnavailable);
  EXPECT_LT(clock.steady_now() - began, options.connect_timeout);
  EXPECT_EQ(client->list().error().code, ErrorCode::kUnavailable);
  EXPECT_GE(clock.steady_now() - began, options.connect_timeout) << "the call after it waits again";
}

// A program that flushes, finds that it is not taken, and goes on with other things.
TEST(Program, CallLongAfterAFailedFlushGetsItsFullTimeout) {
  const testing::TempFolder folder;
  JobClientOptions options{.answer_timeout = std::chrono::seconds{3}, .data = folder.path()};
  const Duration connect = std::chrono::milliseconds{300};
  std::atomic<bool> takes = false;
  FakeTracker tracker([&](const wire::Message& message) -> wire::Message {
    if (std::holds_alternative<wire::Submit>(message)) {
      if (!takes) return wire::ErrorReply{Error{ErrorCode::kUnavailable, "starting"}};
    }
    return acted(message);
  });
  const auto client = tracker.open(options, connect).value();
  JobSpec job;
  job.run.handler = "noop";
  ASSERT_EQ(client->submit_one(job).value().status, SubmitStatus::kStored);
  ASSERT_FALSE(client->flush(connect * 2).ok());
  (void)std::promise<void>{}.get_future().wait_for(std::chrono::seconds{1});
  const SystemClock clock;
  const SteadyTime began = clock.steady_now();
  const auto cancelled = client->cancel({.task_id = "c", .group = "c"});
  const auto took = clock.steady_now() - began;
  EXPECT_GE(took, std::chrono::seconds{2})
      << "it was given up after "
      << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
      << " ms: " << (cancelled.ok() ? "" : cancelled.error().message);
}

// The job tracker that looks after its group cannot be reached, for one.
TEST(Program, WaitsOnceForUndeliverableStoredJobsAndReportsTheReason) {
  const testing::TempFolder folder;
  JobClientOptions options{.answer_timeout = std::chrono::seconds{3}, .data = folder.path()};
  const Duration connect = std::chrono::milliseconds{300};
  const std::string why = "job tracker tcp://b:2, which owns 'a', cannot be reached";
  FakeTracker tracker([&](const wire::Message& message) -> wire::Message {
    if (!std::holds_alternative<wire::Submit>(message)) return wire::Rows{};
    return wire::ErrorReply{Error{ErrorCode::kUnavailable, why}};
  });
  const auto client = tracker.open(options, connect).value();
  const SystemClock clock;
  JobSpec job;
  job.run.handler = "noop";
  ASSERT_EQ(client->submit_one(job).value().status, SubmitStatus::kStored);
  const SteadyTime began = clock.steady_now();
  const auto flushed = client->flush(connect * 2);
  ASSERT_EQ(flushed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(flushed.error().message, StartsWith(why));
  EXPECT_TRUE(client->list().ok()) << "a question does not wait for it";
  EXPECT_LT(clock.steady_now() - began, options.answer_timeout);
  const auto cancelled = client->cancel({.task_id = "c", .group = "c"});
  ASSERT_EQ(cancelled.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(cancelled.error().message, StartsWith(why));
}

TEST(Program, PassesTheConnectionOptionsToTheClient) {
  const Program program = declare_program();
  const Result<Parsed> parsed = parse_configuration(
      program,
      {"stats", "--tracker", "tcp://a:1,tcp://b:2", "--connect-timeout", "2s", "--insecure"},
      Environment{});
  ASSERT_TRUE(parsed.ok());
  const JobClientOptions options = client_options(parsed.value().configuration);
  EXPECT_EQ(options.trackers, (std::vector<std::string>{"tcp://a:1", "tcp://b:2"}));
  EXPECT_EQ(options.connect_timeout, std::chrono::seconds{2});
  EXPECT_TRUE(options.insecure);
  EXPECT_EQ(options.outbox, OutboxUse::kDeliver) << "only --offline stores";
}

TEST(Program, PrefersHttpToKeysOfTheEnvironment) {
  const Program program = declare_program();
  const Result<Parsed> parsed =
      parse_configuration(program, {"stats", "--token-file", "token", "--ca", "ca.pem"},
                          Environment{{{"CARILLON_HTTP", "127.0.0.1:8080"},
                                       {"CARILLON_HTTP_URL", "https://host"},
                                       {"CARILLON_KEYS", "keys"}}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const JobClientOptions options = client_options(parsed.value().configuration);
  EXPECT_EQ(options.http, "https://host") << "CARILLON_HTTP is of the job tracker";
  EXPECT_EQ(options.ca_file, "ca.pem");
  EXPECT_EQ(options.token_file, "token");
  EXPECT_EQ(options.keys, "");
}

}  // namespace
}  // namespace carillon::cli
