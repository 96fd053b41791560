#include "shared/net/http_access.h"

#include "shared/net/endpoint.h"
#include "shared/net/networks.h"

namespace carillon::net {

Status check_http_access(const HttpAccess& access) {
  if (access.certificate.empty() != access.key.empty()) {
    const bool is_key_missing = access.key.empty();
    return Error{ErrorCode::kInvalidArgument,
                 std::string{is_key_missing ? "--http-cert" : "--http-key"} + " needs " +
                     (is_key_missing ? "--http-key" : "--http-cert") +
                     " (give the certificate and its private key)"};
  }
  if (const auto networks = Networks::parse(access.proxies); !networks.ok())
    return networks.error().with_context("--behind-proxy");
  return {};
}

Status check_http_privacy(const HttpAccess& access, const std::string& option,
                          const std::string& address) {
  if (access.has_tls() || !access.proxies.empty()) return {};
  const Endpoint endpoint = CARILLON_TRY(parse_host_port(address));
  if (endpoint.is_loopback()) return {};
  return Error{ErrorCode::kInvalidArgument,
               option + " " + address +
                   " would exchange everything with other machines without encryption (give a "
                   "certificate with --http-cert and --http-key, or the network of a proxy that "
                   "encrypts with --behind-proxy, or --insecure)"};
}

}  // namespace carillon::net
