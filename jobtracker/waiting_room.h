#pragma once

#include <string>

#include "shared/net/transport.h"

namespace carillon::jobtracker {

// Answers everybody as long as this job tracker has no store: that it does not serve, and why, so
// that who knows another address turns there at once.
//
// Thread: the loop.
class WaitingRoom final : public net::ServerReceiver {
 public:
  // The transport must outlive this.
  explicit WaitingRoom(net::ServerTransport& transport);
  ~WaitingRoom() override;
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  void set_reason(std::string reason) { reason_ = std::move(reason); }

  void on_frame(const net::Peer& peer, std::string_view frame) override;

 private:
  net::ServerTransport& transport_;
  std::string reason_ = "the job tracker is starting, try again";
};

}  // namespace carillon::jobtracker
