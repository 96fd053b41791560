#include "shared/net/own_machine.h"

#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "shared/base/host_name.h"
#include "shared/base/utf8.h"

namespace carillon::net {
namespace {

// IPv4 inside IPv6 as IPv4.
struct Numeric {
  std::optional<in_addr> v4{};
  std::optional<in6_addr> v6{};
};

void put(Numeric& numeric, const in6_addr& address) {
  if (!IN6_IS_ADDR_V4MAPPED(&address)) {
    numeric.v6 = address;
    return;
  }
  numeric.v4.emplace();
  std::memcpy(&*numeric.v4, address.s6_addr + 12, sizeof(in_addr));
}

Numeric numeric_of(const std::string& host) {
  Numeric numeric;
  in_addr v4{};
  in6_addr v6{};
  const std::string text = host.substr(0, host.find('%'));  // without a zone
  if (::inet_aton(text.c_str(), &v4) == 1) numeric.v4 = v4;
  if (!numeric.v4 && ::inet_pton(AF_INET6, text.c_str(), &v6) == 1) put(numeric, v6);
  return numeric;
}

bool is_of_interface(const Numeric& numeric) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  bool is_own = false;
  for (const ifaddrs* one = all; one != nullptr && !is_own; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    if (one->ifa_addr->sa_family == AF_INET && numeric.v4) {
      const auto* own = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
      is_own = own->sin_addr.s_addr == numeric.v4->s_addr;
    }
    if (one->ifa_addr->sa_family == AF_INET6 && numeric.v6) {
      const auto* own = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      is_own = IN6_ARE_ADDR_EQUAL(&own->sin6_addr, &*numeric.v6);
    }
  }
  ::freeifaddrs(all);
  return is_own;
}

}  // namespace

bool is_own_machine(const std::string& host) {
  std::string name = lower_ascii(host);
  if (name.ends_with('.')) name.pop_back();
  if (name == "localhost" || name.ends_with(".localhost") || name == lower_ascii(host_name()))
    return true;
  const Numeric numeric = numeric_of(name);
  if (numeric.v4) {
    const std::uint32_t address = ntohl(numeric.v4->s_addr);
    if (address == 0 || (address >> 24) == IN_LOOPBACKNET) return true;
  }
  if (numeric.v6 && (IN6_IS_ADDR_LOOPBACK(&*numeric.v6) || IN6_IS_ADDR_UNSPECIFIED(&*numeric.v6)))
    return true;
  return (numeric.v4 || numeric.v6) && is_of_interface(numeric);
}

}  // namespace carillon::net
