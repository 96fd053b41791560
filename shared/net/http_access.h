#pragma once

#include <string>
#include <vector>

#include "carillon/result.h"

namespace carillon::net {

// How an HTTP server protects what others send to it and read from it.
struct HttpAccess {
  // PEM file with the server's certificate, then those of its authorities up to one that clients
  // know; and PEM file with its private key. Both empty: connections are not encrypted.
  std::string certificate{};
  std::string key{};
  // Networks of trusted proxies, see Networks::parse(). They report the client's address and
  // whether its connection was encrypted; connections from elsewhere are refused, except from this
  // machine. Empty: no proxy.
  std::vector<std::string> proxies{};

  bool has_tls() const { return !certificate.empty(); }

  bool operator==(const HttpAccess&) const = default;
};

// Error: only one of certificate and key is given, or a network is not one.
Status check_http_access(const HttpAccess& access);

// Error: other machines reach this address ("HOST:PORT"), and would send everything to it in
// readable form. `option`: the flag for the address.
Status check_http_privacy(const HttpAccess& access, const std::string& option,
                          const std::string& address);

}  // namespace carillon::net
