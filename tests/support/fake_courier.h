#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/net/courier.h"
#include "shared/runtime/task_runner.h"

namespace carillon::testing {

// People who are told, in virtual time.
//
// Thread: the test's.
class FakeCourier final : public net::Courier {
 public:
  FakeCourier(TaskRunner& task_runner, const Clock& clock)
      : task_runner_(task_runner), clock_(clock) {}

  struct Sent {
    SteadyTime at{};
    net::Delivery delivery{};
  };
  std::vector<Sent> sent{};         // every try
  std::set<std::string> hanging{};  // messages to them time out, after 30 s if they do not say when
  bool has_mail = true;

  std::vector<net::Delivery> to(const std::string& recipient) const {
    std::vector<net::Delivery> all;
    for (const Sent& one : sent) {
      if (one.delivery.to == recipient) all.push_back(one.delivery);
    }
    return all;
  }

  void set_receiver(OnDelivered receiver) override {
    receiver_ = std::move(receiver);
    ++turn_;
  }
  bool takes_mail() const override { return has_mail; }
  bool send(net::Delivery delivery) override {
    const bool fails = hanging.contains(delivery.to);
    sent.push_back({.at = clock_.steady_now(), .delivery = delivery});
    // Half a second less, so that the answer does not cross with a request that is sent again.
    const Duration patience = delivery.timeout == Duration{}
                                  ? kPatience
                                  : delivery.timeout - std::chrono::milliseconds{500};
    const Duration takes = fails ? patience : kTakes;
    task_runner_.post_at(
        clock_.steady_now() + takes, [this, id = delivery.id, fails, turn = turn_] {
          if (turn != turn_ || !receiver_) return;
          receiver_(id, fails ? Status{Error{ErrorCode::kTimeout, "timed out"}} : Status{});
        });
    return true;
  }

 private:
  static constexpr Duration kTakes = std::chrono::milliseconds{20};
  static constexpr Duration kPatience = std::chrono::seconds{30};

  TaskRunner& task_runner_;
  const Clock& clock_;
  OnDelivered receiver_{};
  std::uint64_t turn_ = 0;
};

}  // namespace carillon::testing
