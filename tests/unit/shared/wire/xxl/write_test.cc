#include "shared/wire/xxl/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/xxl/read.h"

namespace carillon::wire::xxl {
namespace {

TEST(WriteRun, WritesOnlyFieldsThatEveryVersionKnows) {
  EXPECT_EQ(write_run({.job_id = 17,
                       .handler = "importOrders",
                       .param = "day=2024-05-01",
                       .log_id = 8812,
                       .log_time_ms = 1719999000000,
                       .glue_updated_ms = 1710000000000}),
            R"({"jobId":17,"executorHandler":"importOrders","executorParams":"day=2024-05-01",)"
            R"("executorBlockStrategy":"SERIAL_EXECUTION","executorTimeout":0,"logId":8812,)"
            R"("logDateTime":1719999000000,"glueType":"BEAN","glueSource":"",)"
            R"("glueUpdatetime":1710000000000,"broadcastIndex":0,"broadcastTotal":1})");
}

TEST(WriteRun, RoundTripsThroughReadRun) {
  const RunCall call{.job_id = 1,
                     .param = "tab\there, \"quotes\", \\, \xE4\xBD\xA0\xE5\xA5\xBD, \x01",
                     .block = BlockStrategy::kDiscardLater,
                     .timeout_s = 3,
                     .log_id = INT64_MAX,
                     .glue_type = "GLUE_SHELL",
                     .glue_source = "echo \"$1\"\nexit 3\n",
                     .shard_index = 1,
                     .shard_total = 2};
  const auto read = read_run(write_run(call));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), call);
}

TEST(WriteResult, CarriesTheFieldsOfAllDialects) {
  EXPECT_EQ(write_result({.log_id = 5, .log_time_ms = 7, .code = 500, .message = "no\n"}),
            R"({"logId":5,"logDateTim":7,"logDateTime":7,"handleCode":500,"handleMsg":"no\n",)"
            R"("executeResult":{"code":500,"msg":"no\n"}})");
  EXPECT_EQ(write_result({.log_id = 5, .log_time_ms = 7}),
            R"({"logId":5,"logDateTim":7,"logDateTime":7,"handleCode":200,)"
            R"("executeResult":{"code":200}})");
}

TEST(WriteResult, ReplacesInvalidUtf8) {
  const auto read = read_results(write_results(
      {write_result({.log_id = 1, .code = 500, .message = "\xFF\xC3(\xED\xA0\x80 end"})},
      ResultForm::kArray));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().results.at(0).message,
            "\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD end");
}

TEST(WriteResults, WritesBothForms) {
  EXPECT_EQ(write_results({"{1}", "{2}"}, ResultForm::kArray), "[{1},{2}]");
  EXPECT_EQ(write_results({"{1}", "{2}"}, ResultForm::kList), R"({"callbackList":[{1},{2}]})");
}

TEST(WriteReply, CarriesBothPayloadsAndNoneInAnError) {
  EXPECT_EQ(write_reply({}), R"({"code":200,"msg":null,"content":null,"data":null})");
  EXPECT_EQ(write_reply({.code = 500, .message = "no"}),
            R"({"code":500,"msg":"no","content":null,"data":null})");
  EXPECT_EQ(write_reply({.message = "yes"}),
            R"({"code":200,"msg":"yes","content":null,"data":"yes"})");
}

TEST(WriteLogReply, CarriesTheTextInBothPayloads) {
  const LogPart part{.from_line = 2, .to_line = 3, .text = "a\nb\n"};
  const std::string reply = write_log_reply(part);
  EXPECT_EQ(reply, R"({"code":200,"msg":null,"content":{"fromLineNum":2,"toLineNum":3,)"
                   R"("logContent":"a\nb\n","isEnd":false},"data":{"fromLineNum":2,"toLineNum":3,)"
                   R"("logContent":"a\nb\n","isEnd":false}})");
  EXPECT_EQ(read_log_part(reply).value(), part);
}

TEST(WriteLog, WritesTheTimeUnderBothNames) {
  EXPECT_EQ(write_log({.log_id = 1, .log_time_ms = 2, .from_line = 3}),
            R"({"logDateTim":2,"logDateTime":2,"logId":1,"fromLineNum":3})");
}

TEST(WriteRegistration, KeepsTheAddressUnchanged) {
  EXPECT_EQ(write_registration({.app_name = "billing", .address = "http://10.1.2.3:9999/"}),
            R"({"registryGroup":"EXECUTOR","registryKey":"billing",)"
            R"("registryValue":"http://10.1.2.3:9999/"})");
}

}  // namespace
}  // namespace carillon::wire::xxl
