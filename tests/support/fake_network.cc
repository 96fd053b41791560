#include "tests/support/fake_network.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace carillon::testing {

net::Peer FakeNetwork::connect(Client client) {
  if (receiver_ == nullptr) return {};
  const net::Peer peer =
      client.identity.empty() ? "peer-" + std::to_string(++last_peer_) : client.identity;
  links_[peer].client = std::move(client);
  return peer;
}

void FakeNetwork::disconnect(const net::Peer& peer, bool tell) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  const auto on_disconnected = std::move(found->second.client.on_disconnected);
  links_.erase(found);
  if (tell) on_disconnected();
}

void FakeNetwork::server_died() {
  receiver_ = nullptr;
  std::vector<net::Peer> peers;
  for (const auto& [peer, link] : links_) peers.push_back(peer);
  for (const net::Peer& peer : peers) disconnect(peer, true);
}

void FakeNetwork::lose_frames_to(const net::Peer& peer, bool lose) {
  const auto found = links_.find(peer);
  if (found != links_.end()) found->second.loses_frames = lose;
}

SteadyTime FakeNetwork::arrival(SteadyTime& last) {
  last = std::max(last, clock_.steady_now() + latency());
  return last;
}

void FakeNetwork::send_to_server(const net::Peer& peer, std::string frame) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  task_runner_.post_at(arrival(found->second.last_to_server),
                       [this, peer, frame = std::move(frame)] {
                         if (links_.contains(peer) && receiver_ != nullptr)
                           receiver_->on_frame({peer}, frame);
                       });
}

Status FakeNetwork::send(const net::Peer& peer, std::string frame) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return Error{ErrorCode::kNotFound, "the peer has disconnected"};
  if (found->second.loses_frames) return {};
  task_runner_.post_at(
      arrival(found->second.last_to_client), [this, peer, frame = std::move(frame)] {
        const auto link = links_.find(peer);
        if (link == links_.end()) return;
        const auto on_frame = link->second.client.on_frame;  // It may break the connection.
        on_frame(frame);
      });
  return {};
}

}  // namespace carillon::testing
