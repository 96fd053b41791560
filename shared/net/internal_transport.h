#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/net/transport.h"
#include "shared/runtime/event_loop.h"

// A connection between two threads of one process, with the semantics of a network connection:
// frames in order, bounded queues both ways.
namespace carillon::net {

// Frames under way in each direction.
inline constexpr std::size_t kInternalFramesMax = 4096;

class InternalChannel;

// The server of another transport, with one more client within this process. Its frames arrive with
// Sender::is_internal. Sends to it go through the channel, all others to the other transport.
//
// Thread: the server's loop.
class ServerWithChannel final : public ServerTransport {
 public:
  ServerWithChannel(EventLoop& loop, std::unique_ptr<ServerTransport> outside);
  // Requires: the other end of the channel is closed, or its thread has ended.
  ~ServerWithChannel() override;
  ServerWithChannel(const ServerWithChannel&) = delete;
  ServerWithChannel& operator=(const ServerWithChannel&) = delete;

  void set_receiver(ServerReceiver* receiver) override;
  Status send(const Peer& peer, std::string frame) override;
  std::string endpoint() const override { return outside_->endpoint(); }
  void end_connections(const std::string& principal) override {
    outside_->end_connections(principal);
  }

  // For connect_internal(). Thread: any.
  const std::shared_ptr<InternalChannel>& channel() const { return channel_; }

 private:
  void receive();

  EventLoop& loop_;
  const std::unique_ptr<ServerTransport> outside_;
  const std::shared_ptr<InternalChannel> channel_;
  ServerReceiver* receiver_ = nullptr;
};

// The client's end, on its loop. It is always connected. A new one replaces the previous one, whose
// answers are dropped: there must be one at a time.
std::unique_ptr<ClientTransport> connect_internal(EventLoop& loop,
                                                  std::shared_ptr<InternalChannel> channel);

}  // namespace carillon::net
