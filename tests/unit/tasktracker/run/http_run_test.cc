#include "tasktracker/run/http_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A server that answers whatever the test wants.
struct HttpRunBundle {
  ManualClock clock;
  RunControl control{clock};
  RunRequest request;
  Result<HttpAnswer> answer = HttpAnswer{.status = 200};
  HttpRequest asked;
  HttpSend send = [this](const HttpRequest& http, Duration, std::size_t, const std::atomic<bool>&) {
    asked = http;
    return answer;
  };

  HttpRunBundle() {
    control.begin({JobId{1}, 1}, 1000);
    request.run.kind = RunKind::kHttp;
    request.run.http.url = "http://example.org/x";
  }
  RunEnd run() { return run_http(send, request, control); }
};

TEST(HttpRun, SucceedsWithStatus200To299AndKeepsTheBody) {
  HttpRunBundle b;
  b.answer = HttpAnswer{.status = 204, .body = "done"};
  const RunEnd end = b.run();
  EXPECT_EQ(end.outcome, wire::RunOutcome::kSucceeded);
  EXPECT_EQ(end.message, "http status 204");
  std::vector<wire::OutputChunk> chunks;
  b.control.output().take(chunks);
  ASSERT_THAT(chunks, SizeIs(1));
  EXPECT_EQ(chunks[0].bytes, "done");
}

TEST(HttpRun, FailsWithTheStatusAndTheStartOfTheBody) {
  HttpRunBundle b;
  b.answer = HttpAnswer{.status = 500, .body = "no\ndisk " + std::string(1000, 'x')};
  const RunEnd end = b.run();
  EXPECT_EQ(end.outcome, wire::RunOutcome::kException);
  EXPECT_THAT(end.message, HasSubstr("http status 500: no disk xxx"));
  EXPECT_LT(end.message.size(), 400U);
}

TEST(HttpRun, HonorsRetryAfter) {
  HttpRunBundle b;
  b.answer = HttpAnswer{.status = 503, .headers = {{"retry-after", "17"}}};
  const RunEnd end = b.run();
  EXPECT_EQ(end.outcome, wire::RunOutcome::kLater);
  EXPECT_EQ(end.later, seconds{17});
}

TEST(HttpRun, LimitsRetryAfterToADay) {
  HttpRunBundle b;
  b.answer = HttpAnswer{.status = 429, .headers = {{"retry-after", "999999999999"}}};
  EXPECT_EQ(b.run().later, hours{24});
}

TEST(HttpRun, FailsOnBusyWithoutAValidRetryAfter) {
  HttpRunBundle b;
  b.answer = HttpAnswer{.status = 503, .headers = {{"retry-after", "soon"}}};
  EXPECT_EQ(b.run().outcome, wire::RunOutcome::kException);
}

TEST(HttpRun, NamesAnUnreachableAddress) {
  HttpRunBundle b;
  b.answer = Error{ErrorCode::kUnavailable, "connection refused"};
  const RunEnd end = b.run();
  EXPECT_EQ(end.outcome, wire::RunOutcome::kException);
  EXPECT_EQ(end.message, "GET http://example.org/x: connection refused");
}

TEST(HttpRun, TimesOutAtTheTimeLimitOfTheRun) {
  HttpRunBundle b;
  b.request.timeout = seconds{1};
  b.answer = Error{ErrorCode::kTimeout, "no answer for 1s"};
  EXPECT_EQ(b.run().outcome, wire::RunOutcome::kTimedOut);
}

TEST(HttpRun, SendsThePayloadWhenTheRequestHasNoBody) {
  HttpRunBundle b;
  b.request.job.payload = "payload";
  (void)b.run();
  EXPECT_EQ(b.asked.body, "") << "not with GET";
  b.request.run.http.method = "POST";
  (void)b.run();
  EXPECT_EQ(b.asked.body, "payload");
  b.request.run.http.body = "own";
  (void)b.run();
  EXPECT_EQ(b.asked.body, "own");
}

}  // namespace
}  // namespace carillon::tasktracker
