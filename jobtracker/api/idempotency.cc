#include "jobtracker/api/idempotency.h"

#include <charconv>

#include "shared/base/crypto.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kKeyBytesMax = 255;

// 1 .. 2^59-1, see wire::RequestNumber.
std::int64_t number_from(const std::string& text) {
  const std::string hex = sha256_hex(text);
  std::uint64_t number = 0;
  std::from_chars(hex.data(), hex.data() + 16, number, 16);
  return static_cast<std::int64_t>(number >> 5) | 1;
}

}  // namespace

Result<std::optional<CallKey>> call_key_of(const Exchange& exchange) {
  const std::string key = exchange.header("idempotency-key");
  if (key.empty()) return std::optional<CallKey>{};
  if (key.size() > kKeyBytesMax || !is_printable_utf8(key)) {
    return Error{ErrorCode::kInvalidArgument,
                 "the header Idempotency-Key must be printable text of at most " +
                     std::to_string(kKeyBytesMax) + " bytes"};
  }
  const Principal& principal = exchange.principal;
  return std::optional{
      CallKey{.number = {.client = number_from(principal.kind + '\n' + principal.name + '\n' + key),
                         .sequence = 1},
              .fingerprint = number_from(exchange.call.method + '\n' + exchange.call.target + '\n' +
                                         exchange.call.body)}};
}

CallKey part_of_key(const CallKey& whole, const std::string& part) {
  return {.number = {.client = number_from(std::to_string(whole.number.client) + '\n' + part),
                     .sequence = 1},
          .fingerprint = whole.fingerprint};
}

Problem used_before() {
  return {.status = 422,
          .code = "invalid_argument",
          .detail =
              "the header Idempotency-Key was used before with another request (use a new "
              "key for each request)",
          .field = "idempotency_key"};
}

bool RecentKeys::note(const CallKey& key) {
  const auto [at, is_new] = fingerprints_.emplace(key.number.client, key.fingerprint);
  if (!is_new) return at->second == key.fingerprint;
  oldest_first_.push_back(key.number.client);
  if (oldest_first_.size() > kKeysMax) {
    fingerprints_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
  return true;
}

}  // namespace carillon::jobtracker::api
