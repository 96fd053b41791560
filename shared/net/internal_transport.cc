#include "shared/net/internal_transport.h"

#include <atomic>
#include <utility>

#include "shared/runtime/mailbox.h"

namespace carillon::net {

// Both directions. A connection is one life of the client's end.
class InternalChannel {
 public:
  struct Frame {
    std::uint64_t connection = 0;
    std::string bytes{};
  };

  std::uint64_t new_connection() { return ++last_connection_; }

  Mailbox<Frame> to_server{kInternalFramesMax};
  Mailbox<Frame> to_client{kInternalFramesMax};

 private:
  std::atomic<std::uint64_t> last_connection_{0};
};

namespace {

class InternalClient final : public ClientTransport {
 public:
  InternalClient(EventLoop& loop, std::shared_ptr<InternalChannel> channel)
      : loop_(loop), channel_(std::move(channel)), connection_(channel_->new_connection()) {
    loop_.watch(channel_->to_client.fd(), [this] { receive(); });
  }
  ~InternalClient() override {
    *alive_ = false;
    loop_.unwatch(channel_->to_client.fd());
  }
  InternalClient(const InternalClient&) = delete;
  InternalClient& operator=(const InternalClient&) = delete;

  void set_receiver(ClientReceiver* receiver) override { receiver_ = receiver; }
  Status send(std::string frame) override {
    if (channel_->to_server.put({connection_, std::move(frame)})) return {};
    return Error{ErrorCode::kLimit, "this job tracker does not read its messages"};
  }
  bool is_connected() const override { return true; }

 private:
  void receive() {
    channel_->to_client.clear();
    // A receiver may replace this transport, but not within its call.
    const auto alive = alive_;
    while (*alive) {
      const auto frame = channel_->to_client.take();
      if (!frame) return;
      if (frame->connection == connection_ && receiver_ != nullptr)
        receiver_->on_frame(frame->bytes);
    }
  }

  EventLoop& loop_;
  const std::shared_ptr<InternalChannel> channel_;
  const std::uint64_t connection_;
  ClientReceiver* receiver_ = nullptr;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

InternalServer::InternalServer(EventLoop& loop)
    : loop_(loop), channel_(std::make_shared<InternalChannel>()) {
  loop_.watch(channel_->to_server.fd(), [this] { receive(); });
}

InternalServer::~InternalServer() { loop_.unwatch(channel_->to_server.fd()); }

void InternalServer::receive() {
  channel_->to_server.clear();
  // As many as fit: what arrives meanwhile is for the next turn of the loop.
  for (std::size_t i = 0; i < kInternalFramesMax; ++i) {
    const auto frame = channel_->to_server.take();
    if (!frame) return;
    if (receiver_ == nullptr) continue;  // The client sends it again.
    receiver_->on_frame({.peer = std::to_string(frame->connection), .is_internal = true},
                        frame->bytes);
  }
}

Status InternalServer::send(const Peer& peer, std::string frame) {
  if (channel_->to_client.put({std::stoull(peer), std::move(frame)})) return {};
  return Error{ErrorCode::kLimit, "the HTTP API does not read its messages"};
}

std::unique_ptr<ClientTransport> connect_internal(EventLoop& loop,
                                                  std::shared_ptr<InternalChannel> channel) {
  return std::make_unique<InternalClient>(loop, std::move(channel));
}

}  // namespace carillon::net
