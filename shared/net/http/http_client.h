#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <string>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/net/address_guard.h"

namespace carillon::net {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> headers{};  // names in lower case; of repeated ones the last
  std::string body{};
  bool body_cut = false;  // the body was longer than requested
};

// Sends one request over http or https and waits for the response: at most `timeout` (0: no limit),
// or until `cancelled`, which is checked every tenth of a second. Redirects are not followed. A
// body longer than `body_max` is cut, and the connection closed.
//
// For https, `ca_file` is a PEM file with the trusted certificate authorities; empty: the system's.
//
// Only addresses that `guard` allows are called, also if a name resolves to one.
//
// Errors: kTimeout. kDenied by the guard. kInvalidArgument for an invalid address. kUnavailable if
// there is no complete response for another reason, including cancellation; the server may have
// processed the request.
//
// Thread: any number at a time; each waits for its own response.
Result<HttpReply> send_http(const HttpRequest& request, Duration timeout, std::size_t body_max,
                            const std::atomic<bool>& cancelled, const std::string& ca_file = {},
                            const AddressGuard& guard = {});

// Error: kInvalidArgument if the file cannot be read or has no certificates; `option` is named in
// it.
Status check_ca_file(const std::string& ca_file, const std::string& option);

}  // namespace carillon::net
