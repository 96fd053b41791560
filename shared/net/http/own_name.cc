#include "shared/net/http/own_name.h"

#include <algorithm>

#include "shared/base/host_name.h"
#include "shared/base/utf8.h"

namespace carillon::net {

std::string host_of(std::string_view host_header) {
  std::string host = lower_ascii(host_header);
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string::npos ? std::string{} : host.substr(1, end - 1);
  }
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

bool is_own_host(std::string_view host_header, const std::string& own_address,
                 const std::vector<std::string>& names) {
  const std::string host = host_of(host_header);
  if (host.empty()) return false;
  if (host == "localhost" || host == own_address) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return lower_ascii(name) == host; });
}

std::vector<std::string> names_of_machine() {
  const std::string name = host_name();
  return {name, name.substr(0, name.find('.'))};
}

bool is_own_origin(std::string_view origin_header, std::string_view host_header) {
  const std::size_t scheme = origin_header.find("://");
  if (scheme == std::string_view::npos) return false;
  return lower_ascii(origin_header.substr(scheme + 3)) == lower_ascii(host_header);
}

}  // namespace carillon::net
