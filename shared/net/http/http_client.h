#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <string>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"

namespace carillon::net {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> headers{};  // names in lower case; the last of equal ones
  std::string body{};
  bool body_cut = false;  // there was more than was asked for
};

// Sends one request over http or https and waits for the answer: at most `timeout` (0: no limit),
// or until `cancelled`, which is noticed within a tenth of a second. Redirections are answers like
// any other. A body longer than `body_max` is cut there, and the connection closed.
//
// At https:// addresses servers are trusted whose certificates somebody in `ca_file`, in PEM, has
// signed; empty: whom the system trusts.
//
// kTimeout: the time is over. kInvalidArgument: not an address to send to. kUnavailable: any other
// reason why there is no whole answer, cancelling included; the request may have been carried out.
//
// Thread: any number at a time; each waits for its own.
Result<HttpReply> send_http(const HttpRequest& request, Duration timeout, std::size_t body_max,
                            const std::atomic<bool>& cancelled, const std::string& ca_file = {});

// kInvalidArgument: such a file cannot be read or holds no certificates; `option` names it.
Status check_ca_file(const std::string& ca_file, const std::string& option);

}  // namespace carillon::net
