#include "tasktracker/load_limiter.h"

#include <algorithm>
#include <utility>

namespace carillon::tasktracker {
namespace {

constexpr Duration kLooks = std::chrono::seconds{1};
constexpr std::size_t kSeen = 4;  // three seconds between the first and the last
constexpr int kBelow = 5;         // points

int percent(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<int>(part * 100 / all) : 0;
}

}  // namespace

std::optional<SteadyTime> LoadLimiter::next_time() const {
  if (!limits_.any()) return std::nullopt;
  return next_look_;
}

void LoadLimiter::run_once(SteadyTime now) {
  if (!limits_.any() || now < next_look_) return;
  next_look_ = now + kLooks;
  look();
  std::string overload = too_much();
  if (overload.empty() == overload_.empty()) return;  // Logs only changes.
  overload_ = std::move(overload);
  if (overload_.empty()) {
    log_.info("taking new jobs again; the machine is less busy");
  } else {
    log_.warn("taking no new jobs; the machine is too busy", "load", overload_);
  }
}

void LoadLimiter::look() {
  Result<MachineLoad> load = read_();
  if (!load.ok()) {
    seen_.clear();
    if (!std::exchange(is_blind_, true))
      log_.warn("cannot measure the machine's load", "reason", load.error().message);
    return;
  }
  is_blind_ = false;
  seen_.push_back(load.value());
  if (seen_.size() > kSeen) seen_.pop_front();
}

std::string LoadLimiter::too_much() const {
  if (seen_.empty()) return {};
  const int margin = overload_.empty() ? 0 : kBelow;
  const auto is_too_much = [margin](int share, int limit) {
    return limit > 0 && share >= std::max(limit - margin, 1);
  };
  std::string all;
  const auto add = [&](const std::string& name, int share, int limit) {
    if (!is_too_much(share, limit)) return;
    all += (all.empty() ? "" : ", ") + name + " " + std::to_string(share) + "%";
  };
  add("cpu", share_of_cpu(), limits_.cpu);
  add("memory", share_of_memory(), limits_.memory);
  return all;
}

int LoadLimiter::share_of_cpu() const {
  if (seen_.size() < kSeen) return 0;
  return percent(seen_.back().cpu_busy - seen_.front().cpu_busy,
                 seen_.back().cpu_all - seen_.front().cpu_all);
}

int LoadLimiter::share_of_memory() const {
  return seen_.empty() ? 0 : percent(seen_.back().memory_used, seen_.back().memory_all);
}

}  // namespace carillon::tasktracker
