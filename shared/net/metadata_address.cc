#include "shared/net/metadata_address.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace carillon::net {
namespace {

bool is_metadata_v4(std::uint32_t address) {
  constexpr std::uint32_t kAlibaba = 0x646464C8;  // 100.100.100.200
  constexpr std::uint32_t kOracle = 0xC00000C0;   // 192.0.0.192
  return (address >> 16) == 0xA9FE || address == kAlibaba || address == kOracle;
}

bool is_metadata_v6(const in6_addr& address) {
  constexpr std::array<std::uint8_t, 16> kAmazon{0xFD, 0x00, 0x0E, 0xC2, 0, 0, 0,    0,
                                                 0,    0,    0,    0,    0, 0, 0x02, 0x54};
  // Prefixes of embedded IPv4 addresses: mapped, compatible, NAT64 and 6to4.
  constexpr std::array<std::uint8_t, 12> kNat64{0x00, 0x64, 0xFF, 0x9B};
  constexpr std::array<std::uint8_t, 2> k6to4{0x20, 0x02};
  const auto* const bytes = static_cast<const std::uint8_t*>(address.s6_addr);
  const auto v4_at = [&](std::size_t at) {
    return std::uint32_t{bytes[at]} << 24U | std::uint32_t{bytes[at + 1]} << 16U |
           std::uint32_t{bytes[at + 2]} << 8U | std::uint32_t{bytes[at + 3]};
  };
  const bool ends_in_v4 = IN6_IS_ADDR_V4MAPPED(&address) || IN6_IS_ADDR_V4COMPAT(&address) ||
                          std::equal(kNat64.begin(), kNat64.end(), bytes);
  if (ends_in_v4) return is_metadata_v4(v4_at(12));
  if (std::equal(k6to4.begin(), k6to4.end(), bytes)) return is_metadata_v4(v4_at(2));
  return IN6_IS_ADDR_LINKLOCAL(&address) || std::equal(kAmazon.begin(), kAmazon.end(), bytes);
}

}  // namespace

bool is_metadata_address(std::string_view host) {
  const std::string text{host.substr(0, host.find('%'))};  // without a zone: "fe80::1%eth0"
  in_addr v4{};
  if (::inet_aton(text.c_str(), &v4) == 1) return is_metadata_v4(ntohl(v4.s_addr));
  in6_addr v6{};
  return ::inet_pton(AF_INET6, text.c_str(), &v6) == 1 && is_metadata_v6(v6);
}

}  // namespace carillon::net
