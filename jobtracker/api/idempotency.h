#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "jobtracker/api/exchange.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker::api {

// What a call with an Idempotency-Key is known by.
struct CallKey {
  // Of the principal and the key: the same for each repetition, on every job tracker. Only those
  // who know the secret of the store can derive it, so that nobody else reads the answer to the
  // number or uses it up.
  wire::RequestNumber number{};
  // Of the method, path and body.
  std::int64_t fingerprint = 0;
};

// None: the call has no key. `secret`: of the store. Error: kInvalidArgument for a key that is too
// long or not printable, kUnavailable while there is no secret.
Result<std::optional<CallKey>> call_key_of(const Exchange& exchange,
                                           const std::optional<std::string>& secret);
// The same for a key that is not empty.
CallKey make_call_key(const Principal& principal, const net::HttpCall& call, const std::string& key,
                      const std::string& secret);
// For one of several requests that a call makes.
CallKey part_of_key(const CallKey& whole, const std::string& part);

// The answer to a key that was used for another call.
Problem used_before();

// The keys of late, so that a key that comes with another body is refused even where the job
// tracker stores no fingerprint: with errors.
//
// Thread: the gateway's.
class RecentKeys {
 public:
  static constexpr std::size_t kKeysMax = 10'000;

  // False: it was used with another fingerprint.
  bool note(const CallKey& key);

 private:
  std::map<std::int64_t, std::int64_t> fingerprints_;
  std::deque<std::int64_t> oldest_first_;
};

}  // namespace carillon::jobtracker::api
