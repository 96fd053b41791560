#include "tasktracker/executor/log_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "shared/base/log.h"

namespace carillon::tasktracker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLogAnswerBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kReadBytes = 64 * 1024;

const Logger& logger() {
  static const Logger log{"xxl"};
  return log;
}

std::string day_text(LocalTime time) {
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(time)};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
  return text;
}

std::string time_text(LocalTime time) {
  const std::chrono::hh_mm_ss clock{time - std::chrono::floor<std::chrono::days>(time)};
  char text[32];
  std::snprintf(text, sizeof text, " %02d:%02d:%02d ", static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return day_text(time) + text;
}

// The day in a folder's name, or none.
std::optional<std::chrono::local_days> day_of(const std::string& name) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int length = 0;
  if (name.size() != 10 ||
      std::sscanf(name.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &length) != 3 ||
      length != 10) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                                         std::chrono::day{day}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::local_days{date};
}

void remove_logs(const fs::path& folder) {
  std::error_code failed;
  for (auto file = fs::directory_iterator(folder, failed);
       !failed && file != fs::directory_iterator(); file.increment(failed)) {
    std::error_code ignored;  // Remaining files are deleted tomorrow.
    if (file->path().extension() == ".log") fs::remove(file->path(), ignored);
  }
  std::error_code ignored;  // It may contain other files.
  fs::remove(folder, ignored);
}

}  // namespace

RunLog::RunLog(std::string path, const Zone& zone, const Clock& clock)
    : path_(std::move(path)), zone_(zone), clock_(clock) {
  std::error_code failed;
  fs::create_directories(fs::path(path_).parent_path(), failed);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (file_ < 0) {
    logger().warn("cannot write a run's log", "file", path_, "reason", std::strerror(errno));
  }
}

RunLog::~RunLog() {
  if (file_ >= 0) ::close(file_);
}

void RunLog::put(std::string_view bytes) {
  if (bytes.empty()) return;
  at_line_start_ = bytes.back() == '\n';
  while (file_ >= 0 && !bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      logger().warn("a run's log is incomplete", "file", path_, "reason", std::strerror(errno));
      ::close(file_);
      file_ = -1;
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void RunLog::write(std::string_view bytes) {
  const MutexLock lock(mutex_);
  put(bytes);
}

void RunLog::line(std::string_view text) {
  const auto now = std::chrono::floor<std::chrono::seconds>(clock_.wall_now());
  std::string line = time_text(zone_.to_local(now));
  line += text;
  if (line.back() != '\n') line += '\n';
  const MutexLock lock(mutex_);
  if (!at_line_start_) line.insert(line.begin(), '\n');
  put(line);
}

LogFolder::LogFolder(std::string path, const Zone& zone, const Clock& clock)
    : path_(std::move(path)), zone_(zone), clock_(clock) {}

std::string LogFolder::day_folder(std::int64_t log_time_ms) const {
  const auto time = std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::milliseconds>{std::chrono::milliseconds{log_time_ms}});
  return path_ + "/" + day_text(zone_.to_local(time));
}

std::string LogFolder::file(std::int64_t log_id, std::int64_t log_time_ms) const {
  return day_folder(log_time_ms) + "/" + std::to_string(log_id) + ".log";
}

std::unique_ptr<RunLog> LogFolder::open(std::int64_t log_id, std::int64_t log_time_ms) const {
  return std::make_unique<RunLog>(file(log_id, log_time_ms), zone_, clock_);
}

wire::xxl::LogPart LogFolder::read(const wire::xxl::LogCall& call, bool is_growing) const {
  wire::xxl::LogPart part{.from_line = std::max<std::int64_t>(call.from_line, 1)};
  std::ifstream in(file(call.log_id, call.log_time_ms), std::ios::binary);
  if (!in) {
    part.text = "readLog fail, logFile not exists";
    part.is_end = true;
    return part;
  }
  std::array<char, kReadBytes> buffer;
  std::int64_t line = 1;
  std::size_t whole = 0;  // bytes of part.text up to the last line feed
  while (part.text.size() < kLogAnswerBytesMax) {
    in.read(buffer.data(), buffer.size());
    std::string_view rest(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (rest.empty()) break;
    while (!rest.empty()) {
      const std::size_t feed = rest.find('\n');
      const std::size_t bytes = feed == std::string_view::npos ? rest.size() : feed + 1;
      if (line >= part.from_line) part.text += rest.substr(0, bytes);
      if (feed != std::string_view::npos) {
        if (line >= part.from_line) whole = part.text.size();
        ++line;
      }
      rest.remove_prefix(bytes);
    }
  }
  const bool is_cut = part.text.size() >= kLogAnswerBytesMax;
  if (whole < part.text.size() && (is_cut ? whole == 0 : !is_growing)) {
    // A line that is longer than an answer may be, or the last one.
    part.text += '\n';
    ++line;
  } else {
    part.text.resize(whole);
  }
  part.to_line = line - 1;
  return part;
}

void LogFolder::clean(int days) const {
  if (days <= 0) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(clock_.wall_now());
  const auto today = std::chrono::floor<std::chrono::days>(zone_.to_local(now));
  std::error_code failed;
  for (auto folder = fs::directory_iterator(path_, failed);
       !failed && folder != fs::directory_iterator(); folder.increment(failed)) {
    const auto day = day_of(folder->path().filename().string());
    std::error_code ignored;
    if (day && *day < today - std::chrono::days{days} && folder->is_directory(ignored)) {
      remove_logs(folder->path());
    }
  }
}

}  // namespace carillon::tasktracker
