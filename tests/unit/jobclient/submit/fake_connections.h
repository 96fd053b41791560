#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/net/transport.h"
#include "shared/wire/codec.h"

namespace carillon {

// The connections that a Requests under test makes, and what went over them. The test plays the
// trackers: it connects, answers and breaks.
class FakeConnections {
 public:
  struct Sent {
    std::string tracker{};
    wire::Envelope envelope{};
  };

  Result<std::unique_ptr<net::ClientTransport>> make(const std::string& tracker) {
    made.push_back(tracker);
    return std::unique_ptr<net::ClientTransport>(new Transport(*this, tracker));
  }

  // The newest, unless a tracker is named.
  void connect() {
    current->connected = true;
    current->receiver->on_connected();
  }
  void disconnect(const std::string& reason) {
    current->connected = false;
    current->receiver->on_disconnected(reason);
  }
  void reply(std::uint64_t correlation, wire::Message message) {
    current->receiver->on_frame(wire::encode({correlation, std::move(message)}));
  }
  void connect(const std::string& tracker) {
    current = open.at(tracker);
    connect();
  }
  void disconnect(const std::string& tracker, const std::string& reason) {
    current = open.at(tracker);
    disconnect(reason);
  }
  // By the tracker that it was sent to.
  void reply(const Sent& to, wire::Message message) {
    open.at(to.tracker)
        ->receiver->on_frame(wire::encode({to.envelope.correlation, std::move(message)}));
  }
  // What was sent since the last call.
  std::vector<Sent> take() { return std::exchange(sent, {}); }

  struct Transport final : net::ClientTransport {
    Transport(FakeConnections& its_owner, std::string its_tracker)
        : owner(its_owner), tracker(std::move(its_tracker)) {
      owner.current = this;
      owner.open[tracker] = this;
    }
    ~Transport() override {
      if (owner.open[tracker] == this) owner.open.erase(tracker);
      if (owner.current == this) owner.current = nullptr;
    }
    void set_receiver(net::ClientReceiver* to) override { receiver = to; }
    Status send(std::string frame) override {
      if (!connected) return Error{ErrorCode::kUnavailable, "not connected"};
      if (owner.is_full) return Error{ErrorCode::kLimit, "the tracker does not read"};
      auto envelope = wire::decode(frame);
      if (!envelope.ok()) return envelope.error();
      owner.sent.push_back({tracker, std::move(envelope).value()});
      return {};
    }
    bool is_connected() const override { return connected; }

    FakeConnections& owner;
    const std::string tracker;
    net::ClientReceiver* receiver = nullptr;
    bool connected = false;
  };

  std::vector<std::string> made{};
  std::vector<Sent> sent{};
  Transport* current = nullptr;
  std::map<std::string, Transport*> open{};  // the newest with each tracker
  bool is_full = false;
};

}  // namespace carillon
