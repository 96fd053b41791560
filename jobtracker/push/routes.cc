#include "jobtracker/push/routes.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <type_traits>
#include <utility>

#include <boost/uuid/detail/md5.hpp>

#include "shared/base/assert.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kCountMax = 1'000'000;  // a larger count starts again
constexpr std::uint64_t kFirstTurns = 100;
constexpr int kVirtualNodes = 100;

std::int64_t below(Random& random, std::uint64_t bound) {
  return static_cast<std::int64_t>(random.next() % bound);
}

// The list rotated to start at this position.
std::vector<std::string> from(const std::vector<std::string>& addresses, std::size_t first) {
  std::vector<std::string> order = addresses;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first), order.end());
  return order;
}

// The addresses in ring order from the job's position, without duplicates.
std::vector<std::string> along_the_ring(std::string_view job,
                                        const std::vector<std::string>& addresses) {
  std::map<std::uint32_t, std::size_t> ring;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    for (int node = 0; node < kVirtualNodes; ++node) {
      ring[ring_hash("SHARD-" + addresses[i] + "-NODE-" + std::to_string(node))] = i;
    }
  }
  std::vector<std::string> order;
  std::vector<bool> is_met(addresses.size());
  auto at = ring.lower_bound(ring_hash(job));
  for (std::size_t seen = 0; seen < ring.size() && order.size() < addresses.size(); ++seen) {
    if (at == ring.end()) at = ring.begin();
    if (!is_met[at->second]) order.push_back(addresses[at->second]);
    is_met[at->second] = true;
    ++at;
  }
  return order;
}

}  // namespace

class Routing {
 public:
  Routing(RouteMemory& memory, Random& random) : memory_(memory), random_(random) {}

  std::vector<std::string> in_turn(const std::vector<std::string>& addresses) {
    std::int64_t& turn = memory_.turn_;
    if (turn < 0 || turn > kCountMax) turn = below(random_, kFirstTurns);
    ++turn;
    return from(addresses, static_cast<std::size_t>(turn) % addresses.size());
  }

  std::vector<std::string> by_count(const std::vector<std::string>& addresses) {
    forget_others(addresses);
    for (const std::string& address : addresses) {
      const auto [use, is_new] = memory_.uses_.try_emplace(address);
      if (is_new || use->second.count > kCountMax) {
        use->second.count = below(random_, addresses.size());
      }
    }
    std::vector<std::string> order = addresses;
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return memory_.uses_.at(a).count < memory_.uses_.at(b).count;
    });
    ++memory_.uses_.at(order.front()).count;
    return order;
  }

  std::vector<std::string> by_age(const std::vector<std::string>& addresses) {
    forget_others(addresses);
    std::int64_t last = 0;
    for (const auto& [address, use] : memory_.uses_) last = std::max(last, use.last);
    for (const std::string& address : addresses) {
      const auto [use, is_new] = memory_.uses_.try_emplace(address);
      if (is_new) use->second.last = ++last;
    }
    std::vector<std::string> order = addresses;
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return memory_.uses_.at(a).last < memory_.uses_.at(b).last;
    });
    memory_.uses_.at(order.front()).last = last + 1;
    return order;
  }

 private:
  void forget_others(const std::vector<std::string>& addresses) {
    const std::set<std::string_view> known(addresses.begin(), addresses.end());
    std::erase_if(memory_.uses_, [&](const auto& use) { return !known.contains(use.first); });
  }

  RouteMemory& memory_;
  Random& random_;
};

// "TURN" and, per line, "COUNT LAST ADDRESS".
std::string RouteMemory::to_text() const {
  if (*this == RouteMemory{}) return {};
  std::string text = std::to_string(turn_);
  for (const auto& [address, use] : uses_) {
    text += "\n" + std::to_string(use.count) + " " + std::to_string(use.last) + " " + address;
  }
  return text;
}

RouteMemory RouteMemory::from_text(std::string_view text) {
  RouteMemory memory;
  const auto number = [&text](std::int64_t& into, std::string_view stop) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    if (error != std::errc{}) return false;
    if (text.empty()) return true;
    if (!text.starts_with(stop)) return false;
    text.remove_prefix(stop.size());
    return true;
  };
  if (text.empty() || !number(memory.turn_, "\n")) return {};
  while (!text.empty()) {
    Use use;
    if (!number(use.count, " ") || !number(use.last, " ")) return {};
    const std::size_t end = std::min(text.find('\n'), text.size());
    memory.uses_[std::string{text.substr(0, end)}] = use;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return memory;
}

std::uint32_t ring_hash(std::string_view key) {
  boost::uuids::detail::md5 md5;
  md5.process_bytes(key.data(), key.size());
  boost::uuids::detail::md5::digest_type digest;
  static_assert(std::is_same_v<decltype(digest), unsigned int[4]>, "as Boost 1.74 has it");
  md5.get_digest(digest);
  // The numbers of the digest are big-endian.
  const std::uint32_t first = digest[0];
  return first >> 24U | (first >> 8U & 0xFF00U) | (first << 8U & 0xFF0000U) | first << 24U;
}

std::vector<std::string> route(Route route, std::string_view job,
                               const std::vector<std::string>& addresses, RouteMemory& memory,
                               Random& random) {
  CARILLON_ASSERT(!addresses.empty(), "at least one executor can be called");
  Routing routing{memory, random};
  switch (route) {
    case Route::kLast:
      return {addresses.rbegin(), addresses.rend()};
    case Route::kRound:
      return routing.in_turn(addresses);
    case Route::kRandom:
      return from(addresses, static_cast<std::size_t>(below(random, addresses.size())));
    case Route::kConsistentHash:
      return along_the_ring(job, addresses);
    case Route::kLeastFrequentlyUsed:
      return routing.by_count(addresses);
    case Route::kLeastRecentlyUsed:
      return routing.by_age(addresses);
    case Route::kFirst:
    case Route::kFailover:
    case Route::kBusyover:
    case Route::kShardingBroadcast:
      break;
  }
  return addresses;
}

}  // namespace carillon::jobtracker
