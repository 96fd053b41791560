#pragma once

#include <memory>

#include <curl/curl.h>

// Owners for the handles of libcurl.
namespace carillon::net {

struct CurlCloser {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(curl_mime* mime) const { curl_mime_free(mime); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};
template <class T>
using CurlOwned = std::unique_ptr<T, CurlCloser>;

// Time-out for connecting.
inline constexpr long kCurlConnectMs = 10'000;

}  // namespace carillon::net
