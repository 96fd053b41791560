#pragma once

#include <string>

#include <curl/curl.h>

#include "shared/net/address_guard.h"

namespace carillon::net {

// Lets libcurl connect only to addresses that a guard allows, also if a name resolves to them.
//
// Thread: that of the transfer. It must outlive the transfer.
class CurlGuard {
 public:
  explicit CurlGuard(const AddressGuard& guard) : guard_(guard) {}
  CurlGuard(const CurlGuard&) = delete;
  CurlGuard& operator=(const CurlGuard&) = delete;

  void watch(CURL* easy);
  // Why the last address was not called; empty: it was.
  const std::string& refusal() const { return refusal_; }

 private:
  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address);

  const AddressGuard& guard_;
  std::string refusal_{};
};

}  // namespace carillon::net
