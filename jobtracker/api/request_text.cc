#include "jobtracker/api/request_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "jobtracker/api/parameters.h"

namespace carillon::jobtracker::web {
namespace {

// The next part of `text` up to `separator`, which is taken from it.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

}  // namespace

std::string_view target_path(std::string_view target) { return target.substr(0, target.find('?')); }

std::optional<std::string> query_value(std::string_view target, std::string_view name) {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return std::nullopt;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    std::string_view value = take_part(rest, '&');
    if (take_part(value, '=') != name) continue;
    auto decoded = api::percent_decoded(value, true);
    return decoded.ok() ? std::optional{std::move(decoded).value()} : std::nullopt;
  }
  return std::nullopt;
}

std::string cookie_of(const net::HttpCall& call, std::string_view name) {
  const std::string header = header_of(call, "cookie");
  std::string_view rest = header;
  while (!rest.empty()) {
    std::string_view value = take_part(rest, ';');
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (take_part(value, '=') == name) return std::string{value};
  }
  return {};
}

std::string header_of(const net::HttpCall& call, const std::string& name) {
  const auto found = call.headers.find(name);
  return found == call.headers.end() ? std::string{} : found->second;
}

bool has_bearer_token(const net::HttpCall& call) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string header = header_of(call, "authorization");
  return header.size() > kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), header.begin(), [](char expected, char c) {
           return expected == std::tolower(static_cast<unsigned char>(c));
         });
}

}  // namespace carillon::jobtracker::web
