#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"

namespace carillon::net {

// Which addresses may be called. Link-local and metadata addresses are never called, because clouds
// provide a machine's secrets there.
//
// Thread: any.
class AddressGuard {
 public:
  AddressGuard() = default;  // all others may be called
  // Allows only networks like "10.0.0.0/8", "10.1.2.3" and "fd12::/16". None: all. Error:
  // kInvalidArgument.
  static Result<AddressGuard> only(const std::vector<std::string>& networks);

  // Error: kDenied. Requires a numeric address; what a name resolves to must be checked.
  Status check(const std::string& address) const;
  // Like check(), for the host of a URL, which may be a name. A name passes.
  Status check_host(const std::string& host) const;

 private:
  // As IPv6; IPv4 as ::ffff:0:0/96.
  struct Network {
    std::array<std::uint8_t, 16> address{};
    int bits = 0;
  };

  std::vector<Network> networks_{};
};

// Succeeds for a network as in AddressGuard::only().
Status check_network(const std::string& text);

}  // namespace carillon::net
