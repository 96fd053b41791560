#pragma once

#include <string>
#include <vector>

#include "carillon/result.h"
#include "shared/net/networks.h"

namespace carillon::net {

// Which addresses may be called. Link-local and metadata addresses are never called, because clouds
// provide a machine's secrets there.
//
// Thread: any.
class AddressGuard {
 public:
  AddressGuard() = default;  // all others may be called
  // Allows only these networks, see Networks::parse(). None: all. Error: kInvalidArgument.
  static Result<AddressGuard> only(const std::vector<std::string>& networks);

  // Error: kDenied. Requires a numeric address; what a name resolves to must be checked.
  Status check(const std::string& address) const;
  // Like check(), for the host of a URL, which may be a name. A name passes.
  Status check_host(const std::string& host) const;

 private:
  Networks networks_{};
};

}  // namespace carillon::net
