#include "shared/wire/spec_json.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/base64.h"

namespace carillon::wire {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

JobSpec read(const std::string& json) {
  auto spec = spec_from_json(json);
  EXPECT_TRUE(spec.ok()) << spec.error().message;
  return spec.ok() ? std::move(spec).value() : JobSpec{};
}

std::string refusal(const std::string& json) {
  const auto spec = spec_from_json(json);
  return spec.ok() ? "none" : spec.error().message;
}

TEST(SpecFromJson, ReadsTheSmallestJob) {
  const JobSpec spec = read(R"({"command":["echo","hello"]})");
  EXPECT_EQ(spec.run.kind, RunKind::kCommand);
  EXPECT_THAT(spec.run.command, ElementsAre("echo", "hello"));
  EXPECT_EQ(spec.schedule, Schedule{});
  EXPECT_EQ(spec.group, "default");
  EXPECT_EQ(spec.task_id, "");
}

TEST(SpecFromJson, ReadsEveryPlainField) {
  const JobSpec spec = read(R"({"task_id":"nightly","group":"ops","description":"d","owner":"ann",
    "tags":["a","b"],"priority":7,"params":{"region":"eu"},"payload":"p","handler":"backup",
    "timeout":"1h30m","start_deadline":"500ms","overlap":"parallel","replace_on_exist":true,
    "now":true})");
  EXPECT_EQ(spec.task_id, "nightly");
  EXPECT_EQ(spec.group, "ops");
  EXPECT_EQ(spec.description, "d");
  EXPECT_EQ(spec.owner, "ann");
  EXPECT_THAT(spec.tags, ElementsAre("a", "b"));
  EXPECT_EQ(spec.priority, 7);
  EXPECT_THAT(spec.params, ElementsAre(Pair("region", "eu")));
  EXPECT_EQ(spec.payload, "p");
  EXPECT_EQ(spec.run.handler, "backup");
  EXPECT_EQ(spec.timeout, minutes{90});
  EXPECT_EQ(spec.start_deadline, milliseconds{500});
  EXPECT_EQ(spec.overlap, Overlap::kParallel);
  EXPECT_TRUE(spec.replace_on_exist);
}

TEST(SpecFromJson, ReadsEveryScheduleKind) {
  const Schedule cron =
      read(R"({"shell":"x","cron":"0 0 2 * * ?","tz":"Asia/Shanghai","dst":"twice"})").schedule;
  EXPECT_EQ(cron, (Schedule{.kind = ScheduleKind::kCron,
                            .cron = "0 0 2 * * ?",
                            .tz = "Asia/Shanghai",
                            .dst = DstRule::kTwice}));
  const Schedule every =
      read(R"({"shell":"x","every":"1s","count":3,"first":"1970-01-01T00:01:00Z"})").schedule;
  EXPECT_EQ(every, (Schedule{.kind = ScheduleKind::kEvery,
                             .interval = seconds{1},
                             .count = 3,
                             .first = WallTime{minutes{1}}}));
  EXPECT_EQ(read(R"({"shell":"x","fixed_delay":"2m"})").schedule,
            (Schedule{.kind = ScheduleKind::kFixedDelay, .interval = minutes{2}}));
  EXPECT_EQ(read(R"({"shell":"x","at":"1970-01-01T01:00:00+01:00"})").schedule,
            (Schedule{.kind = ScheduleKind::kAt, .at = WallTime{}}));
  EXPECT_EQ(read(R"({"shell":"x","manual":true})").schedule.kind, ScheduleKind::kManual);
}

TEST(SpecFromJson, ReadsEveryRunKind) {
  EXPECT_EQ(read(R"({"shell":"ls | wc"})").run,
            (carillon::Run{.kind = RunKind::kShell, .shell = "ls | wc"}));
  EXPECT_EQ(
      read(R"({"script":{"language":"python","source":"print 1"}})").run,
      (carillon::Run{
          .kind = RunKind::kScript, .script_language = "python", .script_source = "print 1"}));
  const carillon::Run http =
      read(R"({"http":{"method":"POST","url":"http://h/","headers":{"A":"b"},"body":"x"}})").run;
  EXPECT_EQ(
      http,
      (carillon::Run{
          .kind = RunKind::kHttp,
          .http = {.method = "POST", .url = "http://h/", .headers = {{"A", "b"}}, .body = "x"}}));
}

TEST(SpecFromJson, ReadsRetriesAndMisfireInShortAndLongForm) {
  EXPECT_EQ(read(R"({"shell":"x","retries":3})").retries.max, 3);
  EXPECT_EQ(read(R"({"shell":"x","retries":{"max":5,"policy":"exponential","base":"1s","cap":"1m",
                     "jitter":0.5}})")
                .retries,
            (RetryPolicy{.max = 5,
                         .policy = RetryBackoff::kExponential,
                         .base = seconds{1},
                         .cap = minutes{1},
                         .jitter = 0.5}));
  EXPECT_EQ(read(R"({"shell":"x","misfire":"skip"})").misfire.policy, MisfirePolicy::kSkip);
  EXPECT_EQ(read(R"({"shell":"x","misfire":{"policy":"fire_all","max":9,"window":"1h",
                     "threshold":"7s"}})")
                .misfire,
            (Misfire{.policy = MisfirePolicy::kFireAll,
                     .max = 9,
                     .window = hours{1},
                     .threshold = seconds{7}}));
}

TEST(SpecFromJson, ReadsChildren) {
  EXPECT_THAT(
      read(R"({"shell":"x","children":[{"group":"ops","task_id":"a"},{"task_id":"b"}]})").children,
      ElementsAre(Child{.group = "ops", .task_id = "a"}, Child{.task_id = "b"}));
  EXPECT_EQ(refusal(R"({"shell":"x","children":"a"})"),
            "children is string, must be a list of objects");
  EXPECT_EQ(refusal(R"({"shell":"x","children":["a"]})"),
            "a part of children is string, must be an object");
  EXPECT_EQ(refusal(R"({"shell":"x","children":[{"task":"a"}]})"),
            "unknown field 'children.task' (did you mean 'task_id'?)");
}

TEST(SpecFromJson, ReadsABase64Payload) {
  EXPECT_EQ(read(R"({"shell":"x","payload_base64":"AP8="})").payload, std::string("\0\xff", 2));
  EXPECT_EQ(refusal(R"({"shell":"x","payload_base64":"A*"})"), "payload_base64 is not base64");
  EXPECT_EQ(refusal(R"({"shell":"x","payload_base64":"eA="})"),
            "payload_base64 has wrong padding (use '=' up to a multiple of four characters, or "
            "leave it out)");
}

TEST(SpecFromJson, NamesAnUnknownFieldAndSuggestsTheNearest) {
  EXPECT_EQ(refusal(R"({"shell":"x","prioritty":1})"),
            "unknown field 'prioritty' (did you mean 'priority'?)");
  EXPECT_EQ(refusal(R"({"shell":"x","retries":{"maximum":1}})"), "unknown field 'retries.maximum'");
}

TEST(SpecFromJson, RefusesContradictoryFields) {
  EXPECT_EQ(refusal(R"({"shell":"x","at":"2026-11-21T08:00:00Z","cron":"@daily"})"),
            "at and cron contradict each other, give one");
  EXPECT_EQ(refusal(R"({"shell":"x","command":["y"]})"),
            "shell and command contradict each other, give one");
  EXPECT_EQ(refusal(R"({"shell":"x","payload":"a","payload_base64":"YQ=="})"),
            "payload and payload_base64 contradict each other, give one");
  EXPECT_EQ(refusal(R"({"shell":"x","every":"1s","tz":"UTC"})"),
            "tz cannot be combined with every, only with cron");
  EXPECT_EQ(refusal(R"({"shell":"x","count":3})"),
            "count cannot be combined with now, only with every and fixed_delay");
  EXPECT_EQ(refusal(R"({"shell":"x","every":"1s","misfire":{"max":3}})"),
            "misfire.max cannot be combined with misfire.policy fire_once, only with fire_all");
  EXPECT_EQ(refusal(R"({"shell":"x","every":"1s","misfire":{"window":"1h","policy":"skip"}})"),
            "misfire.window cannot be combined with misfire.policy skip, only with fire_all");
  for (const char* detail : {R"("policy":"exponential")", R"("cap":"1h")", R"("jitter":0.5)"}) {
    EXPECT_THAT(refusal(R"({"shell":"x","retries":{)" + std::string{detail} + "}}"),
                HasSubstr("cannot be combined with retries.max 0"));
  }
  EXPECT_EQ(refusal(R"({"shell":"x","retries":{"max":3,"cap":"1h"}})"),
            "retries.cap cannot be combined with retries.policy fixed, only with exponential");
  EXPECT_EQ(refusal(R"({"task_id":"t"})"),
            "nothing to run: give one of command, shell, script, http, handler");
}

TEST(SpecFromJson, RefusesARepeatedField) {
  EXPECT_EQ(refusal(R"({"task_id":"dupA","task_id":"dupB","shell":"x"})"),
            "task_id is given twice (give it once)");
  EXPECT_EQ(refusal(R"({"shell":"x","retries":{"max":1,"base":"1s","max":1}})"),
            "retries.max is given twice (give it once)");
  EXPECT_EQ(refusal(R"({"http":{"url":"http://h/","headers":{"A":"b","A":"c"}}})"),
            "http.headers.A is given twice (give it once)");
  EXPECT_EQ(refusal(R"({"shell":"x","params":{"a":"1"},"params":{"b":"2"}})"),
            "params is given twice (give it once)");
  EXPECT_EQ(read(R"({"shell":"x","params":{"shell":"y"}})").params.at("shell"), "y")
      << "another field of the same name";
}

TEST(SpecFromJson, NamesTheRefusedTaskIfKnown) {
  const NamedTask named = task_named_in(R"({"task_id":"a","group":"ops","shell":"x","shell":"y"})");
  EXPECT_EQ(named.task_id, "a");
  EXPECT_EQ(named.group, "ops");
  EXPECT_EQ(task_named_in(R"({"task_id":"a","task_id":"b"})").task_id, "");
}

TEST(SpecFromJson, NamesTheFieldWithAWrongType) {
  EXPECT_EQ(refusal(R"({"shell":5})"), "shell is 5, must be text");
  EXPECT_EQ(refusal(R"({"command":"echo"})"), "command is string, must be a list of texts");
  EXPECT_EQ(refusal(R"({"command":["echo",1]})"), "a part of command is 1, must be text");
  EXPECT_EQ(refusal(R"({"shell":"x","params":{"a":1}})"), "params.a is 1, must be text");
  EXPECT_EQ(refusal(R"({"shell":"x","priority":1.5})"), "priority is 1.5, must be a whole number");
  EXPECT_EQ(refusal(R"({"shell":"x","timeout":5})"),
            "timeout is 5, must be a duration like \"30s\"");
  EXPECT_EQ(refusal(R"({"shell":"x","replace_on_exist":"yes"})"),
            "replace_on_exist is string, must be true or false");
  EXPECT_EQ(refusal(R"({"shell":"x","now":false})"), "now is false, must be true or left out");
  EXPECT_EQ(refusal(R"({"script":"x"})"), "script is string, must be an object");
  EXPECT_EQ(refusal(R"([])"), "the job is array, must be an object");
}

TEST(SpecFromJson, RefusesNumbersOutOfRange) {
  EXPECT_EQ(refusal(R"({"shell":"x","priority":5000000000})"),
            "priority is 5000000000, must be 0 to 999");
  EXPECT_EQ(refusal(R"({"shell":"x","retries":10000000000})"),
            "retries is 10000000000, must be 0 to 10000");
  EXPECT_EQ(refusal(R"({"shell":"x","retries":{"max":10001}})"),
            "retries.max is 10001, must be 0 to 10000");
  EXPECT_EQ(refusal(R"({"shell":"x","retries":-1})"), "retries is -1, must be 0 to 10000");
  EXPECT_EQ(refusal(R"({"shell":"x","every":"1s","misfire":{"max":1000001}})"),
            "misfire.max is 1000001, must be 1 to 1000000");
  EXPECT_EQ(refusal(R"({"shell":"x","every":"1s","count":18446744073709551615})"),
            "count is 18446744073709551615, must be 1 to 9223372036854775807");
}

TEST(SpecFromJson, ListsTheAllowedValuesOfAField) {
  EXPECT_EQ(
      refusal(R"({"shell":"x","overlap":"paralel"})"),
      "overlap is 'paralel', must be one of skip, queue, queue_one, cancel_running, parallel (did "
      "you mean 'parallel'?)");
  EXPECT_EQ(read(R"({"shell":"x","overlap":"queue_one"})").overlap, Overlap::kQueueOne);
  EXPECT_EQ(read(R"({"shell":"x","overlap":"cancel_running"})").overlap, Overlap::kCancelRunning);
}

TEST(SpecFromJson, ReadsPushFields) {
  const JobSpec spec = read(R"({"handler":"importOrders","payload":"day=1","dispatch":"push",
    "route":"LEAST_RECENTLY_USED","addresses":["http://10.0.0.1:9999/"]})");
  EXPECT_EQ(spec.dispatch, Dispatch::kPush);
  EXPECT_EQ(spec.push.route, Route::kLeastRecentlyUsed);
  EXPECT_EQ(spec.push.block, Block::kSerialExecution);
  EXPECT_THAT(spec.push.addresses, ElementsAre("http://10.0.0.1:9999/"));
  EXPECT_EQ(spec.overlap, Overlap::kSkip);
  // What only executors know goes to them.
  EXPECT_EQ(read(R"({"handler":"x","route":"FIRST"})").dispatch, Dispatch::kPush);
  EXPECT_EQ(read(R"({"handler":"x"})").dispatch, Dispatch::kDefault);
  EXPECT_EQ(refusal(R"({"handler":"x","dispatch":"pull","route":"FIRST"})"),
            "route cannot be combined with dispatch pull, only with push");
}

TEST(SpecFromJson, DerivesOverlapFromTheBlockStrategyUnlessGiven) {
  const auto overlap = [](const std::string& fields) {
    return read(R"({"handler":"x",)" + fields + "}").overlap;
  };
  EXPECT_EQ(overlap(R"("block":"SERIAL_EXECUTION")"), Overlap::kQueue);
  EXPECT_EQ(overlap(R"("block":"DISCARD_LATER")"), Overlap::kSkip);
  EXPECT_EQ(overlap(R"("block":"COVER_EARLY")"), Overlap::kCancelRunning);
  EXPECT_EQ(overlap(R"("overlap":"parallel","block":"COVER_EARLY")"), Overlap::kParallel);
}

TEST(SpecToJson, RoundTripsPushFields) {
  for (const Block block : {Block::kSerialExecution, Block::kDiscardLater, Block::kCoverEarly}) {
    for (int overlap = 0; overlap <= static_cast<int>(Overlap::kParallel); ++overlap) {
      JobSpec spec{.task_id = "t", .run = {.handler = "x"}};
      spec.dispatch = Dispatch::kPush;
      spec.push = {.route = Route::kRound, .block = block, .addresses = {"http://a:1/"}};
      spec.overlap = static_cast<Overlap>(overlap);
      EXPECT_EQ(read(spec_to_json(spec)), spec) << spec_to_json(spec);
    }
  }
}

TEST(SpecFromJson, RefusesAnEmptyTaskId) {
  EXPECT_EQ(refusal(R"({"shell":"x","task_id":""})"),
            "task_id is empty (leave it out to get a generated one)");
}

TEST(SpecFromJson, RefusesUnsupportedFields) {
  EXPECT_EQ(refusal(R"({"shell":"x","shards":2})"), "shards is not supported yet");
}

TEST(SpecFromJson, NamesThePositionOfAJsonError) {
  EXPECT_EQ(refusal(R"({"shell":"x")"), "not JSON at character 13");
  EXPECT_EQ(refusal(""), "not JSON at character 1");
  EXPECT_EQ(refusal(R"({"priority":1e999})"),
            "a number is too large, must be within a double's range (1e308)");
  EXPECT_EQ(refusal(std::string(100'000, '[')), "not JSON at character 100001");
}

TEST(SpecToJson, WritesOnlyFieldsThatDifferFromTheDefaults) {
  JobSpec spec{.task_id = "nightly", .group = "ops"};
  spec.schedule = {.kind = ScheduleKind::kCron, .cron = "@daily", .tz = "UTC"};
  spec.run = {.kind = RunKind::kCommand, .command = {"echo", "hi"}};
  spec.retries.max = 2;
  EXPECT_EQ(spec_to_json(spec), R"({"task_id":"nightly","group":"ops","cron":"@daily","tz":"UTC",)"
                                R"("command":["echo","hi"],"retries":2})");
}

TEST(SpecToJson, RoundTripsThroughSpecFromJson) {
  JobSpec spec{.task_id = "t", .description = "d", .owner = "o", .tags = {"x"}, .priority = 3};
  spec.schedule = {.kind = ScheduleKind::kEvery,
                   .interval = milliseconds{1500},
                   .count = 4,
                   .first = WallTime{milliseconds{1'700'000'000'123}}};
  spec.params = {{"a", "b"}};
  spec.payload = std::string("\0\xff", 2);
  spec.run = {.kind = RunKind::kHttp, .http = {.url = "https://h/", .headers = {{"X", "y"}}}};
  spec.overlap = Overlap::kQueue;
  spec.misfire = {.policy = MisfirePolicy::kFireAll, .max = 4, .window = hours{3}};
  spec.retries = {.max = 3, .policy = RetryBackoff::kExponential, .cap = hours{2}, .jitter = 0.25};
  spec.timeout = seconds{9};
  spec.start_deadline = hours{1};
  spec.replace_on_exist = true;
  spec.need_feedback = true;
  spec.client_group = "billing";
  spec.children = {{.group = "ops", .task_id = "a"}, {.task_id = "b"}};
  EXPECT_EQ(read(spec_to_json(spec)), spec);
  spec.schedule = {.kind = ScheduleKind::kAt, .at = WallTime{seconds{1'700'000'000}}};
  spec.run = {.kind = RunKind::kScript, .script_language = "sh", .script_source = "ls"};
  EXPECT_EQ(read(spec_to_json(spec)), spec);
  spec.run.script_remark = "lists them";
  EXPECT_EQ(read(spec_to_json(spec)), spec);
  spec.schedule = {.kind = ScheduleKind::kManual};
  spec.run = {.kind = RunKind::kHandler, .handler = "noop"};
  EXPECT_EQ(read(spec_to_json(spec)), spec);
}

// As \u0000 each byte would be six: a mebibyte would be more than a line may have.
TEST(SpecToJson, WritesAPayloadOfControlCharactersAsBase64) {
  JobSpec spec{.task_id = "t"};
  spec.run = {.kind = RunKind::kHandler, .handler = "noop"};
  spec.payload = std::string(6, '\0');
  EXPECT_THAT(spec_to_json(spec), HasSubstr(R"("payload_base64":"AAAAAAAA")"));
  EXPECT_EQ(read(spec_to_json(spec)), spec);
  spec.payload = "a\tline\r\n";
  EXPECT_THAT(spec_to_json(spec), HasSubstr(R"("payload":"a\tline\r\n")"));
}

TEST(SpecToJson, OmitsFieldsWithoutEffect) {
  JobSpec spec{.task_id = "t"};
  spec.run = {.kind = RunKind::kHandler, .handler = "noop"};
  spec.misfire = {.policy = MisfirePolicy::kSkip, .max = 4, .window = hours{3}};
  spec.retries = {.max = 3, .cap = hours{2}};
  const JobSpec told = read(spec_to_json(spec));
  EXPECT_EQ(told.misfire, Misfire{.policy = MisfirePolicy::kSkip});
  EXPECT_EQ(told.retries, RetryPolicy{.max = 3});
}

TEST(SpecToJson, WritesTimesWithMilliseconds) {
  const WallTime time{Duration{1'700'000'000'123'456}};
  JobSpec spec{.schedule = {.kind = ScheduleKind::kAt, .at = time}};
  EXPECT_THAT(spec_to_json(spec), HasSubstr(R"("at":"2023-11-14T22:13:20.123Z")"));
  spec.schedule = {.kind = ScheduleKind::kEvery, .interval = seconds{1}, .first = time};
  EXPECT_THAT(spec_to_json(spec), HasSubstr(R"("first":"2023-11-14T22:13:20.123Z")"));
}

TEST(AnswerToJson, MatchesTheDocumentedFormat) {
  EXPECT_EQ(answer_to_json({.task_id = "nightly",
                            .group = "ops",
                            .job_id = JobId{7211},
                            .status = SubmitStatus::kAccepted,
                            .tz = "Asia/Shanghai"}),
            R"({"task_id":"nightly","group":"ops","job_id":"7211","status":"accepted",)"
            R"("tz":"Asia/Shanghai"})");
  EXPECT_EQ(answer_to_json({.task_id = "t", .group = "g", .reason = "is taken"}),
            R"({"task_id":"t","group":"g","status":"rejected","reason":"is taken"})");
}

TEST(RowToJson, KeepsOrderAndTypesAndReplacesInvalidUtf8) {
  EXPECT_EQ(row_to_json({{"z", std::string{"text \"\n"}},
                         {"a", std::int64_t{-5}},
                         {"b", true},
                         {"c", 0.5},
                         {"d", std::monostate{}}}),
            R"({"z":"text \"\n","a":-5,"b":true,"c":0.5,"d":null})");
  EXPECT_EQ(row_to_json({{"bad", std::string{"x\xff"}}}), "{\"bad\":\"x\xef\xbf\xbd\"}");
  EXPECT_EQ(row_to_json({}), "{}");
}

TEST(Base64, RoundTripsBytesOfEveryLength) {
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(from_base64(to_base64(bytes)), bytes) << i;
    bytes += static_cast<char>(i);
  }
  EXPECT_EQ(from_base64("Zm9vYg"), "foob");
  EXPECT_EQ(from_base64("Zm9vYg="), std::nullopt);
  EXPECT_EQ(from_base64("Zm9v="), std::nullopt);
  EXPECT_EQ(from_base64("Zm9v===="), std::nullopt);
  EXPECT_EQ(from_base64("Z"), std::nullopt);
  EXPECT_EQ(from_base64("Zm 9"), std::nullopt);
}

}  // namespace
}  // namespace carillon::wire
