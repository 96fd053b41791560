#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shared/base/sizes.h"
#include "shared/net/transport.h"

namespace carillon::jobtracker {

// Answers everybody as long as this job tracker has no store: that it does not serve, and why, so
// that who knows another address turns there at once. While a job tracker only becomes another
// session, what comes is kept for it instead.
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

  // Takes the place of another receiver again.
  void receive() { transport_.set_receiver(this); }
  // From now on frames are kept, up to a limit.
  void keep() { is_keeping_ = true; }
  // Passes them on, and to whom all others are to go.
  void pass_to(net::ServerReceiver& receiver);

  void on_frame(const net::Peer& peer, std::string_view frame) override;
  Sizes sizes() const { return {{"kept", kept_.size()}}; }

 private:
  struct Kept {
    net::Peer peer{};
    std::string frame{};
  };

  net::ServerTransport& transport_;
  bool is_keeping_ = false;
  bool has_passed_ = false;
  std::vector<Kept> kept_{};
  std::size_t kept_bytes_ = 0;
  std::string reason_ = "the job tracker is starting, try again";
};

}  // namespace carillon::jobtracker
