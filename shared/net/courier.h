#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "carillon/result.h"
#include "carillon/time.h"

// Sends messages to people: by mail, or by a POST to a URL.
//
// Thread: the event loop that the courier was opened on.
namespace carillon::net {

struct Delivery {
  std::uint64_t id = 0;   // chosen by the caller; a mail's Message-ID contains it
  std::string to{};       // a mail address, or an http or https URL
  std::string subject{};  // for mail
  std::string body{};     // UTF-8: plain text for mail, JSON for a URL
  Duration timeout{};     // 0: the courier's
};

class Courier {
 public:
  // Success: a mail server accepted it, or the URL answered with a status from 200 to 299.
  using OnDelivered = std::function<void(std::uint64_t id, const Status& status)>;

  virtual ~Courier() = default;
  // No receiver: results of deliveries in progress are dropped.
  virtual void set_receiver(OnDelivered receiver) = 0;
  // Whether a mail server is configured.
  virtual bool takes_mail() const = 0;
  // Each accepted delivery gets one result later. False: too many deliveries are in progress, and
  // this one was not accepted.
  virtual bool send(Delivery delivery) = 0;
};

}  // namespace carillon::net
