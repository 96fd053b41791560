#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"

namespace carillon::jobtracker {

struct SignInThrottleConfig {
  // Failures without a wait. More tolerates typing errors, and lets an attacker guess more.
  int free_of_name = 5;
  int free_of_address = 20;  // higher: a proxy or an office may share it
  // Longest wait after a failure. The wait doubles from a second on. For a name it is short, so
  // that others cannot keep a user from signing in.
  Duration longest_of_name = std::chrono::seconds{30};
  Duration longest_of_address = std::chrono::minutes{15};
  // Failures are forgotten after this time without an attempt.
  Duration memory = std::chrono::hours{1};
  // Most names, and most addresses. When there are more, the one that was quiet longest is
  // forgotten.
  std::size_t entries_max = 10'000;
};

// Slows down attempts to guess passwords: counts failures for each name and for each address.
//
// Thread: any. The mutex is held briefly: attempts begin on the HTTP server's thread and end on
// others.
class SignInThrottle {
 public:
  // `clock` must outlive it.
  SignInThrottle(SignInThrottleConfig config, const Clock& clock)
      : config_(config), clock_(clock) {}

  // Begins an attempt, which counts as failed until succeeded() is called. Returns how long to
  // wait instead, if there were too many. An empty name: only the address counts.
  std::optional<Duration> begin(const std::string& name, const std::string& address);
  void succeeded(const std::string& name, const std::string& address);

 private:
  struct Entry {
    int failures = 0;
    SteadyTime last{};
    SteadyTime next{};  // no attempt before it
  };
  using Table = std::map<std::string, Entry>;

  Entry& entry_of(Table& table, const std::string& key, SteadyTime now) const;

  const SignInThrottleConfig config_;
  const Clock& clock_;
  Mutex mutex_;
  Table names_ CARILLON_GUARDED_BY(mutex_){};
  Table addresses_ CARILLON_GUARDED_BY(mutex_){};
};

// What counts as one address: an IPv4 address, or the /64 network of an IPv6 address, because one
// machine may use all addresses of such a network.
std::string throttled_address(const std::string& address);

}  // namespace carillon::jobtracker
