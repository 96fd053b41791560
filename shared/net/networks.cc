#include "shared/net/networks.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace carillon::net {
namespace {

constexpr int kBits = 128;
constexpr int kMappedBits = 96;  // of the prefix ::ffff:0:0/96

using Bytes = std::array<std::uint8_t, 16>;

Bytes mapped(const in_addr& v4) {
  Bytes bytes{};
  bytes[10] = bytes[11] = 0xFF;
  const auto* const four = reinterpret_cast<const std::uint8_t*>(&v4.s_addr);
  std::copy_n(four, 4, bytes.begin() + 12);
  return bytes;
}

bool is_in(const Bytes& address, const Bytes& network, int bits) {
  constexpr int kByte = 8;
  for (std::size_t i = 0; i < address.size(); ++i) {
    const int left = bits - static_cast<int>(i) * kByte;
    if (left <= 0) return true;
    const int mask = left >= kByte ? 0xFF : 0xFF << (kByte - left) & 0xFF;
    if (((address[i] ^ network[i]) & mask) != 0) return false;
  }
  return true;
}

}  // namespace

bool is_numeric_address(const std::string& text) {
  Bytes ignored{};
  return ::inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

std::optional<std::array<std::uint8_t, 16>> address_bytes(const std::string& address) {
  const std::string text = address.substr(0, address.find('%'));  // without a zone
  in_addr v4{};
  if (::inet_aton(text.c_str(), &v4) == 1) return mapped(v4);
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) != 1) return std::nullopt;
  Bytes bytes{};
  std::copy_n(static_cast<const std::uint8_t*>(v6.s6_addr), bytes.size(), bytes.begin());
  return bytes;
}

bool is_loopback_address(const std::string& address) {
  constexpr std::uint8_t kLoopback4 = 127;
  const auto bytes = address_bytes(address);
  if (!bytes) return false;
  Bytes loopback6{};
  loopback6.back() = 1;
  return *bytes == loopback6 ||
         ((*bytes)[12] == kLoopback4 && is_in(*bytes, mapped({}), kMappedBits));
}

Result<Networks> Networks::parse(const std::vector<std::string>& networks) {
  Networks parsed;
  for (const std::string& text : networks) {
    const std::size_t slash = text.find('/');
    const std::string address = text.substr(0, slash);
    const auto bytes = address_bytes(address);
    const bool is_v6 = address.find(':') != std::string::npos;
    const int most = is_v6 ? kBits : kBits - kMappedBits;
    int bits = most;
    bool is_fine =
        bytes.has_value() && (is_v6 || std::count(address.begin(), address.end(), '.') == 3);
    if (slash != std::string::npos) {
      const char* const end = text.data() + text.size();
      const auto number = std::from_chars(text.data() + slash + 1, end, bits);
      is_fine =
          is_fine && number.ec == std::errc{} && number.ptr == end && bits >= 0 && bits <= most;
    }
    if (!is_fine) {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + text + "' is not a network, like 10.0.0.0/8 or fd12:3456::/32"};
    }
    parsed.networks_.push_back({*bytes, is_v6 ? bits : bits + kMappedBits});
  }
  return parsed;
}

bool Networks::contains(const std::string& address) const {
  const auto bytes = address_bytes(address);
  return bytes && std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
           return is_in(*bytes, network.address, network.bits);
         });
}

Status check_network(const std::string& text) {
  CARILLON_TRY(Networks::parse({text}));
  return {};
}

}  // namespace carillon::net
