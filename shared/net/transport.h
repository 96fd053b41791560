#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/result.h"

// Frames between a job tracker and those who talk to it. A frame arrives whole or not at all; it
// may be lost when a connection breaks, or come again; frames between two peers keep their order.
//
// Thread: the event loop that the transport was opened on.
namespace carillon::net {

// Whoever is at the other end of one connection of a server; means nothing after it is gone.
using Peer = std::string;

class ServerReceiver {
 public:
  virtual ~ServerReceiver() = default;
  virtual void on_frame(const Peer& peer, std::string_view frame) = 0;
};

class ServerTransport {
 public:
  virtual ~ServerTransport() = default;
  virtual void set_receiver(ServerReceiver* receiver) = 0;
  // kNotFound: the peer has disconnected. kLimit: it does not read what it is sent.
  virtual Status send(const Peer& peer, std::string frame) = 0;
  // Where it listens, with the port that was taken: "tcp://127.0.0.1:35001".
  virtual std::string endpoint() const = 0;
};

class ClientReceiver {
 public:
  virtual ~ClientReceiver() = default;
  virtual void on_frame(std::string_view frame) = 0;
  virtual void on_connected() = 0;
  // `reason` is for a person: refused, closed, access denied.
  virtual void on_disconnected(const std::string& reason) = 0;
};

// Connects, and connects again for as long as it lives.
class ClientTransport {
 public:
  virtual ~ClientTransport() = default;
  virtual void set_receiver(ClientReceiver* receiver) = 0;
  // kUnavailable: not connected; nothing is queued for later. kLimit: the other side does not read.
  virtual Status send(std::string frame) = 0;
  virtual bool is_connected() const = 0;
};

}  // namespace carillon::net
