#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "carillon/time.h"

// Lets a sender prevent requests from being sent after it passed them to a poster.
namespace carillon::net {

// The time until which a sender's requests may be sent; at first without limit. The poster checks
// it immediately before each write, so a process that stalled sends nothing after its lease.
//
// Thread: the sender's; is_held() any.
class SendLease {
 public:
  void hold_until(SteadyTime time) {
    if (!is_over_) until_ = time;
  }
  // Permanently.
  void end() {
    is_over_ = true;
    until_ = SteadyTime::min();
  }
  bool is_over() const { return is_over_; }
  bool is_held(SteadyTime now) const { return now < until_.load(); }

 private:
  bool is_over_ = false;
  std::atomic<SteadyTime> until_{SteadyTime::max()};
};

// The state of one request: either its sender recalls it or the poster starts to send it, never
// both. After `until` it is not sent.
//
// Thread: any.
class Sending {
 public:
  explicit Sending(std::shared_ptr<const SendLease> lease, SteadyTime until = SteadyTime::max())
      : lease_(std::move(lease)), until_(until) {}

  // True: no byte of it was or will be sent.
  bool recall() {
    State before = State::kWaits;
    return state_.compare_exchange_strong(before, State::kRecalled) || before == State::kRecalled;
  }

  // For the poster.
  bool may_begin(SteadyTime now) const { return state_.load() == State::kWaits && is_in_time(now); }
  // False: it must not be sent.
  bool begin(SteadyTime now) {
    State before = State::kWaits;
    return is_in_time(now) && state_.compare_exchange_strong(before, State::kBegun);
  }
  // Nothing was sent after all.
  void put_back() { state_ = State::kWaits; }

 private:
  enum class State : std::uint8_t { kWaits, kBegun, kRecalled };

  bool is_in_time(SteadyTime now) const { return now < until_ && lease_->is_held(now); }

  const std::shared_ptr<const SendLease> lease_;
  const SteadyTime until_;
  std::atomic<State> state_{State::kWaits};
};

}  // namespace carillon::net
