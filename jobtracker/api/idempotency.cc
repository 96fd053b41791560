#include "jobtracker/api/idempotency.h"

#include "shared/base/crypto.h"
#include "shared/base/signing.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kKeyBytesMax = 255;

// 1 .. 2^59-1, see wire::RequestNumber.
std::int64_t first_number_of(const std::string& bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number = (number << 8) | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(number >> 5) | 1;
}

std::int64_t number_from(const std::string& text) { return first_number_of(sha256_bytes(text)); }

}  // namespace

CallKey make_call_key(const Principal& principal, const net::HttpCall& call, const std::string& key,
                      const std::string& secret) {
  const std::string text = "request number\n" + principal.kind + '\n' + principal.name + '\n' + key;
  return {.number = {.client = first_number_of(hmac_sha256(secret, text)), .sequence = 1},
          .fingerprint = number_from(call.method + '\n' + call.target + '\n' + call.body)};
}

Result<std::optional<CallKey>> call_key_of(const Exchange& exchange,
                                           const std::optional<std::string>& secret) {
  const std::string key = exchange.header("idempotency-key");
  if (key.empty()) return std::optional<CallKey>{};
  if (key.size() > kKeyBytesMax || !is_printable_utf8(key)) {
    return Error{ErrorCode::kInvalidArgument,
                 "the header Idempotency-Key must be printable text of at most " +
                     std::to_string(kKeyBytesMax) + " bytes"};
  }
  if (!secret) return Error{ErrorCode::kUnavailable, "the job tracker is starting, try again"};
  return std::optional{make_call_key(exchange.principal, exchange.call, key, *secret)};
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
