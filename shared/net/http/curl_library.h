#pragma once

namespace carillon::net {

// libcurl wants to be told once, before any thread uses it. False: it does not start.
// Thread: any.
bool is_curl_ready();

}  // namespace carillon::net
