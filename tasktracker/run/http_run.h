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
  bool body_cut = false;  // there was more than was asked for
};

// Sends a request and waits for its answer, at most so long (0: no limit), or until `cancelled`.
// kTimeout: the time is over. Thread: any number at a time.
using HttpSend =
    std::function<Result<HttpAnswer>(const HttpRequest& request, Duration timeout,
                                     std::size_t body_max, const std::atomic<bool>& cancelled)>;

// Calls an address. 2xx succeeds. 429 and 503 with a Retry-After in seconds ask for "later"; any
// other answer, and none, is a failure that is tried again. The answer's body is the output.
// Thread: any; blocks until the answer.
RunEnd run_http(const HttpSend& send, const RunRequest& request, RunControl& control);

}  // namespace carillon::tasktracker
