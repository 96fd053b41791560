#pragma once

#include <atomic>
#include <functional>

#include "carillon/job_spec.h"
#include "shared/net/http/http_client.h"
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/run_request.h"

namespace carillon::tasktracker {

// net::send_http, or what a test puts in its place.
// Thread: any number at a time.
using HttpSend =
    std::function<Result<net::HttpReply>(const HttpRequest& request, Duration timeout,
                                         std::size_t body_max, const std::atomic<bool>& cancelled)>;

// Calls an address. 2xx succeeds. 429 and 503 with a Retry-After in seconds ask for "later"; any
// other answer, and none, is a failure that is tried again. The answer's body is the output.
// Thread: any; blocks until the answer.
RunEnd run_http(const HttpSend& send, const RunRequest& request, RunControl& control);

}  // namespace carillon::tasktracker
