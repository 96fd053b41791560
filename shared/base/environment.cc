#include "shared/base/environment.h"

#include <unistd.h>

namespace carillon {

Environment Environment::of_process() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return Environment{std::move(variables)};
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables_.find(std::string{name});
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

}  // namespace carillon
