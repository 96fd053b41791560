#pragma once

#include <functional>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "jobtracker/api/oidc_provider.h"
#include "jobtracker/api/role_rule.h"
#include "jobtracker/api/sign_in_throttle.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// A proxy in front of the console that has authenticated its users and names them in headers. Its
// address alone proves nothing: other programs may share it, above all on the same machine.
struct ProxyUsers {
  static constexpr const char* kSecretHeader = "x-carillon-proxy-secret";

  std::string user_header{};      // in lower case; empty: none
  std::string groups_header{};    // in lower case; empty: none
  std::string secret{};           // that the proxy sends in kSecretHeader
  std::vector<RoleRule> rules{};  // about "user" and "groups"

  bool is_on() const { return !user_header.empty(); }
};

struct SignInConfig {
  bool is_read_only = false;  // the console changes nothing
  // The console's address, as browsers know it; empty: as in the request.
  std::string console_url{};
  std::string server_name{};
  std::string server_version{};
  OidcConfig oidc{};
  ProxyUsers proxy{};
  SignInThrottleConfig throttle{};
  // Longer spares users signing in, and makes a stolen cookie worth more.
  Duration session_length = std::chrono::hours{12};

  // `has_proxies`: the addresses of trusted proxies are known. Error: kInvalidArgument.
  Status validate(bool has_proxies) const;
};

// Changes principals of the store on behalf of somebody. `done` gets the outcome once the change is
// stored or refused; or never, if the process ends. Called on any thread, and so is `done`.
struct PrincipalDesk {
  using Done = std::function<void(Status)>;
  std::function<void(wire::OnBehalf, wire::PutPrincipal, Done)> put_principal{};
  std::function<void(wire::OnBehalf, wire::RemovePrincipal, Done)> remove_principal{};
};

}  // namespace carillon::jobtracker
