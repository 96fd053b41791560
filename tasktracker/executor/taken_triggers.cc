#include "tasktracker/executor/taken_triggers.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "shared/base/log.h"

namespace carillon::tasktracker {
namespace {

namespace fs = std::filesystem;

constexpr int kSlotsMax = 1000;

std::string file_name(const TakenTrigger& trigger) {
  return std::to_string(trigger.log_id) + "_" + std::to_string(trigger.log_time_ms);
}

std::optional<TakenTrigger> trigger_of(const std::string& name) {
  TakenTrigger trigger;
  const char* const end = name.data() + name.size();
  const auto id = std::from_chars(name.data(), end, trigger.log_id);
  if (id.ec != std::errc{} || id.ptr == end || *id.ptr != '_') return std::nullopt;
  const auto time = std::from_chars(id.ptr + 1, end, trigger.log_time_ms);
  if (time.ec != std::errc{} || time.ptr != end) return std::nullopt;
  return trigger;
}

std::vector<TakenTrigger> triggers_in(const std::string& folder) {
  std::vector<TakenTrigger> found;
  std::error_code failed;
  for (auto file = fs::directory_iterator(folder, failed);
       !failed && file != fs::directory_iterator(); file.increment(failed)) {
    if (const auto trigger = trigger_of(file->path().filename().string())) {
      found.push_back(*trigger);
    }
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<TakenTriggers>> TakenTriggers::open(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorCode::kDenied, "cannot create folder " + folder + ": " + failed.message()};
  }
  std::vector<Slot> slots;
  std::vector<TakenTrigger> left_behind;
  // Up to the first unused number.
  for (int number = 0; number < kSlotsMax; ++number) {
    const std::string path = folder + "/" + std::to_string(number);
    const bool is_new = !fs::exists(path, failed);
    if (is_new && !slots.empty()) break;
    Result<FileLock> lock = FileLock::take(path + ".lock");
    if (!lock.ok() && lock.error().code == ErrorCode::kConflict) continue;
    if (!lock.ok()) return lock.error();
    fs::create_directory(path, failed);
    if (failed) {
      return Error{ErrorCode::kDenied, "cannot create folder " + path + ": " + failed.message()};
    }
    const std::vector<TakenTrigger> found = triggers_in(path);
    left_behind.insert(left_behind.end(), found.begin(), found.end());
    slots.push_back({.lock = std::move(lock).value(), .path = path});
  }
  if (slots.empty()) {
    return Error{ErrorCode::kLimit, "all " + std::to_string(kSlotsMax) + " slots of " + folder +
                                        " are in use (use another folder)"};
  }
  std::unique_ptr<TakenTriggers> taken(new TakenTriggers(std::move(slots.front())));
  for (std::size_t i = 1; i < slots.size(); ++i) taken->adopted_.push_back(std::move(slots[i]));
  taken->left_behind_ = std::move(left_behind);
  return taken;
}

void TakenTriggers::forget_left_behind() {
  for (const TakenTrigger& trigger : left_behind_) {
    remove(trigger);
    for (const Slot& slot : adopted_) {
      ::unlink((slot.path + "/" + file_name(trigger)).c_str());
    }
  }
  left_behind_.clear();
  adopted_.clear();
}

void TakenTriggers::add(const TakenTrigger& trigger) const {
  const std::string path = own_.path + "/" + file_name(trigger);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    const Logger log{"xxl"};
    log.warn("cannot store a trigger; it is lost if this process is killed", "file", path, "reason",
             std::strerror(errno));
    return;
  }
  ::close(file);
}

void TakenTriggers::remove(const TakenTrigger& trigger) const {
  ::unlink((own_.path + "/" + file_name(trigger)).c_str());
}

}  // namespace carillon::tasktracker
