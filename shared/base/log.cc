#include "shared/base/log.h"

#include <atomic>
#include <memory>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace carillon {
namespace {

// All log lines of the process pass here; any thread may read the level.
std::atomic<int> shown_from{static_cast<int>(LogLevel::kInfo)};

spdlog::logger& stderr_logger() {
  // Never destroyed: a thread may still log while the process ends.
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger{"", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
    made->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc));
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return *logger;
}

// Padded to one width, so that lines align.
const char* word(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info ";
    case LogLevel::kWarn:
      return "warn ";
    case LogLevel::kError:
      return "error";
    case LogLevel::kOff:
      return "off  ";
  }
  return "?    ";
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool needs_quotes(std::string_view value) {
  for (const char c : value) {
    if (c == ' ' || c == '=' || c == '"' || is_control(c)) return true;
  }
  return value.empty();
}

void append_escaped(std::string& text, char c) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      text += "\\\"";
      return;
    case '\\':
      text += "\\\\";
      return;
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      break;
  }
  if (!is_control(c)) {
    text += c;
    return;
  }
  text += "\\x";
  text += kHex[static_cast<unsigned char>(c) >> 4];
  text += kHex[static_cast<unsigned char>(c) & 0xf];
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view word) {
  if (word == "debug") return LogLevel::kDebug;
  if (word == "info") return LogLevel::kInfo;
  if (word == "warn") return LogLevel::kWarn;
  if (word == "error") return LogLevel::kError;
  if (word == "off") return LogLevel::kOff;
  return Error{
      ErrorCode::kInvalidArgument,
      "'" + std::string{word} + "' is not a log level (use debug, info, warn, error or off)"};
}

Logger::Logger(std::string component) : component_(std::move(component)) {}

bool Logger::debug_on() const { return is_on(LogLevel::kDebug); }

void Logger::append_text(std::string& text, std::string_view value) {
  if (!needs_quotes(value)) {
    text += value;
    return;
  }
  text += '"';
  for (const char c : value) append_escaped(text, c);
  text += '"';
}

bool Logger::is_on(LogLevel level) {
  return static_cast<int>(level) >= shown_from.load(std::memory_order_relaxed);
}

void Logger::write(LogLevel level, const std::string& text) const {
  std::string line = word(level);
  line += ' ';
  line += component_;
  line += ": ";
  line += text;
  stderr_logger().log(spdlog_level(level), spdlog::string_view_t{line.data(), line.size()});
}

void set_log_level(LogLevel level) {
  shown_from.store(static_cast<int>(level), std::memory_order_relaxed);
}

}  // namespace carillon
