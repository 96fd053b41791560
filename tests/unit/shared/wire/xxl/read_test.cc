#include "shared/wire/xxl/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::wire::xxl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As the official 3.4.2 admin sends it.
TEST(ReadRun, AcceptsARunFromAnAdmin) {
  const auto call =
      read_run(R"({"jobId":801,"executorHandler":"sleep","executorParams":"1500",)"
               R"("executorBlockStrategy":"COVER_EARLY","executorTimeout":7,"logId":5664,)"
               R"("logDateTime":1795242000263,"glueType":"BEAN","glueSource":"",)"
               R"("glueUpdatetime":1795242000000,"broadcastIndex":2,"broadcastTotal":5})");
  ASSERT_TRUE(call.ok()) << call.error().message;
  EXPECT_EQ(call.value(), (RunCall{.job_id = 801,
                                   .handler = "sleep",
                                   .param = "1500",
                                   .block = BlockStrategy::kCoverEarly,
                                   .timeout_s = 7,
                                   .log_id = 5664,
                                   .log_time_ms = 1795242000263,
                                   .glue_updated_ms = 1795242000000,
                                   .shard_index = 2,
                                   .shard_total = 5}));
}

TEST(ReadRun, TreatsNullAndMissingFieldsAlike) {
  const auto call = read_run(
      R"({"jobId":1,"logId":2,"executorParams":null,"executorBlockStrategy":null,"glueType":null})");
  ASSERT_TRUE(call.ok()) << call.error().message;
  EXPECT_EQ(call.value(), (RunCall{.job_id = 1, .log_id = 2}));
}

TEST(ReadRun, AcceptsNumbersAsTextAndUnknownFieldsAndStrategies) {
  const auto call = read_run(
      R"({"jobId":"17","logId":8812.0,"executorParams":12,"executorBlockStrategy":"OTHER","x":[1]})");
  ASSERT_TRUE(call.ok()) << call.error().message;
  EXPECT_EQ(call.value(), (RunCall{.job_id = 17, .param = "12", .log_id = 8812}));
}

struct Refused {
  const char* body;
  const char* why;
};

class ReadRunRefusal : public ::testing::TestWithParam<Refused> {};

TEST_P(ReadRunRefusal, NamesTheReason) {
  const auto call = read_run(GetParam().body);
  ASSERT_FALSE(call.ok());
  EXPECT_THAT(call.error().message, HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, ReadRunRefusal,
    ::testing::Values(Refused{"", "is not JSON"}, Refused{R"({"jobId":1)", "is not JSON"},
                      Refused{"[]", "not a JSON object"}, Refused{"{}", "jobId is missing"},
                      Refused{R"({"jobId":1})", "logId is missing"},
                      Refused{R"({"jobId":1,"logId":1.5})", "logId is not a whole number"},
                      Refused{R"({"jobId":1,"logId":"1x"})", "logId is not a whole number"},
                      Refused{R"({"jobId":1,"logId":2,"executorParams":{}})",
                              "executorParams is not a string"}));

TEST(ReadLog, AcceptsBothNamesOfTheTimeField) {
  const LogCall expected{.log_id = 5664, .log_time_ms = 1795242000000, .from_line = 3};
  const auto old_name = read_log(R"({"logDateTim":1795242000000,"logId":5664,"fromLineNum":3})");
  const auto new_name = read_log(R"({"logDateTime":1795242000000,"logId":5664,"fromLineNum":3})");
  ASSERT_TRUE(old_name.ok() && new_name.ok());
  EXPECT_EQ(old_name.value(), expected);
  EXPECT_EQ(new_name.value(), expected);
}

TEST(ReadResults, AcceptsEveryDialect) {
  const auto a = read_results(
      R"([{"logId":8812,"logDateTim":1719999000000,"executeResult":{"code":200,"msg":null}}])");
  const auto b = read_results(
      R"([{"logId":8812,"logDateTim":1719999000000,"handleCode":200,"handleMsg":"rows=14"},)"
      R"({"logId":"8813","logDateTim":1719999000000,"handleCode":502,"handleMsg":null}])");
  const auto d =
      read_results(R"({"callbackList":[{"logId":8812,"logDateTime":1719999000000,"handleCode":500,)"
                   R"("handleMsg":"no"}]})");
  // Several executors send both; the newer one counts.
  const auto both = read_results(
      R"([{"logId":1,"handleCode":500,"handleMsg":"x","executeResult":{"code":200}}])");
  ASSERT_TRUE(a.ok() && b.ok() && d.ok() && both.ok());
  EXPECT_THAT(a.value().results, ElementsAre(RunResult{.log_id = 8812, .code = 200}));
  EXPECT_THAT(b.value().results,
              ElementsAre(RunResult{.log_id = 8812, .code = 200, .message = "rows=14"},
                          RunResult{.log_id = 8813, .code = 502}));
  EXPECT_THAT(d.value().results,
              ElementsAre(RunResult{.log_id = 8812, .code = 500, .message = "no"}));
  EXPECT_THAT(both.value().results,
              ElementsAre(RunResult{.log_id = 1, .code = 500, .message = "x"}));
}

// What is lost with a request may be lost for good.
TEST(ReadResults, KeepsValidResultsWhenOthersAreInvalid) {
  const auto list = read_results(
      R"([{"logId":1},7,{"handleCode":200},{"logId":2,"handleCode":200},{"logId":{}},null])");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_THAT(list.value().results, ElementsAre(RunResult{.log_id = 2, .code = 200}));
  EXPECT_EQ(list.value().refused, 5U);
  EXPECT_EQ(list.value().why, "handleCode is missing");
}

TEST(ReadResults, AcceptsAnyTypeOfTimeAndMessage) {
  const auto list = read_results(
      R"([{"logId":1,"logDateTim":"2026-01-01 00:00:00","handleCode":200,"handleMsg":{"rows": 14}},)"
      R"({"logId":2,"logDateTime":{},"handleCode":200,"handleMsg":["a", null]},)"
      R"({"logId":3,"handleCode":500,"handleMsg":1.5},{"logId":4,"handleCode":500,"handleMsg":null},)"
      R"({"logId":5,"executeResult":{"code":200,"msg":{"a":true}}}])");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list.value().refused, 0U);
  EXPECT_THAT(list.value().results,
              ElementsAre(RunResult{.log_id = 1, .message = R"({"rows":14})"},
                          RunResult{.log_id = 2, .message = R"(["a",null])"},
                          RunResult{.log_id = 3, .code = 500, .message = "1.5"},
                          RunResult{.log_id = 4, .code = 500},
                          RunResult{.log_id = 5, .message = R"({"a":true})"}));
}

TEST(ReadResults, ReplacesInvalidCharacters) {
  struct Case {
    const char* message;
    const char* expected;
  };
  for (const auto& [message, expected] :
       {Case{R"(bad \udce9 name)", "bad \uFFFD name"}, Case{R"(\ud83d)", "\uFFFD"},
        Case{R"(\uD83D\n)", "\uFFFD\n"}, Case{R"(\ud83d\ud83d\ude00)", "\uFFFD\U0001F600"},
        Case{R"(\ude00\ud83d)", "\uFFFD\uFFFD"}, Case{R"(\\udce9 \udce9)", "\\udce9 \uFFFD"},
        Case{"cut \xe4\xb8", "cut \uFFFD\uFFFD"}, Case{"\xff\xc3\xa9", "\uFFFD\u00E9"}}) {
    SCOPED_TRACE(message);
    const auto list = read_results(std::string{R"([{"logId":1,"handleCode":200,"handleMsg":")"} +
                                   message + R"("},{"logId":2,"handleCode":500}])");
    ASSERT_TRUE(list.ok()) << list.error().message;
    EXPECT_THAT(list.value().results, ElementsAre(RunResult{.log_id = 1, .message = expected},
                                                  RunResult{.log_id = 2, .code = 500}));
  }
}

TEST(ReadResults, RefusesOnlyTheResultWithAnOutOfRangeNumber) {
  for (const char* number : {"123456789012345678901234567890", "-99999999999999999999", "1e999",
                             "18446744073709551616", "9223372036854775808"}) {
    SCOPED_TRACE(number);
    const auto list = read_results(std::string{R"([{"logId":)"} + number +
                                   R"(,"handleCode":200},{"logId":2,"handleCode":500},)"
                                   R"({"logId":3,"handleCode":200.0,"handleMsg":)" +
                                   number + "}]");
    ASSERT_TRUE(list.ok()) << list.error().message;
    EXPECT_EQ(list.value().refused, 1U);
    EXPECT_EQ(list.value().why, "logId is not a whole number");
    EXPECT_THAT(list.value().results, ElementsAre(RunResult{.log_id = 2, .code = 500},
                                                  RunResult{.log_id = 3, .message = number}));
  }
}

TEST(ReadResults, AcceptsAMessageWithRawControlCharacters) {
  const auto list = read_results(
      "[\n\t{\"logId\":1,\"handleCode\":200,\"handleMsg\":\"a\nb\t\\\"\x1b[0m "
      "12345678901234567890\"},"
      "\r\n {\"logId\":2,\"handleCode\":200,\"handleMsg\":\"C:\\\\\"}]");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_THAT(list.value().results,
              ElementsAre(RunResult{.log_id = 1, .message = "a\nb\t\"\x1b[0m 12345678901234567890"},
                          RunResult{.log_id = 2, .message = "C:\\"}));
}

TEST(ReadResults, AcceptsAByteOrderMarkAndASingleResult) {
  const auto marked = read_results("\xef\xbb\xbf[{\"logId\":1,\"handleCode\":500}]");
  ASSERT_TRUE(marked.ok()) << marked.error().message;
  EXPECT_THAT(marked.value().results, ElementsAre(RunResult{.log_id = 1, .code = 500}));
  const auto one = read_results(R"({"logId":1,"handleCode":500})");
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_THAT(one.value().results, ElementsAre(RunResult{.log_id = 1, .code = 500}));
  const auto half = read_results(R"({"logId":1})");
  ASSERT_TRUE(half.ok()) << half.error().message;
  EXPECT_EQ(half.value().refused, 1U);
  EXPECT_EQ(half.value().why, "handleCode is missing");
}

TEST(ReadResults, RefusesInputThatIsNotAResultList) {
  EXPECT_EQ(read_results("{}").error().message, "callbackList is missing");
  EXPECT_EQ(read_results("7").error().message, "the results are not a JSON array");
  EXPECT_THAT(read_results("[{]").error().message, HasSubstr("is not JSON"));
  EXPECT_THAT(read_results(std::string(100'000, '[')).error().message, HasSubstr("is not JSON"));
}

TEST(ReadManagedJob, ReadsEveryGivenField) {
  const auto job = read_managed_job(
      R"({"id":12,"jobGroup":3,"name":"Import","author":"ann","alarmEmail":"a@b",)"
      R"("scheduleType":"CRON","scheduleConf":"0 0 2 * * ?","misfireStrategy":"DO_NOTHING",)"
      R"("executorRouteStrategy":"ROUND","executorHandler":"import","executorParam":"x",)"
      R"("executorBlockStrategy":"COVER_EARLY","executorTimeout":5,"executorFailRetryCount":2,)"
      R"("glueType":"BEAN","glueSource":"","glueRemark":"r","addressList":"http://a,http://b"})");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job.value(), (ManagedJob{.id = 12,
                                     .name = "Import",
                                     .author = "ann",
                                     .alarm_email = "a@b",
                                     .schedule_type = "CRON",
                                     .schedule_conf = "0 0 2 * * ?",
                                     .misfire = "DO_NOTHING",
                                     .route = "ROUND",
                                     .handler = "import",
                                     .param = "x",
                                     .block = "COVER_EARLY",
                                     .timeout_s = 5,
                                     .retries = 2,
                                     .glue_type = "BEAN",
                                     .glue_remark = "r",
                                     .addresses = "http://a,http://b"}));
  EXPECT_EQ(read_managed_job("{}").value(), ManagedJob{});
}

// Each is a success of an executor or admin that somebody runs.
TEST(ReadReply, AcceptsEveryFormOfSuccess) {
  for (const char* body :
       {R"({"code":200,"msg":null,"content":null})", R"({"code":200,"msg":""})", R"({"code":200})",
        R"({"code":200,"data":null,"msg":"Success","success":true})",
        "{\"code\":200,\"msg\":\"success\"}\n"}) {
    SCOPED_TRACE(body);
    const auto reply = read_reply(body);
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_TRUE(reply.value().ok());
  }
}

TEST(ReadReply, KeepsTheMessageOfAFailure) {
  const auto reply = read_reply(R"({"code":500,"msg":"The access token is wrong."})");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply.value(), (Reply{.code = 500, .message = "The access token is wrong."}));
}

// As of an executor whose machine writes in another encoding.
TEST(ReadReply, KeepsTheCodeOfAFailureWithAnUnreadableMessage) {
  const auto message = [](const char* written) {
    const auto reply = read_reply(std::string{R"({"code":500,"msg":)"} + written + "}");
    EXPECT_TRUE(reply.ok() && reply.value().code == 500) << written;
    return reply.ok() ? reply.value().message : reply.error().message;
  };
  EXPECT_EQ(message("\"\xc8\xce no\""), "\uFFFD\uFFFD no");
  EXPECT_EQ(message("\"a\nb\""), "a\nb");
  EXPECT_EQ(message(R"({"why":["no room"]})"), R"({"why":["no room"]})");
  EXPECT_EQ(message("[1, null]"), "[1,null]");
  EXPECT_EQ(message("null"), "");
  EXPECT_EQ(message("12345678901234567890123"), "12345678901234567890123");
}

TEST(ReadReply, QuotesOnlyWholeCharacters) {
  EXPECT_EQ(read_reply("<\xc8>").error().message, "the answer is not JSON: '<\uFFFD>'");
  const std::string cut = std::string(199, 'x') + "\u00E9" + "yy";
  EXPECT_EQ(read_reply(cut).error().message,
            "the answer is not JSON: '" + std::string(199, 'x') + "...'");
}

// The Go client refuses a run with an array; a proxy answers in HTML.
TEST(ReadReply, RefusesAndQuotesRepliesWithoutACode) {
  EXPECT_EQ(read_reply("[]").error().message, "the answer has no code: '[]'");
  EXPECT_EQ(read_reply("{}").error().message, "the answer has no code: '{}'");
  EXPECT_EQ(read_reply("<html>").error().message, "the answer is not JSON: '<html>'");
}

TEST(ReadLogPart, AcceptsBothPayloadNames) {
  const LogPart expected{.from_line = 1, .to_line = 2, .text = "a\nb\n", .is_end = true};
  const auto content = read_log_part(
      R"({"code":200,"content":{"fromLineNum":1,"toLineNum":2,"logContent":"a\nb\n","isEnd":true}})");
  const auto data = read_log_part(
      R"({"code":200,"msg":"Success","content":null,"data":{"fromLineNum":1,"toLineNum":2,)"
      R"("logContent":"a\nb\n","isEnd":true}})");
  ASSERT_TRUE(content.ok() && data.ok());
  EXPECT_EQ(content.value(), expected);
  EXPECT_EQ(data.value(), expected);
}

TEST(ReadRegistration, ReadsAppNameAndAddress) {
  const auto read = read_registration(
      R"({"registryGroup":"EXECUTOR","registryKey":"billing","registryValue":"http://h:1/"})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value(), (Registration{.app_name = "billing", .address = "http://h:1/"}));
}

TEST(ReadResults, RefusesMoreResultsThanARequestMayHave) {
  std::string body = "[";
  for (std::size_t i = 0; i < kResultsMax; ++i) body += "1,";
  EXPECT_TRUE(read_results(body.substr(0, body.size() - 1) + "]").ok());
  EXPECT_EQ(read_results(body + "1]").error().message, "the request has more than 100000 results");
}

}  // namespace
}  // namespace carillon::wire::xxl
