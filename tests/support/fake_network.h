#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "shared/net/transport.h"
#include "tests/support/manual_task_runner.h"

namespace carillon::testing {

// Who is disconnected comes again after so long.
inline constexpr Duration kReconnect = std::chrono::milliseconds{100};

// One server and those who are connected to it, in virtual time. Frames of one connection keep
// their order; what is under way when it breaks is lost.
//
// Thread: the test's.
class FakeNetwork final : public net::ServerTransport {
 public:
  struct Client {
    std::function<void(std::string_view)> on_frame{};
    std::function<void()> on_disconnected{};
    net::Peer identity{};  // that it claims; empty: it is given one
  };

  explicit FakeNetwork(ManualTaskRunner& task_runner, const Clock& clock)
      : task_runner_(task_runner), clock_(clock) {}

  // Empty: nobody listens.
  net::Peer connect(Client client);
  // Breaks the connection, and tells the client unless it is the one who asks.
  void disconnect(const net::Peer& peer, bool tell);
  void send_to_server(const net::Peer& peer, std::string frame);
  // Frames to this client are lost from now on, though the connection seems to stand.
  void lose_frames_to(const net::Peer& peer, bool lose);

  void set_receiver(net::ServerReceiver* receiver) override { receiver_ = receiver; }
  Status send(const net::Peer& peer, std::string frame) override;
  std::string endpoint() const override { return "tcp://127.0.0.1:1"; }
  // The server has died: every connection breaks.
  void server_died();

  // Of each frame; a test may change it at any time.
  std::function<Duration()> latency = [] { return std::chrono::microseconds{100}; };

 private:
  struct Link {
    Client client{};
    SteadyTime last_to_server{};
    SteadyTime last_to_client{};
    bool loses_frames = false;
  };

  SteadyTime arrival(SteadyTime& last);

  ManualTaskRunner& task_runner_;
  const Clock& clock_;
  net::ServerReceiver* receiver_ = nullptr;
  std::map<net::Peer, Link> links_;
  std::uint64_t last_peer_ = 0;
};

}  // namespace carillon::testing
