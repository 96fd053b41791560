#include "tasktracker/run/http_run.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "shared/base/utf8.h"
#include "shared/job/secrets.h"

namespace carillon::tasktracker {
namespace {

constexpr std::size_t kAnswerBytesMax = 1024 * 1024;
constexpr std::size_t kQuotedBytesMax = 300;  // of the body, in a message
constexpr std::chrono::seconds kRetryAfterMax = std::chrono::hours{24};

// The delay of Retry-After, if it is in seconds. Its other form, a date, would compare the clocks
// of two machines.
std::optional<Duration> retry_after(const HttpAnswer& answer) {
  if (answer.status != 429 && answer.status != 503) return std::nullopt;
  const auto found = answer.headers.find("retry-after");
  if (found == answer.headers.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::clamp<std::chrono::seconds>(std::chrono::seconds{seconds}, std::chrono::seconds{1},
                                          kRetryAfterMax);
}

std::string first_of_body(const HttpAnswer& answer) {
  std::string text{first_bytes(answer.body, kQuotedBytesMax)};
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  const std::size_t end = text.find_last_not_of(' ');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

}  // namespace

RunEnd run_http(const HttpSend& send, const RunRequest& request, RunControl& control) {
  HttpRequest http = request.run.http;
  // A request without its own body sends the payload.
  if (http.body.empty() && http.method != "GET" && http.method != "HEAD") {
    http.body = request.job.payload;
  }
  if (!request.job.traceparent.empty())
    http.headers.emplace("traceparent", request.job.traceparent);
  const Result<HttpAnswer> sent = send(http, request.timeout, kAnswerBytesMax, control.stop_flag());
  if (!sent.ok()) {
    const bool timed_out =
        sent.error().code == ErrorCode::kTimeout && request.timeout > Duration{0};
    return {.outcome = timed_out ? wire::RunOutcome::kTimedOut : wire::RunOutcome::kException,
            .message = http.method + ' ' + masked_url(http.url) + ": " + sent.error().message};
  }
  const HttpAnswer& answer = sent.value();
  control.output().append(wire::Stream::kStdout, answer.body);
  if (answer.body_cut) {
    control.output().append(wire::Stream::kLog,
                            "\n[carillon: the response was longer, the rest is not kept]\n");
  }
  std::string message = "http status " + std::to_string(answer.status);
  if (answer.status >= 200 && answer.status < 300) {
    return {.outcome = wire::RunOutcome::kSucceeded, .message = std::move(message)};
  }
  if (const std::string body = first_of_body(answer); !body.empty()) message += ": " + body;
  if (const std::optional<Duration> later = retry_after(answer)) {
    return {.outcome = wire::RunOutcome::kLater, .message = std::move(message), .later = *later};
  }
  return {.outcome = wire::RunOutcome::kException, .message = std::move(message)};
}

}  // namespace carillon::tasktracker
