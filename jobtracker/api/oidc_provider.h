#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "jobtracker/api/role_rule.h"
#include "shared/base/clock.h"
#include "shared/net/http/http_client.h"
#include "shared/net/http/jwt.h"

namespace carillon::jobtracker {

struct OidcConfig {
  std::string issuer{};  // its URL; empty: nobody signs in with OpenID Connect
  std::string client_id{};
  std::string client_secret{};  // empty: a public client
  // The claim that names people, who cannot change it; empty: see names_in().
  std::string name_claim{};
  std::vector<RoleRule> rules{};

  bool is_on() const { return !issuer.empty(); }
  // Error: kInvalidArgument.
  Status validate() const;
};

// What ties the steps of one sign-in together.
struct OidcAttempt {
  std::string state{};
  std::string nonce{};
  std::string verifier{};  // of PKCE (RFC 7636)
  std::string redirect_uri{};
};

// A provider of OpenID Connect, for sign-in by authorization code with PKCE. Its configuration is
// read from the provider and kept for an hour. Its keys are kept, too, and read again when a token
// is signed with an unknown one.
//
// Thread: one. The calls wait for the provider.
class OidcProvider {
 public:
  using Fetch = std::function<Result<net::HttpReply>(const HttpRequest&)>;
  static constexpr Duration kPatience = std::chrono::seconds{10};  // for one call of the provider
  static constexpr std::size_t kReplyBytesMax = 256 * 1024;

  // `fetch` sends a request. `clock` must outlive the provider.
  OidcProvider(OidcConfig config, Fetch fetch, const Clock& clock);

  // Where the browser is sent to sign in. Error: kUnavailable and others, with the reason.
  Result<std::string> sign_in_url(const OidcAttempt& attempt);
  // The claims of the person with this code, without an email that the provider has not verified.
  // Error: the provider refuses it, or its token is wrong.
  Result<Claims> claims_for(const std::string& code, const OidcAttempt& attempt);

 private:
  struct Discovered {
    std::string authorization_endpoint{};
    std::string token_endpoint{};
    std::string jwks_uri{};
    bool has_groups_scope = false;
    bool takes_basic = true;  // the client's secret in the header, and not in the body
    SteadyTime at{};
  };

  Status discover();
  Status fetch_keys();
  Result<std::string> get(const std::string& url);
  Result<std::string> id_token_for(const std::string& code, const OidcAttempt& attempt);

  const OidcConfig config_;
  const Fetch fetch_;
  const Clock& clock_;
  std::optional<Discovered> discovered_{};
  std::vector<net::Jwk> keys_{};
  std::optional<SteadyTime> keys_at_{};
};

// The names of a person.
struct OidcNames {
  std::string shown{};   // also in the audit; people may be able to choose it
  std::string stored{};  // of the stored user that is this person
};

// The names in the claims of OidcProvider::claims_for(). Both are the `name_claim`. If that is
// empty, a stored user has the name sub, and what is shown is preferred_username, otherwise email,
// otherwise sub. Error: kDenied if what is shown cannot be the name of a principal.
Result<OidcNames> names_in(const Claims& claims, const std::string& name_claim);

}  // namespace carillon::jobtracker
