#include "jobtracker/api/router.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace carillon::jobtracker::api {
namespace {

// The path below kRoot, in parts; an action is a part of its own.
struct SplitPath {
  std::vector<std::string_view> parts{};
  std::string_view action{};
};

std::vector<std::string_view> split_at_slashes(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view part = path.substr(0, path.find('/'));
    parts.push_back(part);
    path.remove_prefix(part.size());
  }
  return parts;
}

// `takes_action`: what follows the last colon is one.
SplitPath split_path(std::string_view path, bool takes_action) {
  SplitPath split{.parts = split_at_slashes(path)};
  if (!takes_action || split.parts.empty()) return split;
  std::string_view& last = split.parts.back();
  const auto colon = last.rfind(':');
  if (colon == std::string_view::npos) return split;
  split.action = last.substr(colon + 1);
  last = last.substr(0, colon);
  return split;
}

// The values for {}; none: the path is another one.
std::optional<std::vector<std::string_view>> values_of(std::string_view pattern,
                                                       std::string_view path) {
  const SplitPath wanted = split_path(pattern, true);
  const SplitPath given = split_path(path, !wanted.action.empty());
  if (wanted.parts.size() != given.parts.size() || wanted.action != given.action)
    return std::nullopt;
  std::vector<std::string_view> values;
  for (std::size_t i = 0; i < wanted.parts.size(); ++i) {
    if (wanted.parts[i] == "{}" && !given.parts[i].empty()) {
      values.push_back(given.parts[i]);
    } else if (wanted.parts[i] != given.parts[i]) {
      return std::nullopt;
    }
  }
  return values;
}

std::size_t blanks_in(std::string_view pattern) {
  return static_cast<std::size_t>(std::count(pattern.begin(), pattern.end(), '{'));
}

bool has_action(std::string_view pattern) { return pattern.find(':') != std::string_view::npos; }

}  // namespace

bool is_api_target(std::string_view target) {
  if (!target.starts_with(kRoot)) return false;
  target.remove_prefix(kRoot.size());
  return target.empty() || target.front() == '/' || target.front() == '?';
}

Result<Router::Match> Router::match(std::string_view method, std::string_view path) const {
  Match match;
  path.remove_prefix(std::min(path.size(), kRoot.size()));
  std::vector<std::string_view> values;
  // Of several that fit, one with an action, and then the one with the fewest blanks.
  for (const Route& route : routes_) {
    auto found = values_of(route.path, path);
    if (!found) continue;
    if (route.method != method) {
      match.methods.emplace_back(route.method);
      continue;
    }
    const bool is_better = match.route == nullptr ||
                           std::pair{has_action(route.path), blanks_in(match.route->path)} >
                               std::pair{has_action(match.route->path), blanks_in(route.path)};
    if (!is_better) continue;
    match.route = &route;
    values = std::move(*found);
  }
  for (const std::string_view value : values)
    match.parts.push_back(CARILLON_TRY(percent_decoded(value, false)));
  return match;
}

}  // namespace carillon::jobtracker::api
