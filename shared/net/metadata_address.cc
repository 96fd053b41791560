#include "shared/net/metadata_address.h"

#include <algorithm>
#include <array>
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
  const auto* const bytes = static_cast<const std::uint8_t*>(address.s6_addr);
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return is_metadata_v4(std::uint32_t{bytes[12]} << 24U | std::uint32_t{bytes[13]} << 16U |
                          std::uint32_t{bytes[14]} << 8U | std::uint32_t{bytes[15]});
  }
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
