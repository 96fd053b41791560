#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace carillon {

// The variables a process was started with, as a value: main takes them once and hands them on,
// a test makes its own. Nothing else in Carillon asks the process for a variable.
class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string> variables)
      : variables_(std::move(variables)) {}

  // Those of this process, now.
  static Environment of_process();

  // Empty when it is not set, or set to nothing.
  std::optional<std::string> get(std::string_view name) const;

  const std::map<std::string, std::string>& all() const { return variables_; }

 private:
  std::map<std::string, std::string> variables_;
};

}  // namespace carillon
