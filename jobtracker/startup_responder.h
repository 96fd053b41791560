#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shared/base/sizes.h"
#include "shared/net/transport.h"

namespace carillon::jobtracker {

// Answers all requests while this job tracker has no store: that it does not serve, and why, so
// that clients immediately try another address. During a change of the session it queues requests
// for the next session.
//
// Thread: the loop.
class StartupResponder final : public net::ServerReceiver {
 public:
  // The transport must outlive this object.
  explicit StartupResponder(net::ServerTransport& transport);
  ~StartupResponder() override;
  StartupResponder(const StartupResponder&) = delete;
  StartupResponder& operator=(const StartupResponder&) = delete;

  // The server of connections within this process.
  void set_internal(net::ServerTransport& internal) {
    internal_ = &internal;
    internal.set_receiver(this);
  }
  void set_reason(std::string reason) { reason_ = std::move(reason); }

  // Becomes the receiver again.
  void receive() {
    transport_.set_receiver(this);
    if (internal_ != nullptr) internal_->set_receiver(this);
  }
  // Queues frames from now on, up to a limit.
  void keep() { is_keeping_ = true; }
  // Passes on the queued frames, and makes this the receiver of all others.
  void pass_to(net::ServerReceiver& receiver);

  void on_frame(const net::Sender& sender, std::string_view frame) override;
  Sizes sizes() const { return {{"kept", kept_.size()}}; }

 private:
  struct Kept {
    net::Sender sender{};
    std::string frame{};
  };

  net::ServerTransport& transport_;
  net::ServerTransport* internal_ = nullptr;
  bool is_keeping_ = false;
  bool has_passed_ = false;
  std::vector<Kept> kept_{};
  std::size_t kept_bytes_ = 0;
  std::string reason_ = "the job tracker is starting, try again";
};

}  // namespace carillon::jobtracker
