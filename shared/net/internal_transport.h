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

// The server's end. Frames arrive with Sender::is_internal. Peers of other servers may have equal
// names: answer on the server that a frame came from.
//
// Thread: the server's loop.
class InternalServer final : public ServerTransport {
 public:
  explicit InternalServer(EventLoop& loop);
  // Requires: the other end of the channel is closed, or its thread has ended.
  ~InternalServer() override;
  InternalServer(const InternalServer&) = delete;
  InternalServer& operator=(const InternalServer&) = delete;

  void set_receiver(ServerReceiver* receiver) override { receiver_ = receiver; }
  Status send(const Peer& peer, std::string frame) override;
  std::string endpoint() const override { return "internal"; }

  // For connect_internal(). Thread: any.
  const std::shared_ptr<InternalChannel>& channel() const { return channel_; }

 private:
  void receive();

  EventLoop& loop_;
  const std::shared_ptr<InternalChannel> channel_;
  ServerReceiver* receiver_ = nullptr;
};

// The client's end, on its loop. It is always connected. A new one replaces the previous one, whose
// answers are dropped: there must be one at a time.
std::unique_ptr<ClientTransport> connect_internal(EventLoop& loop,
                                                  std::shared_ptr<InternalChannel> channel);

}  // namespace carillon::net
