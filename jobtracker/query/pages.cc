#include "jobtracker/query/pages.h"

#include <algorithm>
#include <charconv>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kPageDefault = 400;

}  // namespace

std::int64_t page_of(const wire::Query& message) {
  return message.limit <= 0 ? kPageDefault : std::min(message.limit, kPageMax);
}

std::vector<std::int64_t> numbers(const std::string& text) {
  std::vector<std::int64_t> all;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    all.push_back(number);
    at = rest < end && *rest == ':' ? rest + 1 : rest;
    if (rest < end && *rest != ':') return {};
  }
  return all;
}

std::string key_text(std::initializer_list<std::int64_t> parts) {
  std::string text;
  for (const std::int64_t part : parts) text += (text.empty() ? "" : ":") + std::to_string(part);
  return text;
}

bool is_of_task(const wire::Query& message, const std::string& task_id) {
  return message.task_id.empty() || message.task_id == task_id;
}

wire::ErrorReply error_reply(const Error& error) {
  const bool is_away = error.code == ErrorCode::kUnavailable;
  return wire::ErrorReply{is_away ? error.with_context("the job tracker's store") : error};
}

}  // namespace carillon::jobtracker
