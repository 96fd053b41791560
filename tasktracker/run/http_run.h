#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "carillon/job_spec.h"
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/run_request.h"

namespace carillon::tasktracker {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers{};  // names in lower case
  std::string body{};
  bool body_cut = false;  // the body was longer than requested
};

// Sends a request and waits for its response, at most `timeout` (0: no limit), or until
// `cancelled`. Error: kTimeout; kDenied if its address may not be called. Thread: any number at a
// time.
using HttpSend =
    std::function<Result<HttpAnswer>(const HttpRequest& request, Duration timeout,
                                     std::size_t body_max, const std::atomic<bool>& cancelled)>;

// Calls a URL. 2xx is a success. 429 and 503 with a Retry-After in seconds mean "later"; any other
// response, or none, is a failure that is retried. The body of the response is the output. Thread:
// any; blocks until the response.
RunEnd run_http(const HttpSend& send, const RunRequest& request, RunControl& control);

}  // namespace carillon::tasktracker
