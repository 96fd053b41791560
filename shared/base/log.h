#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3, kOff = 4 };

Result<LogLevel> parse_log_level(std::string_view word);

// A named source of log lines on stderr: a constant message, then "key=value" pairs.
//   log.info("job handed out", "job", id.value, "group", group);
// Levels: error: an operator must act. warn: a problem that was handled. info: start, stop, a node
// connected or left. debug: per job. Never logs payloads or passwords.
// Thread: any.
class Logger {
 public:
  // `component` is part of each line. All loggers share one sink and one level.
  explicit Logger(std::string component);

  bool debug_on() const;
  template <class... Pairs>
  void debug(std::string_view message, const Pairs&... pairs) const {
    line(LogLevel::kDebug, message, pairs...);
  }
  template <class... Pairs>
  void info(std::string_view message, const Pairs&... pairs) const {
    line(LogLevel::kInfo, message, pairs...);
  }
  template <class... Pairs>
  void warn(std::string_view message, const Pairs&... pairs) const {
    line(LogLevel::kWarn, message, pairs...);
  }
  template <class... Pairs>
  void error(std::string_view message, const Pairs&... pairs) const {
    line(LogLevel::kError, message, pairs...);
  }

 private:
  template <class... Pairs>
  void line(LogLevel level, std::string_view message, const Pairs&... pairs) const {
    static_assert(sizeof...(Pairs) % 2 == 0, "key and value come in pairs");
    if (!is_on(level)) return;
    std::string text{message};
    append(text, pairs...);
    write(level, text);
  }
  static void append(std::string&) {}
  template <class Value, class... Rest>
  static void append(std::string& text, std::string_view key, const Value& value,
                     const Rest&... rest) {
    text += "  ";
    text += key;
    text += '=';
    if constexpr (std::is_convertible_v<Value, std::string_view>) {
      append_text(text, value);
    } else {
      text += std::to_string(value);
    }
    append(text, rest...);
  }
  // Quoted if it contains a space or an equals sign; control characters are escaped.
  static void append_text(std::string& text, std::string_view value);
  static bool is_on(LogLevel level);
  void write(LogLevel level, const std::string& text) const;

  std::string component_;
};

// Sets the level of all loggers of the process. Called once, by main.
void set_log_level(LogLevel level);

}  // namespace carillon
