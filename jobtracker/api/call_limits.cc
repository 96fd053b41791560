#include "jobtracker/api/call_limits.h"

namespace carillon::jobtracker::api {
namespace {

constexpr int kNoPlace = -1;

}  // namespace

bool CallPlace::take(Counts& counts, int size, const std::string& principal) {
  const auto index = static_cast<std::size_t>(size);
  const MutexLock lock(counts.mutex);
  int& all = counts.all.at(index);
  if (all >= kCallLimits.at(index).all) return false;
  const auto at = counts.of_principal.try_emplace({size, principal}, 0).first;
  if (at->second >= kCallLimits.at(index).of_principal) return false;
  ++all;
  ++at->second;
  return true;
}

void CallPlace::release(Counts& counts, int size, const std::string& principal) {
  const MutexLock lock(counts.mutex);
  --counts.all.at(static_cast<std::size_t>(size));
  const auto at = counts.of_principal.find({size, principal});
  if (at != counts.of_principal.end() && --at->second == 0) counts.of_principal.erase(at);
}

CallPlace::~CallPlace() {
  if (size_ != kNoPlace) release(*counts_, size_, principal_);
}

bool CallPlace::change_to(CallSize size) {
  const int wanted = static_cast<int>(size);
  if (wanted == size_) return true;
  if (!take(*counts_, wanted, principal_)) return false;
  if (size_ != kNoPlace) release(*counts_, size_, principal_);
  size_ = wanted;
  return true;
}

std::shared_ptr<CallPlace> CallLimits::take(const Principal& principal) const {
  std::shared_ptr<CallPlace> place(new CallPlace(counts_, principal.kind + ':' + principal.name));
  return place->change_to(CallSize::kSmall) ? place : nullptr;
}

}  // namespace carillon::jobtracker::api
