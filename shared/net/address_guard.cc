#include "shared/net/address_guard.h"

#include "shared/net/metadata_address.h"

namespace carillon::net {

Result<AddressGuard> AddressGuard::only(const std::vector<std::string>& networks) {
  AddressGuard guard;
  guard.networks_ = CARILLON_TRY(Networks::parse(networks));
  return guard;
}

Status AddressGuard::check(const std::string& address) const {
  if (is_metadata_address(address)) {
    return Error{ErrorCode::kDenied,
                 address + " is a link-local or metadata address, which is not called"};
  }
  if (networks_.empty() || networks_.contains(address)) return {};
  return Error{ErrorCode::kDenied, address + " is not in a network that may be called"};
}

Status AddressGuard::check_host(const std::string& host) const {
  return address_bytes(host) ? check(host) : Status{};
}

}  // namespace carillon::net
