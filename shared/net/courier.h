#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "carillon/result.h"

// Messages to people: by mail, or by a POST to a URL.
//
// Thread: the event loop that the courier was opened on.
namespace carillon::net {

struct Delivery {
  std::uint64_t id = 0;   // the caller's own; a mail's Message-ID tells it
  std::string to{};       // a mail address, or a URL of http or https
  std::string subject{};  // of a mail
  std::string body{};     // UTF-8: plain text of a mail, JSON for a URL
};

class Courier {
 public:
  // Ok: a mail server has taken it, or the URL was answered with a status from 200 to 299.
  using OnDelivered = std::function<void(std::uint64_t id, const Status& status)>;

  virtual ~Courier() = default;
  // None: nobody hears of what is under way any more.
  virtual void set_receiver(OnDelivered receiver) = 0;
  // Whether there is a mail server to give mails to.
  virtual bool takes_mail() const = 0;
  // Each that is taken has one outcome, which comes later. False: too many are under way, and this
  // one was not taken.
  virtual bool send(Delivery delivery) = 0;
};

}  // namespace carillon::net
