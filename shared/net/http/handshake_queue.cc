#include "shared/net/http/handshake_queue.h"

#include <utility>

namespace carillon::net {

bool HandshakeQueue::take_place(const std::string& peer) {
  if (running_ >= kMax) return false;
  std::size_t& of_peer = running_of_[peer];
  if (of_peer >= kPerPeerMax) return false;
  ++of_peer;
  ++running_;
  return true;
}

void HandshakeQueue::free_place(const std::string& peer) {
  --running_;
  const auto own = running_of_.find(peer);
  if (--own->second == 0) running_of_.erase(own);
}

bool HandshakeQueue::enter(const std::string& peer, Begin begin) {
  if (take_place(peer)) return true;
  waiting_.push_back({.peer = peer, .begin = std::move(begin)});
  return false;
}

void HandshakeQueue::leave(const std::string& peer, SteadyTime now) {
  free_place(peer);
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    if (!take_place(next->peer)) {
      ++next;
      continue;
    }
    const Waiting turn = std::move(*next);
    next = waiting_.erase(next);
    if (turn.begin(now)) return;
    free_place(turn.peer);
  }
}

}  // namespace carillon::net
