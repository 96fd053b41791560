#include "carillon/job_spec.h"

#include <functional>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

JobSpec good() {
  JobSpec spec{.task_id = "nightly"};
  spec.run = {.kind = RunKind::kCommand, .command = {"echo", "hello"}};
  return spec;
}

// What a good job with one change is refused with.
std::string refusal(const std::function<void(JobSpec&)>& change) {
  JobSpec spec = good();
  change(spec);
  const Status status = spec.validate();
  return status.ok() ? "none" : status.error().message;
}

TEST(JobSpecValidate, AcceptsAValidJob) {
  EXPECT_EQ(refusal([](JobSpec&) {}), "none");
  EXPECT_EQ(refusal([](JobSpec& s) { s.task_id = ""; }), "none") << "one is made";
  EXPECT_EQ(refusal([](JobSpec& s) { s.task_id = "täglich ☃"; }), "none");
}

TEST(JobSpecValidate, ChecksTheTaskId) {
  EXPECT_EQ(refusal([](JobSpec& s) { s.task_id = std::string(201, 'x'); }),
            "task_id has 201 bytes, at most 200");
  for (const char* wrong : {"a\nb", "\x7f", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xc2\x85"}) {
    EXPECT_EQ(refusal([&](JobSpec& s) { s.task_id = wrong; }),
              "task_id must be UTF-8 text without control characters");
  }
}

TEST(JobSpecValidate, ReservesGeneratedTaskIds) {
  EXPECT_EQ(refusal([](JobSpec& s) { s.task_id = "job-382458616025710592"; }),
            "task_id 'job-382458616025710592': 'job-' with a long number is reserved for jobs "
            "without a chosen task id, choose another");
  for (const char* chosen : {"job-7", "job-99999999999999", "Job-382458616025710592", "job-1x"}) {
    EXPECT_EQ(refusal([&](JobSpec& s) { s.task_id = chosen; }), "none");
  }
}

TEST(JobSpecValidate, ChecksTheGroup) {
  EXPECT_EQ(refusal([](JobSpec& s) { s.group = ""; }), "group is empty");
  EXPECT_EQ(refusal([](JobSpec& s) { s.group = std::string(65, 'g'); }),
            "group has 65 bytes, at most 64");
  EXPECT_EQ(refusal([](JobSpec& s) { s.group = "a b"; }),
            "group is 'a b', must have only letters, digits, dots, underscores and hyphens");
}

TEST(JobSpecValidate, ChecksPriorityAndSizes) {
  EXPECT_EQ(refusal([](JobSpec& s) { s.priority = 1000; }), "priority is 1000, must be 0 to 999");
  EXPECT_EQ(refusal([](JobSpec& s) { s.priority = -1; }), "priority is -1, must be 0 to 999");
  EXPECT_EQ(refusal([](JobSpec& s) { s.payload.resize(kPayloadBytesMax + 1); }),
            "payload has 1048577 bytes, at most 1048576");
  EXPECT_EQ(refusal([](JobSpec& s) { s.description.resize(4097, 'd'); }),
            "description has 4097 bytes, at most 4096");
  EXPECT_EQ(refusal([](JobSpec& s) { s.tags.resize(257, "t"); }),
            "tags has 257 entries, at most 256");
  EXPECT_EQ(refusal([](JobSpec& s) { s.alarm.resize(11, "a@b"); }),
            "alarm has 11 entries, at most 10");
  EXPECT_EQ(refusal([](JobSpec& s) { s.alarm = {"ops"}; }),
            "alarm recipient 'ops' is neither a mail address, like ops@example.com, nor a URL, "
            "like https://chat.example.com/hook");
  EXPECT_EQ(refusal([](JobSpec& s) { s.alarm = {"a@b\r\nBcc: c@d"}; }).substr(0, 24),
            "an alarm recipient must ");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.alarm = {"a@b", "none"};
            }),
            "alarm 'none' cannot be combined with recipients (give it alone, or leave it out)");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.alarm = {"a@b", "a@b"};
            }),
            "alarm recipient 'a@b' is given twice (give it once)");
  EXPECT_EQ(refusal([](JobSpec& s) {
              for (int i = 0; i < 257; ++i) s.params["p" + std::to_string(i)] = "v";
            }),
            "params has 257 entries, at most 256");
  EXPECT_THAT(refusal([](JobSpec& s) {
                for (int i = 0; i < 5; ++i) s.params["p" + std::to_string(i)].resize(60'000, 'v');
              }),
              HasSubstr("params has 300010 bytes"));
}

TEST(JobSpecValidate, ChecksTheSchedule) {
  EXPECT_EQ(refusal([](JobSpec& s) { s.schedule.kind = ScheduleKind::kCron; }), "cron is empty");
  EXPECT_EQ(refusal([](JobSpec& s) { s.schedule = {.kind = ScheduleKind::kEvery}; }),
            "every is 0s, must be 1ms to 100 years");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.schedule = {.kind = ScheduleKind::kEvery, .interval = Duration{1}};
            }),
            "every is 1us, must be 1ms to 100 years");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.schedule = {.kind = ScheduleKind::kFixedDelay, .interval = seconds{1}, .count = 0};
            }),
            "count is 0, must be 1 to 9223372036854775807");
  EXPECT_EQ(refusal([](JobSpec& s) { s.schedule.tz = "UTC"; }), "tz cannot be combined with now");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.schedule = {.kind = ScheduleKind::kAt, .interval = milliseconds{5}};
            }),
            "an interval cannot be combined with at");
  EXPECT_EQ(
      refusal([](JobSpec& s) { s.schedule = {.kind = ScheduleKind::kAt, .at = WallTime::max()}; }),
      "at must be in the years 1970 to 2199");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.schedule = {.kind = ScheduleKind::kCron, .cron = "@daily", .tz = "Asia/Shanghai"};
            }),
            "none");
}

TEST(JobSpecValidate, RequiresExactlyTheRunOfItsKind) {
  EXPECT_THAT(refusal([](JobSpec& s) { s.run = {}; }), HasSubstr("nothing to run: handler"));
  EXPECT_THAT(refusal([](JobSpec& s) { s.run = {.kind = RunKind::kCommand, .command = {}}; }),
              HasSubstr("nothing to run: command is missing or empty"));
  EXPECT_EQ(refusal([](JobSpec& s) { s.run.shell = "ls"; }),
            "shell is given, but the job runs something else");
  EXPECT_EQ(refusal([](JobSpec& s) { s.run.command = {""}; }), "command names no program");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.run.command = {"echo", std::string("a\0b", 3)};
            }),
            "an argument of command is not valid UTF-8 text without zero bytes");
  EXPECT_THAT(refusal([](JobSpec& s) {
                s.run.command = {"cat", "caf\xe9"};
              }),
              HasSubstr("an argument of command is not valid UTF-8"));
  EXPECT_THAT(refusal([](JobSpec& s) {
                s.run = {.kind = RunKind::kScript,
                         .script_language = "sh",
                         .script_source = "echo caf\xe9"};
              }),
              HasSubstr("script.source is not valid UTF-8"));
  EXPECT_THAT(refusal([](JobSpec& s) {
                s.run = {.kind = RunKind::kHttp,
                         .http = {.url = "http://127.0.0.1/", .body = "caf\xe9"}};
              }),
              HasSubstr("http.body is not valid UTF-8"));
  EXPECT_THAT(refusal([](JobSpec& s) { s.run.command.resize(300, std::string(1000, 'x')); }),
              HasSubstr("at most 262144"));
  EXPECT_EQ(
      refusal([](JobSpec& s) { s.run = {.kind = RunKind::kScript, .script_language = "sh"}; }),
      "script.source is empty");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.run = {.kind = RunKind::kScript,
                       .script_language = "cobol",
                       .script_source = "STOP RUN."};
            }),
            "script.language is 'cobol', must be one of sh bash python python2 node php perl ruby "
            "lua powershell "
            "(run another interpreter as a command)");
}

TEST(JobSpecValidate, RefusesParamsThatMapToTheSameVariable) {
  const auto with = [](const carillon::Run& run) {
    return refusal([&](JobSpec& s) {
      s.run = run;
      s.params = {{"a-b", "1"}, {"a.b", "2"}};
    });
  };
  EXPECT_EQ(with({.kind = RunKind::kShell, .shell = "env"}),
            "params 'a-b' and 'a.b' would both be 'CARILLON_PARAM_A_B' to the run (rename one)");
  EXPECT_EQ(with({.kind = RunKind::kHandler, .handler = "greet"}), "none");
}

TEST(JobSpecValidate, RefusesArgumentsLongerThanTheSystemAllows) {
  const carillon::Run shell{.kind = RunKind::kShell, .shell = "env"};
  const auto with = [](const carillon::Run& run, std::size_t param) {
    return refusal([&](JobSpec& s) {
      s.run = run;
      if (param > 0) s.params = {{"a", std::string(param, 'v')}};
    });
  };
  const std::string most(kArgumentBytesMax, 'x');
  const std::string more = most + "x";
  const std::string why =
      " has 131072 bytes, but one argument of a program can have at most 131071 bytes (send it as "
      "payload or script)";
  EXPECT_EQ(with({.kind = RunKind::kShell, .shell = most}, 0), "none");
  EXPECT_EQ(with({.kind = RunKind::kShell, .shell = more}, 0), "shell" + why);
  EXPECT_EQ(with({.kind = RunKind::kCommand, .command = {"echo", most}}, 0), "none");
  EXPECT_EQ(with({.kind = RunKind::kCommand, .command = {"echo", more}}, 0),
            "an argument of command" + why);
  const std::size_t beside = std::string{"CARILLON_PARAM_A="}.size();
  EXPECT_EQ(with(shell, kArgumentBytesMax - beside), "none");
  EXPECT_EQ(with(shell, kArgumentBytesMax - beside + 1), "params.a with its variable's name" + why);
  EXPECT_EQ(with({.kind = RunKind::kHandler, .handler = "greet"}, kArgumentBytesMax + 1), "none");
}

TEST(JobSpecValidate, ChecksAnHttpRequest) {
  const auto with = [](const HttpRequest& http) {
    return refusal([&](JobSpec& s) { s.run = {.kind = RunKind::kHttp, .http = http}; });
  };
  EXPECT_EQ(with({.url = "https://example.org/x?y=1"}), "none");
  EXPECT_THAT(with({.url = "ftp://example.org"}), HasSubstr("must start with http:// or https://"));
  EXPECT_THAT(with({.url = "http://a b"}),
              HasSubstr("http.url is 'http://a b', must have no spaces"));
  for (const char* url : {"http://", "http:///x", "http://:80/", "http://h:0/", "http://h:99999/",
                          "http://h:8x/", "https://u@:1", "http://[::1]:99999"}) {
    EXPECT_THAT(with({.url = url}), HasSubstr("must have a host, and a port")) << url;
  }
  for (const char* url :
       {"http://h", "https://u:p@h:65535/x?y", "http://[::1]:80/", "http://[::1]"})
    EXPECT_EQ(with({.url = url}), "none") << url;
  EXPECT_THAT(with({.method = "get", .url = "http://h/"}), HasSubstr("http.method is 'get'"));
  EXPECT_THAT(
      with({.method = "FOO", .url = "http://h/"}),
      HasSubstr("http.method is 'FOO', must be GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS"));
  EXPECT_EQ(with({.method = "DELETE", .url = "http://h/"}), "none");
  EXPECT_THAT(with({.url = "http://h/", .headers = {{"X", "a\r\nHost: b"}}}),
              HasSubstr("http.headers.X must be"));
  EXPECT_THAT(with({.url = "http://h/", .headers = {{"X Y", "a"}}}),
              HasSubstr("a name in http.headers is 'X Y'"));
}

TEST(JobSpecValidate, RefusesAPayloadThatAnHttpRequestWouldNotSend) {
  const auto with = [](const HttpRequest& http) {
    return refusal([&](JobSpec& s) {
      s.run = {.kind = RunKind::kHttp, .http = http};
      s.payload = "x";
    });
  };
  EXPECT_EQ(
      with({.url = "http://h/"}),
      "payload cannot be combined with http GET (choose a method that sends a body, like POST)");
  EXPECT_THAT(with({.method = "HEAD", .url = "http://h/"}), HasSubstr("http HEAD"));
  EXPECT_EQ(with({.method = "POST", .url = "http://h/", .body = "own"}),
            "payload cannot be combined with http.body (both are the body; give one)");
  EXPECT_EQ(with({.method = "POST", .url = "http://h/"}), "none");
}

TEST(JobSpecValidate, ChecksRetriesMisfireAndTimes) {
  EXPECT_EQ(refusal([](JobSpec& s) { s.retries.max = -1; }),
            "retries.max is -1, must be 0 to 10000");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.retries = {.policy = RetryBackoff::kExponential, .cap = std::chrono::seconds{1}};
            }),
            "retries.cap is 1s, must be at least retries.base, which is 30s");
  EXPECT_EQ(refusal([](JobSpec& s) { s.retries.jitter = 1.5; }),
            "retries.jitter is 1.500000, must be 0 to 1");
  EXPECT_THAT(
      refusal([](JobSpec& s) { s.retries.jitter = std::numeric_limits<double>::quiet_NaN(); }),
      HasSubstr("retries.jitter is"));
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.schedule = {.kind = ScheduleKind::kEvery, .interval = seconds{1}};
              s.misfire.max = 0;
            }),
            "misfire.max is 0, must be 1 to 1000000");
  EXPECT_THAT(refusal([](JobSpec& s) { s.timeout = Duration{-1}; }), HasSubstr("timeout is -1"));
  EXPECT_THAT(refusal([](JobSpec& s) { s.start_deadline = Duration::max(); }),
              HasSubstr("100 years"));
}

TEST(JobSpecValidate, ChecksFeedbackAndClientGroup) {
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.need_feedback = true;
              s.client_group = "billing";
            }),
            "none");
  EXPECT_THAT(refusal([](JobSpec& s) { s.client_group = "billing"; }),
              HasSubstr("client_group is given without need_feedback"));
  EXPECT_THAT(refusal([](JobSpec& s) { s.need_feedback = true; }),
              HasSubstr("without client_group"));
  EXPECT_THAT(refusal([](JobSpec& s) { s.client_group = "a b"; }), HasSubstr("client_group is"));
}

TEST(JobSpecValidate, RefusesAMisfirePolicyForJobsThatCannotMisfire) {
  const auto refusal_of = [](ScheduleKind kind, const Misfire& misfire) {
    return refusal([&](JobSpec& s) {
      s.schedule = {.kind = kind};
      if (kind == ScheduleKind::kAt) s.schedule.at = WallTime{seconds{1}};
      s.misfire = misfire;
    });
  };
  const Misfire skip{.policy = MisfirePolicy::kSkip};
  EXPECT_EQ(refusal_of(ScheduleKind::kNow, skip),
            "misfire cannot be combined with now, which cannot be missed (leave it out)");
  EXPECT_EQ(refusal_of(ScheduleKind::kManual, skip),
            "misfire cannot be combined with manual, which cannot be missed (leave it out)");
  EXPECT_THAT(refusal_of(ScheduleKind::kManual, {.threshold = seconds{9}}),
              HasSubstr("misfire cannot be combined with manual"));
  EXPECT_EQ(refusal_of(ScheduleKind::kAt, skip), "none");
  EXPECT_EQ(refusal_of(ScheduleKind::kManual, {}), "none");
}

TEST(JobSpecValidate, RefusesContradictoryOverlapPolicies) {
  for (const Overlap overlap : {Overlap::kQueueOne, Overlap::kCancelRunning}) {
    EXPECT_THAT(refusal([overlap](JobSpec& s) {
                  s.schedule = {.kind = ScheduleKind::kEvery, .interval = seconds{1}};
                  s.overlap = overlap;
                  s.misfire.policy = MisfirePolicy::kFireAll;
                }),
                HasSubstr("misfire.policy fire_all cannot be combined with overlap queue_one"));
  }
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.schedule = {.kind = ScheduleKind::kEvery, .interval = seconds{1}};
              s.overlap = Overlap::kQueue;
              s.misfire.policy = MisfirePolicy::kFireAll;
            }),
            "none");
  EXPECT_EQ(refusal([](JobSpec& s) { s.overlap = Overlap::kParallel; }),
            "overlap cannot be combined with now, which fires once (leave it out)");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.schedule = {.kind = ScheduleKind::kAt, .at = WallTime{seconds{1}}};
              s.overlap = Overlap::kQueue;
            }),
            "overlap cannot be combined with at, which fires once (leave it out)");
  EXPECT_EQ(refusal([](JobSpec& s) {
              s.run = {.kind = RunKind::kHandler, .handler = "noop"};
              s.dispatch = Dispatch::kPush;
              s.overlap = Overlap::kQueue;
            }),
            "none")
      << "it follows the block";
}

TEST(JobSpecValidate, ChecksPushedJobs) {
  const auto pushed = [](auto change) {
    return refusal([&](JobSpec& s) {
      s.run = {.handler = "importOrders"};
      s.params.clear();
      s.dispatch = Dispatch::kPush;
      change(s);
    });
  };
  const auto with = [&](std::vector<std::string> addresses) {
    return pushed([&](JobSpec& s) { s.push.addresses = std::move(addresses); });
  };
  EXPECT_EQ(with({"http://10.0.0.1:9999/", "http://[::1]:80", "https://host/job"}), "none");
  EXPECT_EQ(with({"http://a/", "http://a/"}), "address 'http://a/' is given twice");
  for (const char* address : {"ftp://a/", "a:9999", "http:/a", "http", "https://", "https://:80/",
                              "http://u@a/", "http://a/?x", "http://a/ b", "http://a/\n"}) {
    EXPECT_THAT(with({address}), HasSubstr("address ")) << address;
  }
  EXPECT_THAT(pushed([](JobSpec& s) { s.run = {.kind = RunKind::kShell, .shell = "true"}; }),
              HasSubstr("executors run only handlers and scripts"));
  EXPECT_THAT(pushed([](JobSpec& s) { s.params = {{"a", "b"}}; }), HasSubstr("the payload"));
  EXPECT_THAT(pushed([](JobSpec& s) { s.payload = "\xFF"; }), HasSubstr("payload is not valid"));
  const auto script = [&](const std::string& language) {
    return pushed([&](JobSpec& s) {
      s.run = {.kind = RunKind::kScript, .script_language = language, .script_source = "x"};
    });
  };
  EXPECT_EQ(script("groovy"), "none");
  EXPECT_EQ(script("pwsh"), "none");
  EXPECT_THAT(script("perl"), HasSubstr("executors support no others"));
  EXPECT_THAT(refusal([](JobSpec& s) { s.push.route = Route::kLast; }),
              HasSubstr("require dispatch push"));
}

TEST(JobSpecValidate, ChecksChildren) {
  const auto with = [](std::vector<Child> children) {
    return refusal([&](JobSpec& s) { s.children = std::move(children); });
  };
  EXPECT_EQ(with({{.group = "ops", .task_id = "a"}, {.group = "ops", .task_id = "b"}}), "none");
  EXPECT_THAT(with({{.group = "o/ps", .task_id = "a"}}), HasSubstr("the group of a child is"));
  EXPECT_EQ(with({{.group = "ops"}}), "the task_id of a child is empty");
  EXPECT_EQ(with({{.task_id = "a"}, {.task_id = "a"}}),
            "child 'default/a' is given twice (give it once)");
  std::vector<Child> many;
  for (int i = 0; i < 101; ++i) many.push_back({.task_id = std::to_string(i)});
  EXPECT_EQ(with(many), "children has 101 entries, at most 100");
}

}  // namespace
}  // namespace carillon
