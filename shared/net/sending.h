#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "carillon/time.h"

// What a sender may still prevent of posts that it has given to a poster.
namespace carillon::net {

// Until when the posts of a sender may begin to go out; at first, whenever they can. A process that
// stood still finds it over before it sends anything, as the poster looks right before it writes.
//
// Thread: the sender's; is_held() any.
class SendLease {
 public:
  void hold_until(SteadyTime time) {
    if (!is_over_) until_ = time;
  }
  // For good.
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

// Of one post, whether it has begun to go out. Either its sender recalls it, or the poster begins
// it: never both, whenever they do; and from `until` on it does not begin.
//
// Thread: any.
class Sending {
 public:
  explicit Sending(std::shared_ptr<const SendLease> lease, SteadyTime until = SteadyTime::max())
      : lease_(std::move(lease)), until_(until) {}

  // True: not one byte of it went out, nor ever will.
  bool recall() {
    State before = State::kWaits;
    return state_.compare_exchange_strong(before, State::kRecalled) || before == State::kRecalled;
  }

  // For the poster.
  bool may_begin(SteadyTime now) const { return state_.load() == State::kWaits && is_in_time(now); }
  // False: it must not go out.
  bool begin(SteadyTime now) {
    State before = State::kWaits;
    return is_in_time(now) && state_.compare_exchange_strong(before, State::kBegun);
  }
  // Nothing of it went out after all.
  void put_back() { state_ = State::kWaits; }

 private:
  enum class State : std::uint8_t { kWaits, kBegun, kRecalled };

  bool is_in_time(SteadyTime now) const { return now < until_ && lease_->is_held(now); }

  const std::shared_ptr<const SendLease> lease_;
  const SteadyTime until_;
  std::atomic<State> state_{State::kWaits};
};

}  // namespace carillon::net
