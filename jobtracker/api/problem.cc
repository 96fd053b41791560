#include "jobtracker/api/problem.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace carillon::jobtracker::api {
namespace {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kTimeout:
      return 504;
    case ErrorCode::kLimit:
      return 429;
    case ErrorCode::kCorrupt:
      return 500;
    case ErrorCode::kDenied:
      return 403;
  }
  return 500;
}

const char* title_of(int status) {
  constexpr std::array<std::pair<int, const char*>, 15> kTitles{{{400, "Invalid request"},
                                                                 {401, "Not signed in"},
                                                                 {403, "Denied"},
                                                                 {404, "Not found"},
                                                                 {405, "Method not allowed"},
                                                                 {409, "Conflict"},
                                                                 {412, "Precondition failed"},
                                                                 {413, "Too large"},
                                                                 {415, "Unsupported media type"},
                                                                 {422, "Key used before"},
                                                                 {428, "Precondition required"},
                                                                 {429, "Slow down"},
                                                                 {503, "Unavailable"},
                                                                 {504, "Timeout"},
                                                                 {500, "Server error"}}};
  for (const auto& [one, title] : kTitles) {
    if (one == status) return title;
  }
  return "Error";
}

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// "priority is 1000, must be ...", "cron '...': ...", "unknown field 'x'".
std::string field_in(std::string_view message) {
  constexpr std::string_view kUnknown = "unknown field '";
  if (message.starts_with(kUnknown)) {
    message.remove_prefix(kUnknown.size());
    return std::string{message.substr(0, message.find('\''))};
  }
  constexpr std::string_view kQuery = "Query.";
  if (message.starts_with(kQuery)) message.remove_prefix(kQuery.size());
  const auto end = static_cast<std::size_t>(
      std::find_if_not(message.begin(), message.end(), is_in_name) - message.begin());
  const std::string_view name = message.substr(0, end);
  const std::string_view rest = message.substr(end);
  constexpr std::array<std::string_view, 12> kNoFields{
      "the", "a", "an", "no", "there", "this", "task", "job", "too", "group", "only", "it"};
  const bool is_word = std::find(kNoFields.begin(), kNoFields.end(), name) != kNoFields.end();
  if (name.empty() || is_word) return {};
  constexpr std::array<std::string_view, 5> kAfter{" is ", " has ", ": ", " '", " must "};
  const bool is_field = std::any_of(kAfter.begin(), kAfter.end(), [&](std::string_view after) {
    return rest.starts_with(after);
  });
  return is_field ? std::string{name} : std::string{};
}

// "at most 1000 jobs", "must be 0 to 999".
std::optional<std::int64_t> limit_in(std::string_view message) {
  const auto number_after = [&](std::size_t at) -> std::optional<std::int64_t> {
    std::int64_t number = 0;
    const auto [end, failed] =
        std::from_chars(message.data() + at, message.data() + message.size(), number);
    return failed == std::errc{} ? std::optional{number} : std::nullopt;
  };
  constexpr std::string_view kMost = "at most ";
  if (const auto at = message.find(kMost); at != std::string_view::npos)
    return number_after(at + kMost.size());
  constexpr std::string_view kMust = "must be ";
  constexpr std::string_view kTo = " to ";
  const auto must = message.find(kMust);
  if (must == std::string_view::npos || !number_after(must + kMust.size())) return std::nullopt;
  const auto to = message.find(kTo, must);
  return to == std::string_view::npos ? std::nullopt : number_after(to + kTo.size());
}

}  // namespace

Problem problem_of(const Error& error) {
  const bool is_about_input =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kLimit;
  return {.status = status_of(error.code),
          .code = to_string(error.code),
          .detail = error.message,
          .field = is_about_input ? field_in(error.message) : std::string{},
          .limit = is_about_input ? limit_in(error.message) : std::nullopt};
}

net::HttpResponse response_of(const Problem& problem) {
  nlohmann::ordered_json body{{"type", "about:blank"},
                              {"title", title_of(problem.status)},
                              {"status", problem.status},
                              {"code", problem.code},
                              {"detail", problem.detail}};
  if (!problem.field.empty()) body["field"] = problem.field;
  if (problem.limit) body["limit"] = *problem.limit;
  net::HttpResponse response{
      .status = problem.status,
      .content_type = "application/problem+json",
      .body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
  if (problem.status == 429 || problem.status == 503) response.headers["Retry-After"] = "1";
  if (problem.status == 401) response.headers["WWW-Authenticate"] = "Bearer realm=\"carillon\"";
  return response;
}

}  // namespace carillon::jobtracker::api
