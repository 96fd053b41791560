#include "jobtracker/push/new_group_limit.h"

#include <iterator>

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kGroupsMax = 50;
constexpr Duration kLimitPeriod = std::chrono::hours{1};
constexpr std::size_t kAddressesMax = 1000;

}  // namespace

Status NewGroupLimit::take(const std::string& address, SteadyTime now) {
  if (address.empty()) return {};
  forget_old(now);
  if (!of_.contains(address) && of_.size() >= kAddressesMax)
    return Error{ErrorCode::kLimit, "too many addresses create node groups, try again later"};
  Made& made = of_[address];
  if (made.at.size() < kGroupsMax) {
    made.at.push_back(now);
    return {};
  }
  if (!made.is_said) {
    log_.warn("an address creates too many node groups; its registrations for new ones are refused",
              "peer", address, "limit", kGroupsMax);
  }
  made.is_said = true;
  return Error{ErrorCode::kLimit,
               address + " has created " + std::to_string(kGroupsMax) +
                   " node groups in an hour, which is the most (create the group with 'jobclient "
                   "groups add APP --executor')"};
}

void NewGroupLimit::forget_old(SteadyTime now) {
  for (auto one = of_.begin(); one != of_.end();) {
    Made& made = one->second;
    while (!made.at.empty() && made.at.front() + kLimitPeriod <= now) {
      made.at.pop_front();
      made.is_said = false;
    }
    one = made.at.empty() ? of_.erase(one) : std::next(one);
  }
}

}  // namespace carillon::jobtracker
