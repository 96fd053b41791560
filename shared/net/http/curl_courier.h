#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/clock.h"
#include "shared/net/courier.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::net {

struct CourierConfig {
  std::string smtp{};  // smtp://[USER:PASSWORD@]HOST[:PORT] or smtps://...; empty: no mail
  std::string from{};  // the sender's address
  Duration timeout = std::chrono::seconds{30};  // of one delivery
  std::size_t deliveries_max = 256;             // under way
};

// Delivers by libcurl, on a thread of its own; a host that hangs delays only what goes to it. Where
// is_metadata_address(), nothing is posted.
//
// A mail server that offers STARTTLS is spoken to that way. With a password it is a must, but on
// this machine.
//
// Thread: the loop's, inside and out.
class CurlCourier final : public Courier {
 public:
  // The references must outlive it. kInvalidArgument: config.smtp is no mail server's address.
  static Result<std::unique_ptr<CurlCourier>> start(CourierConfig config, EventLoop& loop,
                                                    const Clock& clock);
  // What is under way is cut off and has no outcome.
  ~CurlCourier() override;

  void set_receiver(OnDelivered receiver) override;
  bool takes_mail() const override { return !config_.smtp.empty(); }
  bool send(Delivery delivery) override;

 private:
  class Worker;
  // Of one receiver: outcomes do not go to the next.
  struct Sent {
    std::uint64_t turn = 0;
    Delivery delivery{};
  };
  struct Heard {
    std::uint64_t turn = 0;
    std::uint64_t id = 0;
    Status status{};
  };

  CurlCourier(CourierConfig config, EventLoop& loop);
  void hear();

  const CourierConfig config_;
  EventLoop& loop_;
  OnDelivered receiver_{};
  std::uint64_t turn_ = 0;
  std::size_t under_way_ = 0;
  Mailbox<Sent> sent_;
  Mailbox<Heard> heard_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::net
