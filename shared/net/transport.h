#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/result.h"

// Frames between a job tracker and its clients. A frame arrives completely or not at all. It may be
// lost when a connection breaks, or arrive twice. Frames between two peers keep their order.
//
// Thread: the event loop that the transport was opened on.
namespace carillon::net {

// The other end of one connection of a server; invalid after the disconnect.
using Peer = std::string;

// The sender of a frame to a server.
struct Sender {
  Peer peer{};
  // Its principal, as the access control knows it: "KIND:NAME". Empty: access is not controlled.
  std::string principal{};
  std::string address{};     // of its machine, without the port; empty: unknown
  bool is_internal = false;  // a connection within this process
};

class ServerReceiver {
 public:
  virtual ~ServerReceiver() = default;
  virtual void on_frame(const Sender& sender, std::string_view frame) = 0;
};

class ServerTransport {
 public:
  virtual ~ServerTransport() = default;
  virtual void set_receiver(ServerReceiver* receiver) = 0;
  // Errors: kNotFound if the peer has disconnected. kLimit if it does not read its messages.
  virtual Status send(const Peer& peer, std::string frame) = 0;
  // Its address, with the actual port: "tcp://127.0.0.1:35001".
  virtual std::string endpoint() const = 0;
  // Ends the connections of a principal (Sender::principal), now or within a moment. Frames that
  // have arrived are still delivered.
  virtual void end_connections(const std::string& principal) { (void)principal; }
  // Called every few seconds: ends connections of clients that may not connect any more.
  virtual void end_outdated_connections() {}
};

class ClientReceiver {
 public:
  virtual ~ClientReceiver() = default;
  virtual void on_frame(std::string_view frame) = 0;
  virtual void on_connected() = 0;
  // `reason`: text for people: refused, closed, access denied.
  virtual void on_disconnected(const std::string& reason) = 0;
};

// Connects, and reconnects during its lifetime.
class ClientTransport {
 public:
  virtual ~ClientTransport() = default;
  virtual void set_receiver(ClientReceiver* receiver) = 0;
  // Errors: kUnavailable if it is not connected; nothing is queued. kLimit if the server does not
  // read.
  virtual Status send(std::string frame) = 0;
  virtual bool is_connected() const = 0;
};

}  // namespace carillon::net
