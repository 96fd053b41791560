#include "jobtracker/api/sign_in_throttle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace carillon::jobtracker {
namespace {

constexpr int kDoublingsMax = 20;

// After `failures`, of which `free` cost no wait.
Duration wait_after(int failures, int free, Duration longest) {
  if (failures < free) return Duration::zero();
  const int doublings = std::min(failures - free, kDoublingsMax);
  return std::min<Duration>(std::chrono::seconds{std::int64_t{1} << doublings}, longest);
}

}  // namespace

std::string throttled_address(const std::string& address) {
  constexpr std::size_t kNetworkBytes = 8;
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped)) return address.substr(kMapped.size());
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const std::string without_zone = address.substr(0, address.find('%'));
  if (::inet_pton(AF_INET6, without_zone.c_str(), bytes.data()) != 1) return address;
  std::fill(bytes.begin() + kNetworkBytes, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()) == nullptr
             ? address
             : std::string{text.data()} + "/64";
}

SignInThrottle::Entry& SignInThrottle::entry_of(Table& table, const std::string& key,
                                                SteadyTime now) const {
  const auto found = table.find(key);
  if (found != table.end()) {
    if (found->second.last + config_.memory < now) found->second = {};
    return found->second;
  }
  if (table.size() >= config_.entries_max) {
    std::erase_if(table, [&](const auto& one) { return one.second.last + config_.memory < now; });
  }
  if (table.size() >= config_.entries_max) {
    table.erase(std::min_element(table.begin(), table.end(), [](const auto& a, const auto& b) {
      return a.second.last < b.second.last;
    }));
  }
  return table[key];
}

std::optional<Duration> SignInThrottle::begin(const std::string& name, const std::string& address) {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.steady_now();
  Entry no_name;
  Entry& of_name = name.empty() ? no_name : entry_of(names_, name, now);
  Entry& of_address = entry_of(addresses_, throttled_address(address), now);
  const SteadyTime next = std::max(of_name.next, of_address.next);
  if (next > now) return std::chrono::duration_cast<Duration>(next - now);
  for (Entry* const entry : {&of_name, &of_address}) {
    ++entry->failures;
    entry->last = now;
  }
  of_name.next = now + wait_after(of_name.failures, config_.free_of_name, config_.longest_of_name);
  of_address.next =
      now + wait_after(of_address.failures, config_.free_of_address, config_.longest_of_address);
  return std::nullopt;
}

// The failures of the address remain, so that somebody with a password of their own cannot reset
// them.
void SignInThrottle::succeeded(const std::string& name, const std::string& address) {
  const MutexLock lock(mutex_);
  names_.erase(name);
  const auto found = addresses_.find(throttled_address(address));
  if (found == addresses_.end()) return;
  Entry& entry = found->second;
  entry.failures = std::max(0, entry.failures - 1);
  entry.next =
      entry.last + wait_after(entry.failures, config_.free_of_address, config_.longest_of_address);
}

}  // namespace carillon::jobtracker
