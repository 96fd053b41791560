#include "jobtracker/push/run_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/utf8.h"
#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"

namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr JobId kLogged{7};

// Keeps what it is to send; a test answers it.
struct PostBox final : net::Poster {
  void set_receiver(net::PostReceiver*) override {}
  bool post(net::Post post) override {
    if (!takes) return false;
    posts.push_back(std::move(post));
    return true;
  }
  bool takes = true;
  std::vector<net::Post> posts;
};

struct LogReading {
  LogReading() { logs.set_poster(&box); }

  void begin(std::int32_t attempt, std::int64_t log_id, std::int32_t shard = 0,
             JobId job = kLogged) {
    logs.note(job, attempt, shard,
              {.log_id = log_id, .group = GroupId{1}, .address = "http://h:1/job/"});
  }
  bool read(std::int32_t attempt, std::int64_t position) {
    part = Error{ErrorCode::kUnavailable, "no part yet"};
    return logs.read(kLogged, attempt, position,
                     [this](Result<ExecutorLogPart> got) { part = std::move(got); });
  }
  // As long as its log: the part of an answer that was taken.
  void answer_cut(std::string body) {
    EXPECT_TRUE(box.posts.back().cuts_answer);
    EXPECT_TRUE(logs.on_outcome({.id = box.posts.back().id,
                                 .kind = net::PostOutcome::Kind::kAnswered,
                                 .status = 200,
                                 .body = std::move(body),
                                 .is_cut = true}));
  }
  void answer(std::int64_t to_line, const std::string& text) {
    net::PostOutcome outcome{
        .id = box.posts.back().id, .kind = net::PostOutcome::Kind::kAnswered, .status = 200};
    outcome.body = wire::xxl::write_log_reply({.to_line = to_line, .text = text});
    EXPECT_TRUE(logs.on_outcome(outcome));
  }
  wire::xxl::LogCall asked() { return wire::xxl::read_log(box.posts.back().body).value(); }

  PostBox box;
  bool is_in_service = true;
  RunLogs logs{[this](const RunLogs::Place&) {
                 const RunLogs::Caller caller{.token = "tok-1", .app_name = "billing"};
                 return is_in_service ? std::optional{caller} : std::nullopt;
               },
               3};
  Result<ExecutorLogPart> part = Error{};
};

TEST(RunLogs, AreReadFromTheExecutor) {
  LogReading r;
  r.begin(1, 8812);
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_EQ(r.box.posts.at(0).url, "http://h:1/job/log");
  EXPECT_EQ(r.asked(),
            (wire::xxl::LogCall{.log_id = 8812, .log_time_ms = 1704067200002, .from_line = 1}));
  r.answer(2, "a\nb\n");
  ASSERT_TRUE(r.part.ok());
  EXPECT_EQ(r.part.value().attempt, 1);
  EXPECT_EQ(r.part.value().text, "a\nb\n");

  ASSERT_TRUE(r.read(1, r.part.value().position));
  EXPECT_EQ(r.asked().from_line, 3);
  // As some say past the end; others say 0, or the line that was asked for.
  for (const std::int64_t to_line : {2, 0, 3}) {
    r.read(1, 2);
    r.answer(to_line, "");
    ASSERT_TRUE(r.part.ok());
    EXPECT_EQ(r.part.value().text, "");
    EXPECT_EQ(r.part.value().position, 2);
  }
}

TEST(RunLogs, AreReturnedInParts) {
  LogReading r;
  r.begin(1, 100);
  const std::string line(999'999, 'x');
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_LE(r.box.posts.back().answer_max, 2U * 1024 * 1024) << "all of it is read by the loop";
  r.answer(3, line + "\n" + line + "\n" + line + "\n");
  EXPECT_EQ(r.part.value().text, line + "\n");
  ASSERT_TRUE(r.read(1, r.part.value().position));
  EXPECT_EQ(r.asked().from_line, 2);
}

TEST(RunLogs, TruncateLinesLongerThanAPart) {
  LogReading r;
  r.begin(1, 100);
  std::string line;
  while (line.size() < 1'500'000) line += "日";
  for (const char* before : {"", "x", "xy"}) {
    ASSERT_TRUE(r.read(0, 0));
    r.answer(2, before + line + "\nnext\n");
    ASSERT_TRUE(r.part.ok());
    const std::string& text = r.part.value().text;
    EXPECT_TRUE(is_utf8(text));
    EXPECT_THAT(text, EndsWith("日 [the rest of this line was cut]\n"));
    EXPECT_GT(text.size(), 1'000'000U);
    EXPECT_LE(text.size(), 1024U * 1024U);
  }
  ASSERT_TRUE(r.read(1, r.part.value().position));
  EXPECT_EQ(r.asked().from_line, 2);
  r.answer(2, "next\n");
  EXPECT_EQ(r.part.value().text, "next\n");
}

TEST(RunLogs, ReturnTheReceivedLinesOfAnEndlessLog) {
  LogReading r;
  r.begin(1, 100);
  const std::string head =
      R"({"code":200,"msg":null,"content":{"fromLineNum":1,"toLineNum":900000,"logContent":")";
  ASSERT_TRUE(r.read(0, 0));
  r.answer_cut(head + R"(first\nsecond \"2\"\nthi\)");
  ASSERT_TRUE(r.part.ok()) << r.part.error().message;
  EXPECT_EQ(r.part.value().text, "first\nsecond \"2\"\n");
  ASSERT_TRUE(r.read(1, r.part.value().position));
  EXPECT_EQ(r.asked().from_line, 3);
  // One endless line.
  r.answer_cut(head + std::string(2'000'000, 'x') + "\xE6");
  ASSERT_TRUE(r.part.ok()) << r.part.error().message;
  EXPECT_THAT(r.part.value().text, EndsWith("xx [the rest of this line was cut]\n"));
  ASSERT_TRUE(r.read(1, r.part.value().position));
  EXPECT_EQ(r.asked().from_line, 4);
  r.answer_cut("<html>");
  EXPECT_THAT(r.part.error().message, HasSubstr("not JSON"));
}

TEST(RunLogs, ContinueWithTheNextAttempt) {
  LogReading r;
  r.begin(1, 100);
  r.begin(3, 300);
  ASSERT_TRUE(r.read(0, 0));
  r.answer(5, "first\n");
  ASSERT_TRUE(r.read(1, r.part.value().position));
  r.answer(5, "");
  EXPECT_EQ(r.asked().log_id, 300);
  r.answer(1, "second\n");
  EXPECT_EQ(r.part.value().attempt, 3);
  EXPECT_EQ(r.part.value().text, "second\n");
}

TEST(RunLogs, ContinueWithTheNextShard) {
  LogReading r;
  r.begin(1, 100, 0);
  r.begin(1, 101, 1);
  ASSERT_TRUE(r.read(0, 0));
  r.answer(1, "zero\n");
  ASSERT_TRUE(r.read(1, r.part.value().position));
  r.answer(0, "");
  r.answer(1, "one\n");
  EXPECT_EQ(r.part.value().text, "one\n");
  ASSERT_TRUE(r.read(1, r.part.value().position));
  EXPECT_EQ(r.asked().log_id, 101);
  EXPECT_EQ(r.asked().from_line, 2);
}

TEST(RunLogs, ComeFromTheLatestCallOfARun) {
  LogReading r;
  r.begin(1, 100);
  r.begin(1, 101);
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_EQ(r.asked().log_id, 101);
}

TEST(RunLogs, AreLocatedFromTheHistory) {
  LogReading r;
  const auto entry = [](std::int32_t attempt, std::int64_t log_id, const std::string& node) {
    return LogEntry{.job_id = kLogged, .attempt = attempt, .node = node, .executor_log = log_id};
  };
  EXPECT_FALSE(r.logs.recall(kLogged, {entry(1, 0, "worker-1")}));
  EXPECT_FALSE(r.read(0, 0));
  // The newest first, as a history is.
  EXPECT_TRUE(r.logs.recall(kLogged, {entry(2, 0, ""), entry(2, 301, "http://h:3"),
                                      entry(2, 300, "http://h:2"), entry(1, 100, "http://h:1")}));
  ASSERT_TRUE(r.read(0, 0));
  r.answer(0, "");
  r.answer(0, "");
  r.answer(1, "last\n");
  EXPECT_EQ(r.part.value().attempt, 2);
  EXPECT_EQ(r.part.value().text, "last\n");
  std::vector<std::string> urls;
  for (const net::Post& post : r.box.posts) urls.push_back(post.url);
  EXPECT_THAT(urls, ElementsAre("http://h:1/log", "http://h:2/log", "http://h:3/log"));
}

TEST(RunLogs, ReportWhyTheyCannotBeRead) {
  LogReading r;
  r.begin(1, 100);
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_TRUE(r.logs.on_outcome({.id = r.box.posts.back().id,
                                 .kind = net::PostOutcome::Kind::kNotSent,
                                 .error = "cannot connect"}));
  EXPECT_EQ(r.part.error(), (Error{ErrorCode::kConflict,
                                   "the log is stored on executor http://h:1/job/, which cannot "
                                   "be reached: cannot connect"}));
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_TRUE(r.logs.on_outcome({.id = r.box.posts.back().id,
                                 .kind = net::PostOutcome::Kind::kAnswered,
                                 .status = 200,
                                 .body = R"({"code":500,"msg":"no such log"})"}));
  EXPECT_THAT(r.part.error().message, HasSubstr("no such log"));
  r.box.takes = false;
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_EQ(r.part.error().code, ErrorCode::kLimit);
  r.is_in_service = false;
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_THAT(r.part.error().message, HasSubstr("http://h:1/job/, which is not in service"));
}

TEST(RunLogs, UnreachableAttemptDoesNotHideLaterOnes) {
  LogReading r;
  r.begin(1, 11);
  r.begin(2, 12);
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_TRUE(r.logs.on_outcome({.id = r.box.posts.back().id,
                                 .kind = net::PostOutcome::Kind::kUnknown,
                                 .error = "cannot connect"}));
  EXPECT_EQ(r.part.value().text,
            "[the log is stored on executor http://h:1/job/, which cannot be reached: cannot "
            "connect]\n");
  ASSERT_TRUE(r.read(r.part.value().attempt, r.part.value().position));
  EXPECT_EQ(r.asked().log_id, 12);
  r.answer(1, "a\n");
  EXPECT_EQ(r.part.value().text, "a\n");
  r.is_in_service = false;
  ASSERT_TRUE(r.read(0, 0));
  EXPECT_THAT(r.part.value().text, HasSubstr("not in service"));
}

TEST(RunLogs, ForgetTheOldestRuns) {
  LogReading r;
  for (const std::int64_t job : {7, 8, 9, 10}) r.begin(1, job, 0, JobId{job});
  EXPECT_FALSE(r.read(0, 0));
  EXPECT_THAT(r.box.posts, IsEmpty());
  EXPECT_TRUE(r.logs.read(JobId{8}, 0, 0, [](const Result<ExecutorLogPart>&) {}));
  EXPECT_THAT(r.box.posts, SizeIs(1));
}

TEST(RunLogs, IgnoreOutcomesOfOtherRequests) {
  LogReading r;
  EXPECT_FALSE(r.logs.on_outcome({.id = 1}));
}

}  // namespace
}  // namespace carillon::jobtracker
