#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carillon/result.h"

namespace carillon::net {

// Whether the text is an IPv4 address with four numbers, or an IPv6 address without a zone.
bool is_numeric_address(const std::string& text);

// The bytes of a numeric address as IPv6, of IPv4 as ::ffff:0:0/96. None: the text is not one.
std::optional<std::array<std::uint8_t, 16>> address_bytes(const std::string& address);

// Whether this numeric address is one of this machine's loopback interface.
bool is_loopback_address(const std::string& address);

// Networks like "10.0.0.0/8", "10.1.2.3" and "fd12::/16".
//
// Thread: any.
class Networks {
 public:
  Networks() = default;  // none
  // Error: kInvalidArgument.
  static Result<Networks> parse(const std::vector<std::string>& networks);

  // Whether one of them contains this numeric address.
  bool contains(const std::string& address) const;
  bool empty() const { return networks_.empty(); }

 private:
  struct Network {
    std::array<std::uint8_t, 16> address{};
    int bits = 0;
  };

  std::vector<Network> networks_{};
};

// Succeeds for one network as in Networks::parse().
Status check_network(const std::string& text);

}  // namespace carillon::net
