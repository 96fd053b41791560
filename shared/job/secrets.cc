#include "shared/job/secrets.h"

#include <algorithm>
#include <array>

#include "shared/base/utf8.h"

namespace carillon {
namespace {

constexpr const char* kMask = "***";

bool is_secret_header(std::string_view name) {
  constexpr std::array<std::string_view, 8> kWords{"auth",  "cookie", "token",   "secret",
                                                   "passw", "apikey", "api-key", "access-key"};
  const std::string lower = lower_ascii(name);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace

std::string masked_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string{url};
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  const std::size_t at = url.substr(begin, end - begin).rfind('@');
  if (at == std::string_view::npos) return std::string{url};
  return std::string{url.substr(0, begin)} + kMask + std::string{url.substr(begin + at)};
}

JobSpec without_secrets(JobSpec spec) {
  spec.run.http.url = masked_url(spec.run.http.url);
  for (auto& [name, value] : spec.run.http.headers) {
    if (is_secret_header(name)) value = kMask;
  }
  for (std::string& recipient : spec.alarm) recipient = masked_url(recipient);
  return spec;
}

}  // namespace carillon
