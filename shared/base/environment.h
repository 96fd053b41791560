#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace carillon {

// The environment variables of a process as a value: main reads them once and passes them on; a
// test creates its own. No other code reads the environment.
class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string> variables)
      : variables_(std::move(variables)) {}

  // The current variables of this process.
  static Environment of_process();

  // None: not set, or empty.
  std::optional<std::string> get(std::string_view name) const;

  const std::map<std::string, std::string>& all() const { return variables_; }

 private:
  std::map<std::string, std::string> variables_;
};

}  // namespace carillon
