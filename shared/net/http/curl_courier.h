#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/clock.h"
#include "shared/net/address_guard.h"
#include "shared/net/courier.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::net {

struct CourierConfig {
  std::string smtp{};  // smtp://[USER:PASSWORD@]HOST[:PORT] or smtps://...; empty: no mail
  std::string from{};  // the sender's address
  Duration timeout = std::chrono::seconds{30};  // for one delivery
  std::size_t deliveries_max = 256;             // most deliveries in progress
  AddressGuard guard{};                         // of the addresses that get a POST
};

// Delivers with libcurl on its own thread. A host that hangs delays only its own deliveries.
// Addresses that the guard refuses get no POST.
//
// Uses STARTTLS if the mail server offers it. With a password, TLS is required, except on this
// machine.
//
// Thread: the loop.
class CurlCourier final : public Courier {
 public:
  // The references must outlive the courier. Error: kInvalidArgument if config.smtp is not the
  // address of a mail server.
  static Result<std::unique_ptr<CurlCourier>> start(CourierConfig config, EventLoop& loop,
                                                    const Clock& clock);
  // Cancels deliveries in progress; they get no result.
  ~CurlCourier() override;

  void set_receiver(OnDelivered receiver) override;
  bool takes_mail() const override { return !config_.smtp.empty(); }
  bool send(Delivery delivery) override;

 private:
  class Worker;
  // For one receiver: results do not go to the next one.
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
