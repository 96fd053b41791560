#pragma once

namespace carillon::net {

// Initializes libcurl, which must happen once before any thread uses it. False: it failed. Thread:
// any.
bool is_curl_ready();

}  // namespace carillon::net
