#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "carillon/time.h"

namespace carillon::net {

// Bounds the TLS handshakes that are in progress at a server, in all and of one address: a client
// can make each cost up to 200 KiB. The others wait for their turn.
//
// Thread: the server's.
class HandshakeQueue {
 public:
  // Most handshakes at the same time. A client needs two round trips for one.
  static constexpr std::size_t kMax = 256;
  static constexpr std::size_t kPerPeerMax = 128;

  // Called at its turn, with the time then. Returns whether it begins, or was too late. Must not
  // call the queue.
  using Begin = std::function<bool(SteadyTime now)>;

  // True: it begins now, and `begin` is not called. Destroying the queue destroys those that wait.
  bool enter(const std::string& peer, Begin begin);
  // Ends one that had begun, and begins the next.
  void leave(const std::string& peer, SteadyTime now);

 private:
  struct Waiting {
    std::string peer{};
    Begin begin{};
  };
  bool take_place(const std::string& peer);
  void free_place(const std::string& peer);

  std::size_t running_ = 0;
  std::map<std::string, std::size_t> running_of_{};  // by the client's address
  std::deque<Waiting> waiting_{};
};

}  // namespace carillon::net
