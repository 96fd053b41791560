#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

namespace carillon::sim {
namespace {

// A connection over which nothing passes for longer breaks.
constexpr Duration kPatience = std::chrono::seconds{4};
// A server notices so late, at most, that a peer is gone.
constexpr Duration kNoticedMax = std::chrono::seconds{1};
// A frame comes again so late, at most.
constexpr Duration kAgainMax = std::chrono::seconds{2};

}  // namespace

class Network::Server final : public net::ServerTransport {
 public:
  Server(Network& network, Process& process, std::string endpoint)
      : network_(network),
        process_(process),
        endpoint_(std::move(endpoint)),
        life_(++network.last_life_) {
    network_.servers_[endpoint_] = this;
  }
  ~Server() override {
    network_.servers_.erase(endpoint_);
    for (const auto& [peer, line] : peers) line->server = nullptr;  // Broken ones too.
    for (const LinePtr& line : network_.lines_of(process_)) {
      if (line->server != nullptr) continue;
      network_.timeline_.at(network_.timeline_.now() + network_.latency(),
                            [network = &network_, line] { network->break_line(line, "closed"); });
    }
  }

  void set_receiver(net::ServerReceiver* receiver) override {
    receiver_ = receiver;
    network_.try_all();
  }
  Status send(const net::Peer& peer, std::string frame) override {
    if (network_.on_server_sends) network_.on_server_sends(process_, peer, frame);
    const auto found = peers.find(peer);
    if (found == peers.end()) return Error{ErrorCode::kNotFound, "the peer has disconnected"};
    network_.to_client(found->second, std::move(frame));
    return {};
  }
  std::string endpoint() const override { return endpoint_; }

  Process& process() { return process_; }
  std::uint64_t life() const { return life_; }
  void take(const net::Peer& peer, std::string_view frame) {
    if (receiver_ == nullptr) return;
    if (network_.on_server_takes) network_.on_server_takes(process_, frame);
    receiver_->on_frame({peer}, frame);
  }

  std::map<net::Peer, LinePtr> peers;

 private:
  Network& network_;
  Process& process_;
  const std::string endpoint_;
  const std::uint64_t life_;
  net::ServerReceiver* receiver_ = nullptr;
};

class Network::Client final : public net::ClientTransport {
 public:
  Client(Network& network, Process& process, std::string endpoint)
      : network_(network),
        process_(process),
        endpoint_(std::move(endpoint)),
        number_(++network.last_client_) {
    network_.clients_.insert({number_, this});
    network_.try_to_connect(*this);
  }
  ~Client() override {
    network_.clients_.erase({number_, this});
    if (line == nullptr) return;
    line->client = nullptr;  // What it has sent gets there.
    line->comes_late = true;
    network_.break_line(line, "closed");
  }

  void set_receiver(net::ClientReceiver* receiver) override { receiver_ = receiver; }
  Status send(std::string frame) override {
    if (line == nullptr) return Error{ErrorCode::kUnavailable, "not connected"};
    if (network_.on_client_sends) network_.on_client_sends(process_, line->peer, frame);
    network_.to_server(line, std::move(frame));
    return {};
  }
  bool is_connected() const override { return line != nullptr; }

  Process& process() { return process_; }
  const std::string& endpoint() const { return endpoint_; }
  net::ClientReceiver* receiver() const { return receiver_; }
  std::uint64_t number() const { return number_; }

  LinePtr line;
  bool is_trying = false;

 private:
  Network& network_;
  Process& process_;
  const std::string endpoint_;
  const std::uint64_t number_;
  net::ClientReceiver* receiver_ = nullptr;
};

std::unique_ptr<net::ServerTransport> Network::listen(Process& server,
                                                      const std::string& endpoint) {
  return std::make_unique<Server>(*this, server, endpoint);
}

std::unique_ptr<net::ClientTransport> Network::connect(Process& client,
                                                       const std::string& endpoint) {
  return std::make_unique<Client>(*this, client, endpoint);
}

Duration Network::latency() {
  Duration most = latency_max;
  if (timeline_.now() < slower_until_) most += slower_;
  return chance_.between(latency_min, most);
}

std::vector<Network::LinePtr> Network::lines_of(const Process& process) {
  std::vector<LinePtr> all;
  for (const auto& [number, line] : lines_) {
    if (line->client_process == &process || line->server_process == &process) all.push_back(line);
  }
  return all;
}

SteadyTime Network::passes_at(const Process* one, const Process* other) {
  SteadyTime at = timeline_.now();
  for (const Parting& parting : partings_) {
    const bool holds = (parting.one == one && (!parting.other || parting.other == other)) ||
                       (parting.one == other && (!parting.other || parting.other == one));
    if (holds) at = std::max(at, parting.until);
  }
  return at;
}

bool Network::is_under(const std::vector<Spell>& spells, const Process* from,
                       const Process* to) const {
  return std::any_of(spells.begin(), spells.end(), [&](const Spell& spell) {
    return timeline_.now() < spell.until && spell.process == (spell.to_it ? to : from);
  });
}

SteadyTime Network::cast(std::vector<Spell>& spells, const Process& process, bool to_it,
                         Duration time) {
  std::erase_if(spells, [this](const Spell& one) { return one.until <= timeline_.now(); });
  const SteadyTime until = timeline_.now() + time;
  spells.push_back({.process = &process, .to_it = to_it, .until = until});
  return until;
}

std::optional<SteadyTime> Network::comes_again(const Process* from, const Process* to,
                                               SteadyTime at) {
  if (!is_under(repeats_, from, to) || !repeat_chance_.one_in(2)) return std::nullopt;
  const Duration most = repeat_chance_.one_in(2) ? latency_max : kAgainMax;
  return at + repeat_chance_.between(Duration{}, most);
}

void Network::to_server(const LinePtr& line, std::string frame) {
  ++frames_;
  digest_.add(static_cast<std::uint64_t>(timeline_.now().time_since_epoch().count()));
  digest_.add(frame);
  if (is_under(losses_, line->client_process, line->server_process)) return;
  line->to_server =
      std::max(line->to_server, passes_at(line->client_process, line->server_process) + latency());
  if (const auto again = comes_again(line->client_process, line->server_process, line->to_server)) {
    // Whatever has become of the connection by then, but to that life of the server only.
    timeline_.at(*again, [this, line, life = line->server_life, frame] {
      line->server_process->run([this, line, life, frame] {
        const auto server = servers_.find(line->endpoint);
        if (server != servers_.end() && server->second->life() == life)
          server->second->take(line->peer + " again", frame);
      });
    });
  }
  timeline_.at(line->to_server, [line, frame = std::move(frame)]() mutable {
    if (line->server == nullptr || (line->client == nullptr && !line->comes_late)) return;
    line->server->process().run([line, frame = std::move(frame)] {
      if (line->server != nullptr) line->server->take(line->peer, frame);
    });
  });
}

void Network::to_client(const LinePtr& line, std::string frame) {
  ++frames_;
  digest_.add(frame);
  if (is_under(losses_, line->server_process, line->client_process)) return;
  line->to_client =
      std::max(line->to_client, passes_at(line->client_process, line->server_process) + latency());
  if (const auto again = comes_again(line->server_process, line->client_process, line->to_client))
    to_client_at(line, *again, frame);
  to_client_at(line, line->to_client, std::move(frame));
}

void Network::to_client_at(const LinePtr& line, SteadyTime when, std::string frame) {
  timeline_.at(when, [this, line, frame = std::move(frame)]() mutable {
    if (line->client == nullptr) return;
    line->client->process().run([this, line, frame = std::move(frame)] {
      if (line->client == nullptr || line->client->receiver() == nullptr) return;
      if (on_client_takes) on_client_takes(line->client->process(), line->peer, frame);
      line->client->receiver()->on_frame(frame);
    });
  });
}

void Network::break_line(const LinePtr& line, const std::string& reason) {
  lines_.erase(std::stoull(line->peer.substr(1)));
  if (Client* client = std::exchange(line->client, nullptr)) {
    client->line.reset();
    client->process().run([this, number = client->number(), client, reason] {
      if (!clients_.contains({number, client})) return;
      if (client->receiver() != nullptr) client->receiver()->on_disconnected(reason);
    });
    if (clients_.contains({client->number(), client})) try_to_connect(*client);
  }
  if (line->server == nullptr) return;
  timeline_.at(timeline_.now() + chance_.between(Duration{0}, kNoticedMax), [line] {
    if (line->server == nullptr) return;
    line->server->peers.erase(line->peer);
    line->server = nullptr;
  });
}

// A while later, if somebody listens then; otherwise when somebody does.
void Network::try_to_connect(Client& client) {
  if (client.is_trying || client.line != nullptr) return;
  client.is_trying = true;
  const SteadyTime at = timeline_.now() + latency() + chance_.between(Duration{0}, kPatience / 20);
  timeline_.at(at, [this, number = client.number(), &client] {
    if (!clients_.contains({number, &client})) return;
    client.is_trying = false;
    const auto found = servers_.find(client.endpoint());
    if (found == servers_.end() || client.line != nullptr) return;
    Server& server = *found->second;
    const SteadyTime passes = passes_at(&client.process(), &server.process());
    if (passes > timeline_.now()) return;  // heal() or the end of the parting tries again.
    const LinePtr line = std::make_shared<Line>();
    line->peer = "p" + std::to_string(++last_line_);
    line->endpoint = client.endpoint();
    line->server_life = server.life();
    line->client_process = &client.process();
    line->server_process = &server.process();
    line->client = &client;
    line->server = &server;
    lines_[last_line_] = line;
    server.peers[line->peer] = line;
    client.line = line;
    client.process().run([this, number, &client, line] {
      if (!clients_.contains({number, &client}) || client.line != line) return;
      if (client.receiver() != nullptr) client.receiver()->on_connected();
    });
  });
}

void Network::try_all() {
  for (const auto& [number, client] : clients_) try_to_connect(*client);
}

// ---- faults ----

void Network::cut(const Process& process) {
  for (const LinePtr& line : lines_of(process)) {
    line->comes_late = chance_.one_in(2);
    // After what the next connection carries, perhaps.
    if (line->comes_late) line->to_server += chance_.between(Duration{0}, kPatience / 10);
    break_line(line, "broken");
  }
}

void Network::part(const Process& process, const Process* other, Duration time) {
  const SteadyTime until = timeline_.now() + time;
  partings_.push_back({.one = &process, .other = other, .until = until});
  for (const LinePtr& line : lines_of(process)) {
    if (other != nullptr && line->client_process != other && line->server_process != other)
      continue;
    if (time < kPatience && !chance_.one_in(4)) continue;
    const SteadyTime breaks = timeline_.now() + std::min(time, kPatience);
    timeline_.at(breaks, [this, line] {
      if (line->client != nullptr) break_line(line, "timed out");
    });
  }
  timeline_.at(until, [this] {
    std::erase_if(partings_, [this](const Parting& one) { return one.until <= timeline_.now(); });
    try_all();
  });
}

void Network::lose_frames(const Process& process, bool to_it, Duration time) {
  const SteadyTime until = cast(losses_, process, to_it, time);
  for (const LinePtr& line : lines_of(process)) {
    timeline_.at(until, [this, line] {
      if (line->client != nullptr) break_line(line, "timed out");
    });
  }
}

void Network::repeat_frames(const Process& process, bool to_it, Duration time) {
  cast(repeats_, process, to_it, time);
}

void Network::slow_down(Duration more, Duration time) {
  slower_ = more;
  slower_until_ = timeline_.now() + time;
}

void Network::heal() {
  partings_.clear();
  losses_.clear();
  repeats_.clear();
  slower_until_ = {};
  try_all();
}

}  // namespace carillon::sim
