#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/assert.h"
#include "shared/net/endpoint.h"
#include "shared/net/http_url.h"

namespace {

using namespace carillon::net;

bool is_clean(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return false;
  }
  return true;
}

void check_url(std::string_view text) {
  const auto url = parse_http_url(text);
  if (!url.ok()) {
    CARILLON_ASSERT(!url.error().message.empty(), "every refusal has a reason");
    return;
  }
  const HttpUrl& given = url.value();
  CARILLON_ASSERT(is_clean(given.host) && is_clean(given.path),
                  "no part can end a line, or a text of C");
  CARILLON_ASSERT(!given.host.empty(), "every address has a host");
  CARILLON_ASSERT(given.path.empty() || (given.path.front() == '/' && given.path.back() != '/'),
                  "a path starts with a slash and does not end with one");
  const auto again = parse_http_url(given.server() + given.path);
  CARILLON_ASSERT(again.ok(), "what is called is an address");
  CARILLON_ASSERT(again.value().scheme == given.scheme && again.value().host == given.host &&
                      again.value().port == given.port_or_default() &&
                      again.value().path == given.path,
                  "what is called is what was given");
}

void check_address(const carillon::Result<Endpoint>& endpoint) {
  if (!endpoint.ok()) {
    CARILLON_ASSERT(!endpoint.error().message.empty(), "every refusal has a reason");
    return;
  }
  const Endpoint& given = endpoint.value();
  CARILLON_ASSERT(is_clean(given.host), "no host can end a line, or a text of C");
  const auto again = parse_endpoint(given.text());
  CARILLON_ASSERT(again.ok() && again.value() == given, "an address comes out the same");
  const auto short_form = parse_host_port(given.host_port());
  CARILLON_ASSERT(short_form.ok() && short_form.value() == given, "so does its short form");
}

}  // namespace

// Feeds any bytes to the parsers of addresses. What they accept must come out the same, and have no
// byte that another parser would read as an end.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  check_url(text);
  check_address(parse_endpoint(text));
  check_address(parse_host_port(text));
  return 0;
}
