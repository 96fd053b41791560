#include "shared/net/http/proxy_headers.h"

#include <string_view>

#include "shared/base/utf8.h"

namespace carillon::net {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Takes the last item from a list with commas.
std::string_view take_last(std::string_view& list) {
  const std::size_t comma = list.rfind(',');
  const bool is_only = comma == std::string_view::npos;
  const std::string_view last = is_only ? list : list.substr(comma + 1);
  list = is_only ? std::string_view{} : list.substr(0, comma);
  return trimmed(last);
}

// Some proxies add the port: "10.0.0.1:4075", "[fd12::1]:4075".
std::string without_port(std::string_view text) {
  if (text.starts_with('[')) return std::string{text.substr(1, text.find(']') - 1)};
  const std::size_t colon = text.find(':');
  const bool is_ipv4 = colon != std::string_view::npos && colon == text.rfind(':');
  return std::string{is_ipv4 ? text.substr(0, colon) : text};
}

}  // namespace

std::string client_address(const std::string& peer, const std::string& forwarded_for,
                           const Networks& proxies) {
  std::string address = peer;
  std::string_view rest = forwarded_for;
  while (!rest.empty() && proxies.contains(address)) {
    std::string before = without_port(take_last(rest));
    if (!is_numeric_address(before)) break;  // "unknown", or what a client made up
    address = std::move(before);
  }
  return address;
}

bool was_encrypted(const std::string& forwarded_proto) {
  std::string_view rest = forwarded_proto;
  do {
    if (lower_ascii(take_last(rest)) != "https") return false;
  } while (!rest.empty());
  return true;
}

}  // namespace carillon::net
