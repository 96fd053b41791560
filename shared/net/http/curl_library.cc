#include "shared/net/http/curl_library.h"

#include <curl/curl.h>

namespace carillon::net {

bool is_curl_ready() {
  static const bool kReady = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return kReady;
}

}  // namespace carillon::net
